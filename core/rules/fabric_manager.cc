// On NVSwitch machines CUDA starts only after fabric manager has set up the switches, and fabric manager serves the
// driver of exactly its own version: the same branch is not enough. NVML and the kubelet notice nothing.

#include <algorithm>

#include "core/rules/rules.h"

namespace gpuskew::rules {
namespace {

// A version of fabric manager that is known to be another one than the driver's.
struct Mismatch {
  std::string version;
  std::vector<Evidence> evidence;
  bool refused = false;  ///< it said so itself in this boot
};

std::size_t switches(const Scene& scene) {
  const auto& functions = scene.snapshot.pci_functions;
  if (!functions.is_known()) {
    return 0;
  }
  return static_cast<std::size_t>(std::count_if(functions->begin(), functions->end(), [](const PciFunction& function) {
    return function.kind == FunctionKind::NvSwitch;
  }));
}

std::string switches_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " NVSwitch" : " NVSwitches") + " on the PCI bus";
}

// What fabric manager said of the driver that is loaded now; what it said of another one is the past.
const KernelLogEvent* refusal_of_loaded(const Scene& scene) {
  const auto& log = scene.snapshot.kernel_log;
  if (!log.is_known()) {
    return nullptr;
  }
  const DriverVersion& loaded = scene.snapshot.loaded_driver.value();
  const auto found = std::find_if(log->begin(), log->end(), [&loaded](const KernelLogEvent& event) {
    const auto ours = DriverVersion::parse(event.ours);
    const auto theirs = DriverVersion::parse(event.theirs);
    return event.kind == KernelLogKind::FabricManagerVersion && ours && theirs && *ours == loaded && *theirs != loaded;
  });
  return found == log->end() ? nullptr : &*found;
}

std::optional<Mismatch> find_mismatch(const Scene& scene) {
  const auto& installed = scene.snapshot.fabric_manager;
  const KernelLogEvent* refusal = refusal_of_loaded(scene);
  const bool other = installed.is_known() && installed.value() != scene.snapshot.loaded_driver.value();
  // A package of the right version came after what the log says.
  if (!other && (refusal == nullptr || installed.is_known())) {
    return std::nullopt;
  }
  Mismatch mismatch;
  mismatch.version = other ? installed->text() : refusal->theirs;
  mismatch.refused = refusal != nullptr;
  if (other) {
    mismatch.evidence.push_back(seen(scene, installed, "fabric manager: " + installed->text()));
  }
  if (refusal != nullptr) {
    mismatch.evidence.push_back(Evidence{refusal->text, scene.snapshot.kernel_log.source(), refusal->last_at});
  }
  return mismatch;
}

void add_reboot(const Scene& scene, const std::string& version, Finding& finding) {
  const auto& file = scene.snapshot.module_file;
  const auto& container = scene.snapshot.driver_container;
  if (container.is_known() && container->mounted) {
    finding.reboot_helps = RebootHelps::Unknown;
    finding.reboot_why = "the driver container loads its own module after a boot";
  } else if (file.is_known() && file->version.is_known()) {
    const bool same = file->version->text() == version;
    finding.reboot_helps = same ? RebootHelps::Yes : RebootHelps::No;
    finding.reboot_why = "the module file on disk is " + file->version->text() +
                         (same ? ", as fabric manager" : ", not fabric manager's version");
  } else {
    finding.reboot_helps = RebootHelps::Unknown;
    finding.reboot_why = "which module the next boot loads is not known";
  }
}

// Installs the version of the loaded driver, by the packager that has it installed.
std::string next_step(const Scene& scene) {
  const Snapshot& s = scene.snapshot;
  const std::string node = shell_word(s.node);
  if (s.driver_container.is_known() && s.driver_container->mounted) {
    return "kubectl get pods -A -o wide --field-selector spec.nodeName=" + node + " | grep nvidia-driver";
  }
  const std::string restart = " && sudo systemctl restart nvidia-fabricmanager";
  const std::string& loaded = s.loaded_driver->text();
  if (s.installs.is_known()) {
    for (const InstallTrace& trace : s.installs.value()) {
      if (trace.part != InstallPart::FabricManager) {
        continue;
      }
      if (trace.kind == InstallKind::Deb) {
        return on_node(
            scene, "sudo apt-get install --allow-downgrades " + shell_word(trace.name + "=" + loaded + "-*") + restart);
      }
      if (trace.kind == InstallKind::Rpm) {
        return on_node(scene, "sudo dnf install " + shell_word(trace.name + "-" + loaded) + restart);
      }
    }
  }
  return on_node(scene, "systemctl status nvidia-fabricmanager; cat /sys/module/nvidia/version");
}

Ruling mismatch_ruling(const Scene& scene, Mismatch mismatch) {
  const Snapshot& s = scene.snapshot;
  const std::size_t count = switches(scene);
  // Machines of the newest kind have switches that are no functions of NVIDIA's on the bus: where none is seen, whether
  // CUDA waits for fabric manager is not known.
  const bool needed = count > 0 || mismatch.refused;
  Finding finding = make_finding(scene, FindingCode::FabricManagerMismatch,
                                 needed ? Severity::Critical : Severity::Warning, scene.now);
  finding.cause = "fabric manager is " + mismatch.version + ", but the loaded nvidia module is " +
                  s.loaded_driver->text() + ": they have to be exactly equal";
  if (!needed) {
    finding.cause += s.pci_functions.is_known() ? " (no NVSwitch is on the PCI bus: it may not be needed here)"
                                                : " (whether an NVSwitch is here is not known)";
  }
  finding.evidence = {seen(scene, s.loaded_driver, "loaded module: " + s.loaded_driver->text())};
  std::move(mismatch.evidence.begin(), mismatch.evidence.end(), std::back_inserter(finding.evidence));
  if (count > 0) {
    finding.evidence.push_back(seen(scene, s.pci_functions, switches_text(count)));
  }
  add_reboot(scene, mismatch.version, finding);
  finding.next_step = next_step(scene);
  finding.consequences = {"CUDA fails with error 802 (system not yet initialized)",
                          "nvidia-smi works, and the kubelet still shows every GPU"};
  std::string why = finding.cause;
  return Ruling{needed ? NodeState::Broken : NodeState::Degraded, std::move(why), std::move(finding), std::nullopt};
}

// A switch of this machine is driven here, and nothing on it is there to set it up.
Ruling missing_ruling(const Scene& scene, std::size_t count) {
  Finding finding = make_finding(scene, FindingCode::FabricManagerMismatch, Severity::Warning, scene.now);
  finding.cause = switches_text(count) + " and no fabric manager was found on this node: CUDA waits for one";
  finding.evidence = {
      seen(scene, scene.snapshot.pci_functions, switches_text(count)),
      seen(scene, scene.snapshot.fabric_manager, "no package of fabric manager, and no nv-fabricmanager")};
  finding.reboot_helps = RebootHelps::No;
  finding.reboot_why = "nothing would start it";
  finding.next_step = on_node(scene, "pgrep -a nv-fabricm; systemctl list-units \"*fabric*\"");
  finding.consequences = {"without one CUDA fails with error 802 (system not yet initialized)"};
  std::string why = finding.cause;
  return Ruling{NodeState::Degraded, std::move(why), std::move(finding), std::nullopt};
}

}  // namespace

std::optional<Ruling> fabric_manager(const Scene& scene) {
  if (!scene.snapshot.loaded_driver.is_known()) {
    return std::nullopt;
  }
  if (std::optional<Mismatch> mismatch = find_mismatch(scene)) {
    return mismatch_ruling(scene, std::move(*mismatch));
  }
  const auto& installed = scene.snapshot.fabric_manager;
  const std::size_t count = switches(scene);
  if (installed.is_known() || count == 0) {
    return std::nullopt;
  }
  if (installed.is_absent()) {
    return missing_ruling(scene, count);
  }
  return Ruling{NodeState::Unknown,
                "whether fabric manager agrees with the loaded module is unknown, because " + installed.why().what,
                std::nullopt, std::nullopt};
}

}  // namespace gpuskew::rules
