// An nvidia module that hangs while it loads or unloads: only a reboot takes it away. A module that does either is
// ordinary for some seconds, so the time it has been at it decides, or a trace in the kernel's log that says its
// unloading crashed.

#include <algorithm>

#include "core/rules/rules.h"

namespace gpuskew::rules {
namespace {

bool is_changing(const KernelModule& module) {
  return module.name.starts_with("nvidia") &&
         (module.state == ModuleState::Loading || module.state == ModuleState::Unloading);
}

bool is_loading(const KernelModule& module) {
  return module.state == ModuleState::Loading;
}

// When this module has been at it for too long. While a node boots, loading waits for disks and other modules.
std::optional<Time> deadline(const Scene& scene, const KernelModule& module) {
  if (module.state_since == Time{}) {
    return std::nullopt;  // nobody saw it begin
  }
  const Time late = std::min(module.state_since, scene.now) + scene.policy.wedged_after;
  if (!is_loading(module)) {
    return late;
  }
  const bool container = scene.snapshot.driver_container.is_known();
  return std::max(late, boot_start(scene) + (container ? scene.policy.container_grace : scene.policy.boot_grace));
}

// "nvidia_uvm(OE-)": the dash is the kernel's mark of a module that was being unloaded when the trace was written.
bool marks_as_unloading(std::string_view text, std::string_view module) {
  for (std::size_t at = text.find(module); at != std::string_view::npos; at = text.find(module, at + 1)) {
    const std::string_view behind = text.substr(at + module.size());
    const std::size_t end = behind.find(')');
    if (behind.starts_with('(') && end != std::string_view::npos && behind[end - 1] == '-') {
      return true;
    }
  }
  return false;
}

// A trace of this unloading: one of an earlier load, or of long ago, says nothing about it.
const KernelLogEvent* crash(const Scene& scene, const KernelModule& module) {
  const auto& log = scene.snapshot.kernel_log;
  if (is_loading(module) || !log.is_known()) {
    return nullptr;
  }
  Time loaded{};
  for (const KernelLogEvent& event : log.value()) {
    if (event.kind == KernelLogKind::DriverLoaded) {
      loaded = std::max(loaded, event.last_at);
    }
  }
  for (const KernelLogEvent& event : log.value()) {
    const bool belongs =
        marks_as_unloading(event.text, module.name) || event.last_at >= module.state_since - scene.policy.wedged_after;
    if (event.kind == KernelLogKind::KernelTrace && event.last_at >= loaded && belongs) {
      return &event;
    }
  }
  return nullptr;
}

std::string described(const KernelModule& module) {
  std::string text = module.name + " is " + std::string(to_string(module.state));
  if (module.state_since != Time{}) {
    text += " since " + to_rfc3339(module.state_since) + ", as the agent saw it";
  }
  if (!module.taints.empty()) {
    text += " (" + module.taints + ")";
  }
  text += module.refcount ? ", reference count " + std::to_string(*module.refcount) : ", no reference count";
  for (const std::string& user : module.used_by) {
    text += (&user == &module.used_by.front() ? ", used by " : ", ") + user;
  }
  return text;
}

void add_remedy(const Scene& scene, Finding& finding) {
  const std::string node = shell_word(scene.snapshot.node);
  const NextBoot next = next_boot(scene);
  if (next.gpu == NextBootGpu::Loses) {
    finding.reboot_helps = RebootHelps::No;
    finding.reboot_why = "it takes the module away, and the GPU too: " + next.why;
    finding.next_step = on_node(
        scene, "sudo dkms autoinstall" + (next.kernel ? " -k " + shell_word(next.kernel->text()) : std::string()));
    return;
  }
  finding.reboot_helps = RebootHelps::Yes;
  finding.reboot_why = "only a reboot takes away a module that hangs";
  finding.next_step = after_drain(scene, "sudo reboot");
}

Ruling wedged(const Scene& scene, const KernelModule& module, const KernelLogEvent* trace) {
  const auto& modules = scene.snapshot.modules;
  Finding finding = make_finding(scene, FindingCode::ModuleWedged, Severity::Critical,
                                 module.state_since == Time{} ? scene.now : module.state_since);
  finding.cause = "kernel module " + module.name + (is_loading(module) ? " hangs in loading" : " hangs in unloading") +
                  " and can not be removed";
  finding.evidence = {seen(scene, modules, described(module))};
  if (trace != nullptr) {
    finding.evidence.push_back(Evidence{trace->text, scene.snapshot.kernel_log.source(), trace->last_at});
  }
  for (const KernelModule& other : modules.value()) {
    if (&other != &module && other.name.starts_with("nvidia")) {
      finding.evidence.push_back(seen(scene, modules, described(other)));
    }
  }
  add_remedy(scene, finding);
  finding.consequences = {"no driver can be loaded or replaced",
                          "a new driver pod will look Running while its validation loops", "CUDA finds no device"};
  std::string why = finding.cause;
  return Ruling{NodeState::Broken, std::move(why), std::move(finding), std::nullopt};
}

Ruling still_changing(const KernelModule& module, std::optional<Time> until) {
  if (is_loading(module)) {
    return Ruling{NodeState::Starting, "kernel module " + module.name + " is being loaded", std::nullopt, until};
  }
  return Ruling{NodeState::Unknown,
                "kernel module " + module.name + " is being unloaded; whether that comes to an end is not known yet",
                std::nullopt, until};
}

}  // namespace

std::optional<Ruling> module_wedged(const Scene& scene) {
  const auto& modules = scene.snapshot.modules;
  if (!modules.is_known()) {
    return std::nullopt;  // whether nvidia is loaded at all is another layer's to say
  }
  std::optional<Ruling> pending;
  for (const KernelModule& module : modules.value()) {
    if (!is_changing(module)) {
      continue;
    }
    const KernelLogEvent* trace = crash(scene, module);
    const std::optional<Time> until = deadline(scene, module);
    if (trace != nullptr || (until && *until <= scene.now)) {
      return wedged(scene, module, trace);
    }
    if (!pending || (until && (!pending->revisit_at || *until < *pending->revisit_at))) {
      pending = still_changing(module, until);
    }
  }
  return pending;
}

}  // namespace gpuskew::rules
