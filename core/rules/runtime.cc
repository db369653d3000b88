// The container runtime and its configuration. A runtime without a handler of NVIDIA's is no fault by itself: CDI hands
// out devices without one, and so do device plugins that mount the driver themselves (GKE's). So each of these rules
// asks for something here that expects a handler, and for a kubelet.

#include <algorithm>
#include <string>

#include "core/rules/rules.h"

namespace gpuskew::rules {
namespace {

// The kernel tells a process's start by its boot time, which is whole seconds.
constexpr Duration kStartSlack = std::chrono::seconds(2);
constexpr std::size_t kMaxEvidence = 5;

const ContainerRuntime* judged_runtime(const Scene& scene) {
  const bool has_kubelet = scene.snapshot.kubelet.is_known();
  return has_kubelet && scene.snapshot.runtime.is_known() ? &scene.snapshot.runtime.value() : nullptr;
}

std::string name_of(const ContainerRuntime& runtime) {
  if (runtime.kind == RuntimeKind::Crio) {
    return "CRI-O";
  }
  return runtime.flavour.empty() ? "containerd" : "the containerd of " + runtime.flavour;
}

// Only what runs is restarted: a node has one of a distribution's two units.
std::string restart_command(const ContainerRuntime& runtime) {
  if (runtime.flavour == "rke2") {
    return "sudo systemctl try-restart rke2-agent rke2-server";
  }
  if (runtime.flavour == "k3s") {
    return "sudo systemctl try-restart k3s-agent k3s";
  }
  if (runtime.flavour == "k0s") {
    return "sudo systemctl try-restart k0sworker k0scontroller";
  }
  if (runtime.flavour == "microk8s") {
    return "sudo snap restart microk8s.daemon-containerd";
  }
  return runtime.kind == RuntimeKind::Crio ? "sudo systemctl restart crio" : "sudo systemctl restart containerd";
}

// Both look for NVIDIA's runtime when they start, and write their containerd's configuration themselves.
bool configures_itself(const ContainerRuntime& runtime) {
  return runtime.flavour == "rke2" || runtime.flavour == "k3s";
}

std::string configure_command(const ContainerRuntime& runtime) {
  if (configures_itself(runtime)) {
    return restart_command(runtime);
  }
  const std::string config = runtime.flavour == "k0s" ? "/etc/k0s/containerd.d/nvidia.toml" : runtime.config;
  const std::string kind =
      runtime.kind == RuntimeKind::Crio ? "--runtime=crio" : "--runtime=containerd --config=" + shell_word(config);
  return "sudo nvidia-ctk runtime configure " + kind + " && " + restart_command(runtime);
}

bool loses_a_handler(const ContainerRuntime& runtime) {
  return std::any_of(runtime.conflicts.begin(), runtime.conflicts.end(), [](const ConfigConflict& conflict) {
    return conflict.effect.find("runtime nvidia") != std::string::npos;
  });
}

std::uint64_t registered_devices(const Scene& scene) {
  std::uint64_t devices = 0;
  for (const PluginResource& resource : scene.snapshot.kubelet->registered) {
    devices += resource.devices;
  }
  return devices;
}

// The mark of this boot's toolkit container: it outlives a boot on some nodes.
const ValidationMark* fresh_toolkit_mark(const Scene& scene) {
  const auto& marks = scene.snapshot.validations;
  if (!marks.is_known()) {
    return nullptr;
  }
  const auto found = std::find_if(marks->begin(), marks->end(), [&scene](const ValidationMark& mark) {
    return mark.name == "toolkit-ready" && mark.written >= boot_start(scene);
  });
  return found == marks->end() ? nullptr : &*found;
}

// What expects a handler here, as evidence; empty: nothing does, as far as can be told.
std::vector<Evidence> expectation(const Scene& scene, const ContainerRuntime& runtime) {
  std::vector<Evidence> found;
  for (const std::string& file : runtime.unimported) {
    if (found.size() < kMaxEvidence) {
      found.push_back(
          {"a handler of NVIDIA's that " + runtime.config + " does not import", file, scene.snapshot.taken_at});
    }
  }
  // A specification is a way without a handler, whoever reads it: the runtime or a plugin of it.
  const auto& specs = scene.snapshot.cdi_specs;
  const bool has_other_way = !specs.is_known() || !specs->empty();
  const ValidationMark* mark = fresh_toolkit_mark(scene);
  if (found.empty() && (has_other_way || (runtime.toolkit.empty() && mark == nullptr))) {
    return {};
  }
  if (!runtime.toolkit.empty()) {
    found.push_back({"NVIDIA's container toolkit is installed", runtime.toolkit, scene.snapshot.taken_at});
  }
  if (mark != nullptr) {
    found.push_back(
        {"the operator's toolkit says that it is ready", scene.snapshot.validations.source(), mark->written});
  }
  if (const std::uint64_t devices = registered_devices(scene); devices > 0) {
    found.push_back(seen(scene, scene.snapshot.kubelet,
                         "the kubelet has " + std::to_string(devices) + " devices of NVIDIA's to give"));
  }
  return found;
}

std::string missing_cause(const ContainerRuntime& runtime) {
  std::string cause = name_of(runtime) + " has no handler for NVIDIA's runtime";
  if (runtime.unimported.empty()) {
    return cause + " in " + runtime.config + ", though NVIDIA's container toolkit is here";
  }
  return cause + ": " + runtime.unimported.front() + " defines one, and " + runtime.config + " does not import it";
}

// A specification whose libraries are of a driver that is gone.
const CdiSpec* stale_spec(const Scene& scene) {
  const Snapshot& snapshot = scene.snapshot;
  if (!snapshot.cdi_specs.is_known() || !snapshot.loaded_driver.is_known() || !snapshot.libraries.is_known()) {
    return nullptr;
  }
  for (const CdiSpec& spec : snapshot.cdi_specs.value()) {
    const auto version = DriverVersion::parse(spec.driver_version);
    if (!version || *version == *snapshot.loaded_driver) {
      continue;
    }
    const auto& libraries = *snapshot.libraries;
    const bool is_there = std::any_of(libraries.begin(), libraries.end(),
                                      [&version](const Library& library) { return library.version == *version; });
    if (!libraries.empty() && !is_there) {
      return &spec;
    }
  }
  return nullptr;
}

Finding stale_spec_finding(const Scene& scene, const CdiSpec& spec) {
  const Snapshot& snapshot = scene.snapshot;
  Finding finding = make_finding(scene, FindingCode::RuntimeConfigConflict, Severity::Warning, scene.now);
  finding.cause = spec.path + " hands containers the libraries of driver " + spec.driver_version +
                  ", which are not on this node: " + snapshot.loaded_driver->text() + " is loaded";
  finding.evidence = {{spec.kind + " names libraries of " + spec.driver_version, spec.path, snapshot.taken_at},
                      seen(scene, snapshot.loaded_driver, "loaded module: " + snapshot.loaded_driver->text()),
                      seen(scene, snapshot.libraries, "no library of " + spec.driver_version)};
  finding.reboot_helps = RebootHelps::Unknown;
  finding.reboot_why = "what writes the specification may do so after a boot";
  const bool is_operators = snapshot.driver_container.is_known() || spec.kind.starts_with("k8s.device-plugin.");
  finding.next_step =
      is_operators
          ? "kubectl delete pod -A -l 'app in (nvidia-container-toolkit-daemonset,nvidia-device-plugin-daemonset)' "
            "--field-selector spec.nodeName=" +
                shell_word(snapshot.node)
          : on_node(scene, "sudo nvidia-ctk cdi generate --output=" + shell_word(spec.path));
  finding.consequences = {"containers that ask for these devices do not start"};
  return finding;
}

std::string conflict_cause(const ConfigConflict& conflict) {
  if (conflict.kept == conflict.lost) {
    return conflict.lost + " sets " + conflict.effect + " in " + conflict.key +
           ", which its configuration version does not read";
  }
  return conflict.kept + " takes the place of what " + conflict.lost + " sets in " + conflict.key + ", which loses " +
         conflict.effect;
}

}  // namespace

std::optional<Finding> runtime_handler_missing(const Scene& scene) {
  const ContainerRuntime* runtime = judged_runtime(scene);
  if (runtime == nullptr || !runtime->handlers.empty() || loses_a_handler(*runtime)) {
    return std::nullopt;
  }
  std::vector<Evidence> evidence = expectation(scene, *runtime);
  if (evidence.empty()) {
    return std::nullopt;
  }
  Finding finding = make_finding(scene, FindingCode::RuntimeHandlerMissing, Severity::Warning, scene.now);
  finding.cause = missing_cause(*runtime);
  finding.evidence = std::move(evidence);
  finding.evidence.insert(finding.evidence.begin(),
                          seen(scene, scene.snapshot.runtime,
                               "no handler of NVIDIA's; the default is " + in_quotes(runtime->default_runtime)));
  const bool at_start = configures_itself(*runtime) && !runtime->toolkit.empty();
  finding.reboot_helps = at_start ? RebootHelps::Yes : RebootHelps::No;
  finding.reboot_why =
      at_start ? runtime->flavour + " looks for NVIDIA's runtime when it starts" : "the configuration stays as it is";
  finding.next_step =
      on_node(scene, configure_command(*runtime)) + (configures_itself(*runtime) && runtime->toolkit.empty()
                                                         ? "   # after nvidia-container-toolkit was installed there"
                                                         : "");
  finding.consequences = {"pods with runtimeClassName nvidia do not start", "other GPU pods start without a GPU"};
  return finding;
}

std::optional<Finding> runtime_restart_needed(const Scene& scene) {
  const ContainerRuntime* runtime = judged_runtime(scene);
  // CRI-O takes new runtimes at a reload, of which nothing is left to be seen.
  if (runtime == nullptr || runtime->kind != RuntimeKind::Containerd || runtime->handlers.empty() ||
      runtime->newest_file.empty() || !runtime->started_at.is_known()) {
    return std::nullopt;
  }
  // A file from the future would be newer than every start.
  const bool is_newer =
      runtime->newest_change > *runtime->started_at + kStartSlack && runtime->newest_change <= scene.snapshot.taken_at;
  if (!is_newer) {
    return std::nullopt;
  }
  Finding finding = make_finding(scene, FindingCode::RuntimeRestartNeeded, Severity::Warning, runtime->newest_change);
  finding.cause = name_of(*runtime) + " runs since " + to_rfc3339(*runtime->started_at) + ", and " +
                  runtime->newest_file + " with its NVIDIA settings is newer (" + to_rfc3339(runtime->newest_change) +
                  "): it reads them only when it starts";
  finding.evidence = {
      {"changed with settings for NVIDIA", runtime->newest_file, runtime->newest_change},
      {name_of(*runtime) + " started", runtime->started_at.source(), *runtime->started_at},
  };
  finding.reboot_helps = RebootHelps::Yes;
  finding.reboot_why = "the runtime starts anew, and reads its configuration then";
  finding.next_step = on_node(scene, restart_command(*runtime));
  finding.consequences = {"pods that need the new settings fail, or start without a GPU"};
  return finding;
}

std::optional<Finding> runtime_config_conflict(const Scene& scene) {
  const ContainerRuntime* runtime = judged_runtime(scene);
  if (runtime == nullptr || runtime->conflicts.empty()) {
    const CdiSpec* spec = stale_spec(scene);
    return spec == nullptr ? std::nullopt : std::optional(stale_spec_finding(scene, *spec));
  }
  const ConfigConflict& first = runtime->conflicts.front();
  Finding finding = make_finding(scene, FindingCode::RuntimeConfigConflict, Severity::Warning,
                                 runtime->newest_file.empty() ? scene.now : runtime->newest_change);
  finding.cause = conflict_cause(first);
  for (const ConfigConflict& conflict : runtime->conflicts) {
    if (finding.evidence.size() < kMaxEvidence) {
      finding.evidence.push_back({conflict_cause(conflict), conflict.lost, scene.snapshot.taken_at});
    }
  }
  if (runtime->version.is_known()) {
    finding.evidence.push_back(seen(scene, runtime->version, name_of(*runtime) + " is " + *runtime->version));
  }
  finding.reboot_helps = RebootHelps::No;
  finding.reboot_why = "the files are merged the same way after a boot";
  const std::string files =
      shell_word(first.kept) + (first.kept == first.lost ? std::string() : " " + shell_word(first.lost));
  finding.next_step = on_node(scene, "sudoedit " + files + " && " + restart_command(*runtime), Terminal::Yes);
  if (runtime->handlers.empty() && loses_a_handler(*runtime)) {
    finding.consequences = {"no handler for NVIDIA's runtime is left",
                            "pods with runtimeClassName nvidia do not start"};
  }
  return finding;
}

}  // namespace gpuskew::rules
