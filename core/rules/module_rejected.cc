// The kernel would not take the module file. The log says so in a line that names the module (version magic, symbols),
// or in one that names none (signature, lockdown); without a line, the file itself may tell that it is another
// kernel's.

#include <algorithm>
#include <array>

#include "core/rules/remedy.h"

namespace gpuskew::rules {
namespace {

/// Who signs the module himself: his key is trusted or nothing of his is, so an unnamed refusal may be another
/// module's.
bool is_signed_by_packager(const Scene& scene) {
  const ModuleHome home = module_home(scene.snapshot.module_file->path);
  return home == ModuleHome::Prebuilt || home == ModuleHome::Extra || home == ModuleHome::WeakUpdates;
}

bool names_module(const KernelLogEvent& event) {
  return event.text.find("nvidia") != std::string::npos || event.kind == KernelLogKind::VersionMagic ||
         event.kind == KernelLogKind::UnknownSymbol;
}

std::string enrol_step(const Scene& scene) {
  const std::string os = scene.snapshot.os.is_known() ? scene.snapshot.os->id : "";
  constexpr std::array<std::string_view, 6> kAkmods{"fedora", "rhel", "rocky", "almalinux", "centos", "ol"};
  if (os == "ubuntu") {
    return on_node(scene, "sudo mokutil --import /var/lib/shim-signed/mok/MOK.der && sudo reboot", Terminal::Yes);
  }
  if (os == "debian") {
    return on_node(scene, "sudo mokutil --import /var/lib/dkms/mok.pub && sudo reboot", Terminal::Yes);
  }
  if (std::find(kAkmods.begin(), kAkmods.end(), os) != kAkmods.end()) {
    return on_node(scene, "sudo mokutil --import /etc/pki/akmods/certs/public_key.der && sudo reboot", Terminal::Yes);
  }
  return on_node(scene, "mokutil --sb-state; modinfo -F signer nvidia; cat /sys/kernel/security/lockdown");
}

std::string rebuild_step(const Scene& scene) {
  const auto& dkms = scene.snapshot.dkms;
  if (dkms.is_known() && !dkms->empty()) {
    return on_node(scene, forced_install(dkms->front(), kernel_word(scene)) + " && sudo modprobe nvidia");
  }
  return on_node(scene, "sudo dkms autoinstall --force -k " + kernel_word(scene) + " && sudo modprobe nvidia");
}

Refusal signature_refused(const Scene& scene, const KernelLogEvent& event) {
  Refusal refused;
  refused.since = said_since(scene, event);
  refused.evidence = evidence_of(scene, event);
  if (event.kind == KernelLogKind::Lockdown) {
    const auto& lockdown = scene.snapshot.lockdown;
    refused.why = "the kernel is locked down" + (lockdown.is_known() ? " (" + *lockdown + ")" : std::string()) +
                  " and the module has no signature that it trusts; modprobe says 'Operation not permitted', which is "
                  "not about permissions";
  } else {
    refused.why = "its signature is missing, or by a key that the kernel does not trust";
  }
  refused.reboot_helps = RebootHelps::No;
  refused.next_step = enrol_step(scene);
  const auto& file = scene.snapshot.module_file;
  refused.is_final =
      names_module(event) || (file.is_known() && !is_signed_by_packager(scene) && !container_at_work(scene));
  return refused;
}

Refusal vermagic_refused(const Scene& scene, const KernelLogEvent& event) {
  Refusal refused;
  refused.since = said_since(scene, event);
  refused.is_final = true;
  refused.evidence = evidence_of(scene, event);
  const auto first_word = [](const std::string& text) { return text.substr(0, text.find(' ')); };
  const std::string built_for = first_word(event.theirs);
  const std::string wanted = first_word(event.ours);
  if (built_for.empty() || wanted.empty()) {
    refused.why = "it is built for another kernel";
  } else if (built_for == wanted) {
    refused.why = "it is built with other options ('" + event.theirs + "') than the kernel ('" + event.ours + "')";
  } else {
    refused.why = "it is built for kernel " + built_for + ", not for " + wanted;
  }
  const auto& dkms = scene.snapshot.dkms;
  const auto& file = scene.snapshot.module_file;
  const bool is_packaged = file.is_known() && is_signed_by_packager(scene);
  if (is_packaged && dkms.is_known() && !dkms->empty()) {
    refused.why += "; dkms and a packaged module both provide it";
  }
  refused.reboot_helps = RebootHelps::No;
  refused.next_step = rebuild_step(scene);
  return refused;
}

Refusal symbols_refused(const Scene& scene, const KernelLogEvent& event) {
  Refusal refused;
  refused.since = said_since(scene, event);
  refused.is_final = true;
  refused.why = "it needs symbols that " + kernel_text(scene) + " does not have, or has in another version";
  refused.evidence = evidence_of(scene, event);
  refused.reboot_helps = RebootHelps::No;
  refused.next_step = rebuild_step(scene);
  return refused;
}

Refusal refused_by(const Scene& scene, const KernelLogEvent& event) {
  switch (event.kind) {
    case KernelLogKind::VersionMagic:
      return vermagic_refused(scene, event);
    case KernelLogKind::UnknownSymbol:
      return symbols_refused(scene, event);
    default:
      return signature_refused(scene, event);
  }
}

/// By the file alone. A kernel with versioned symbols may take another kernel's module (weak-updates live by it), so
/// this is a reason for a module that did not load, and no proof that it will not.
std::optional<Refusal> other_kernels_file(const Scene& scene) {
  const auto& file = scene.snapshot.module_file;
  const auto& kernel = scene.snapshot.kernel;
  if (container_at_work(scene) || !file.is_known() || !kernel.is_known() || !file->built_for.is_known() ||
      *file->built_for == *kernel) {
    return std::nullopt;
  }
  const std::string own_tree = "/lib/modules/" + kernel->text() + "/";
  if (module_home(file->path) == ModuleHome::WeakUpdates || file->path.find(own_tree) == std::string::npos) {
    return std::nullopt;
  }
  Refusal refused;
  refused.since = boot_start(scene);
  refused.why = "it is built for kernel " + file->built_for->text() + ", not for " + kernel->text();
  refused.evidence = seen(scene, file->built_for, file->path + " is built for " + file->built_for->text());
  refused.reboot_helps = RebootHelps::No;
  refused.next_step = rebuild_step(scene);
  return refused;
}

Ruling rejected(const Scene& scene, const Refusal& refused) {
  Finding finding = make_finding(scene, FindingCode::ModuleRejected, Severity::Critical, refused.since);
  finding.cause = "the kernel refuses the nvidia module: " + refused.why;
  finding.evidence = {refused.evidence, seen(scene, scene.snapshot.loaded_driver, "no nvidia module is loaded"),
                      seen(scene, scene.snapshot.kernel, "running kernel: " + kernel_text(scene))};
  const auto& file = scene.snapshot.module_file;
  if (file.is_known()) {
    finding.evidence.push_back(seen(scene, file, "module file " + file->path));
  }
  const auto& lockdown = scene.snapshot.lockdown;
  if (lockdown.is_known()) {
    finding.evidence.push_back(seen(scene, lockdown, "kernel lockdown: " + *lockdown));
  }
  const auto& secure_boot = scene.snapshot.secure_boot;
  if (secure_boot.is_known()) {
    finding.evidence.push_back(seen(scene, secure_boot, std::string("secure boot: ") + (*secure_boot ? "on" : "off")));
  }
  finding.evidence.push_back(gpus_evidence(scene));
  finding.reboot_helps = refused.reboot_helps;
  finding.reboot_why = "the same kernel refuses the same file again";
  finding.next_step = refused.next_step;
  finding.consequences = {"no /dev/nvidia* works", "CUDA finds no device", "the device plugin has no GPU to offer"};
  std::string why = finding.cause;
  return Ruling{NodeState::Broken, std::move(why), std::move(finding), std::nullopt};
}

}  // namespace

std::optional<Refusal> refusal(const Scene& scene) {
  const Snapshot& s = scene.snapshot;
  // Where no file is there to refuse, its absence is what to tell; a driver container brings its own.
  if (!s.loaded_driver.is_absent() || (s.module_file.is_absent() && !container_at_work(scene))) {
    return std::nullopt;
  }
  const KernelLogEvent* newest = nullptr;
  for (const KernelLogKind kind : {KernelLogKind::KeyRejected, KernelLogKind::Lockdown, KernelLogKind::VersionMagic,
                                   KernelLogKind::UnknownSymbol}) {
    const KernelLogEvent* event = log_event(scene, kind);
    // A kernel that took the module in this boot meant another one in a line without a name.
    if (event != nullptr && !names_module(*event) && good_in_this_boot(scene)) {
      continue;
    }
    if (event != nullptr && (newest == nullptr || event->last_at > newest->last_at)) {
      newest = event;
    }
  }
  return newest != nullptr ? std::optional(refused_by(scene, *newest)) : other_kernels_file(scene);
}

std::optional<Ruling> module_rejected(const Scene& scene) {
  const auto& gpus = scene.snapshot.gpus;
  const bool is_expected = scene.last_good != nullptr || (gpus.is_known() && !gpus->empty());
  // After a kernel bump that is the finding, with the refusal as its cause.
  if (!scene.snapshot.loaded_driver.is_absent() || !is_expected || runs_another_kernel(scene)) {
    return std::nullopt;
  }
  if (const auto refused = refusal(scene)) {
    const Duration grace = container_at_work(scene) ? scene.policy.container_grace : scene.policy.boot_grace;
    if (refused->is_final || scene.now >= boot_start(scene) + grace) {
      return rejected(scene, *refused);
    }
    return std::nullopt;
  }
  // The kernel took it, and it found no GPU that it drives.
  if (auto refused = flavour_refused(scene)) {
    return refused;
  }
  return device_refused(scene);
}

}  // namespace gpuskew::rules
