// The nvidia module is not in the kernel. "Still coming" and "will not come back by itself" are told apart by
// evidence: a missing module file is final at once; a file that is there, or a driver container at work, has a grace.

#include <algorithm>

#include "core/rules/remedy.h"

namespace gpuskew::rules {
namespace {

// Nothing on this node can load a driver any more: waiting can not help.
bool is_final(const Scene& scene) {
  const Snapshot& s = scene.snapshot;
  const std::optional<Refusal> refused = refusal(scene);
  if (scene.last_good != nullptr && refused && refused->is_final && !container_at_work(scene)) {
    return true;
  }
  if (!s.module_file.is_absent() || !s.driver_container.is_absent() || container_at_work(scene)) {
    return false;
  }
  // dkms' or akmods' service may be building it right now.
  if (s.boot_builders.is_known() && !s.boot_builders->empty()) {
    return false;
  }
  // A node that never had a driver may be being installed right now; one that had it in an earlier boot is not.
  return scene.last_good != nullptr;
}

// A driver of the host that was there in this very boot was taken away: no boot to wait for.
bool unloaded_in_this_boot(const Scene& scene) {
  return good_in_this_boot(scene) && !container_at_work(scene);
}

Time grace_end(const Scene& scene) {
  Time from = boot_start(scene);
  if (good_in_this_boot(scene)) {
    from = std::max(from, std::min(scene.last_good->at, scene.now));
  }
  return from + (container_at_work(scene) ? scene.policy.container_grace : scene.policy.boot_grace);
}

Evidence module_file_evidence(const Scene& scene) {
  const auto& file = scene.snapshot.module_file;
  if (file.is_absent()) {
    return seen(scene, file, "no nvidia module file for " + kernel_text(scene));
  }
  if (file.is_unknown()) {
    return seen(scene, file, "the nvidia module file is unknown, because " + file.why().what);
  }
  const auto& version = file->version;
  return seen(scene, file,
              "module file " + file->path + (version.is_known() ? " (" + version->text() + ")" : "") +
                  " is there for this kernel and is not loaded");
}

Evidence container_evidence(const Scene& scene) {
  const auto& container = scene.snapshot.driver_container;
  if (container.is_known()) {
    return seen(scene, container,
                container->mounted ? "a driver container's root is mounted" : "a driver container is at work");
  }
  if (container.is_unknown()) {
    return seen(scene, container, "a driver container is unknown, because " + container.why().what);
  }
  return seen(scene, container, "no driver container");
}

std::string image_sentence(const ImageNeed& need) {
  if (!need.exists) {
    return "driver image needed: " + need.tag + " (no matrix is configured to say whether it exists)";
  }
  return *need.exists ? "driver image " + need.tag + " exists in the matrix"
                      : "driver image " + need.tag + " is missing in the matrix";
}

// The boot loader takes another kernel than the one that runs, and that one has a driver.
bool next_boot_brings_it_back(const Scene& scene, const NextBoot& next) {
  return next.gpu == NextBootGpu::Keeps && next.kernel && scene.snapshot.kernel.is_known() &&
         !(*next.kernel == scene.snapshot.kernel.value());
}

void add_remedy(const Scene& scene, const Result<ImageNeed>& need, const std::optional<Refusal>& refused,
                Finding& finding) {
  const std::string node = shell_word(scene.snapshot.node);
  const auto& file = scene.snapshot.module_file;
  if (container_at_work(scene)) {
    const bool missing = need && need->exists && !*need->exists;
    finding.reboot_helps = missing ? RebootHelps::No : RebootHelps::Unknown;
    finding.reboot_why = missing ? "the driver container needs an image that does not exist"
                                 : "the driver container has to load the module; its log says what stops it";
    finding.next_step = "kubectl get pods -A -o wide --field-selector spec.nodeName=" + node + " | grep nvidia-driver";
  } else if (const NextBoot next = next_boot(scene); next_boot_brings_it_back(scene, next)) {
    finding.reboot_helps = RebootHelps::Yes;
    finding.reboot_why = next.why;
    finding.next_step = after_drain(scene, "sudo reboot");
  } else if (refused) {
    finding.reboot_helps = refused->reboot_helps;
    finding.reboot_why = "the kernel refuses the nvidia module: " + refused->why;
    finding.next_step = refused->next_step;
  } else if (file.is_absent()) {
    finding.reboot_helps = RebootHelps::No;
    finding.reboot_why = "no nvidia module file exists for " + kernel_text(scene);
    finding.next_step = scene.snapshot.kernel.is_known()
                            ? module_step(scene, scene.snapshot.kernel.value(), "sudo modprobe nvidia")
                            : on_node(scene, "sudo dkms autoinstall -k \"$(uname -r)\" && sudo modprobe nvidia");
  } else {
    finding.reboot_helps = RebootHelps::Unknown;
    finding.reboot_why = file.is_known() ? "the module file is there; why it did not load is in the kernel log"
                                         : "the module file is unknown, because " + file.why().what;
    finding.next_step = on_node(
        scene,
        "sudo depmod -a; sudo modprobe -v nvidia; sudo dmesg | grep -iE \"nvidia|nvrm|lockdown|module verification\"");
  }
}

std::string why_not_built(const Scene& scene) {
  const std::string failed =
      scene.snapshot.kernel.is_known() ? failed_build(scene, scene.snapshot.kernel.value()) : std::string();
  return failed.empty() ? failed : ": " + failed;
}

std::string gone_cause(const Scene& scene, const Result<ImageNeed>& need, const std::optional<Refusal>& refused) {
  const LastGood& good = *scene.last_good;
  std::string cause = "driver " + good.driver.text() + " worked on kernel " + good.kernel.text() +
                      "; after the boot into " + kernel_text(scene) + " no nvidia module is loaded";
  if (refused) {
    cause += ", because the kernel refuses it: " + refused->why;
  } else if (scene.snapshot.module_file.is_absent() && !container_at_work(scene)) {
    cause += ", and no module file exists for it" + why_not_built(scene);
  } else if (need && need->exists && !*need->exists) {
    cause += ", and its driver image " + need->tag + " does not exist";
  }
  return cause;
}

std::string not_loaded_cause(const Scene& scene) {
  if (unloaded_in_this_boot(scene)) {
    return "driver " + scene.last_good->driver.text() + " was loaded in this boot and is not loaded any more";
  }
  if (scene.last_good != nullptr && !scene.snapshot.kernel.is_known()) {
    return "driver " + scene.last_good->driver.text() + " was loaded on kernel " + scene.last_good->kernel.text() +
           " and has not come back; the kernel that runs now could not be read";
  }
  if (scene.last_good != nullptr) {
    return "driver " + scene.last_good->driver.text() + " was loaded before on this kernel and has not come back" +
           (good_in_this_boot(scene) ? "" : " after the boot");
  }
  if (scene.snapshot.module_file.is_absent() && !container_at_work(scene)) {
    const std::string why = why_not_built(scene);
    return "the node has an NVIDIA GPU and no NVIDIA driver is installed for " + kernel_text(scene) + why;
  }
  return "the node has an NVIDIA GPU and no NVIDIA driver is loaded";
}

Ruling gone(const Scene& scene) {
  const bool bumped = runs_another_kernel(scene);
  const bool had_driver = scene.last_good != nullptr;
  const Time since = had_driver ? std::max(boot_start(scene), scene.last_good->at) : boot_start(scene);
  // A GPU that never had a driver is a job not finished, not a loss.
  const Severity severity = had_driver ? Severity::Critical : Severity::Warning;
  Finding finding =
      make_finding(scene, bumped ? FindingCode::GpuGoneAfterKernelBump : FindingCode::DriverNotLoaded, severity, since);
  const Result<ImageNeed> need = image_need(scene);
  const std::optional<Refusal> refused = refusal(scene);
  finding.cause = bumped ? gone_cause(scene, need, refused) : not_loaded_cause(scene);
  if (had_driver) {
    finding.evidence.push_back(last_good_evidence(scene));
  }
  finding.evidence.push_back(seen(scene, scene.snapshot.kernel, "running kernel: " + kernel_text(scene)));
  finding.evidence.push_back(seen(scene, scene.snapshot.loaded_driver, "no nvidia module is loaded"));
  finding.evidence.push_back(module_file_evidence(scene));
  if (refused) {
    finding.evidence.push_back(refused->evidence);
  }
  finding.evidence.push_back(container_evidence(scene));
  finding.evidence.push_back(gpus_evidence(scene));
  if (need) {
    finding.evidence.push_back(Evidence{image_sentence(*need), "matrix", scene.now});
  }
  add_remedy(scene, need, refused, finding);
  finding.consequences = {"no /dev/nvidia* works", "CUDA finds no device", "the device plugin has no GPU to offer"};
  std::string why = finding.cause;
  return Ruling{had_driver ? NodeState::Broken : NodeState::Degraded, std::move(why), std::move(finding), std::nullopt};
}

// Neither a GPU nor a memory of a driver says that one belongs here.
std::optional<Ruling> nothing_expected(const Scene& scene) {
  const auto& gpus = scene.snapshot.gpus;
  if (scene.last_good != nullptr || (gpus.is_known() && !gpus->empty())) {
    return std::nullopt;
  }
  if (gpus.is_unknown()) {
    return Ruling{NodeState::Unknown, "whether this node has a GPU is unknown, because " + gpus.why().what,
                  std::nullopt, std::nullopt};
  }
  return Ruling{NodeState::NoGpu, "no NVIDIA GPU on the PCI bus", std::nullopt, std::nullopt};
}

}  // namespace

std::optional<Ruling> module_loaded(const Scene& scene) {
  const auto& loaded = scene.snapshot.loaded_driver;
  if (loaded.is_known()) {
    return std::nullopt;
  }
  if (loaded.is_unknown()) {
    return Ruling{NodeState::Unknown, "whether the nvidia module is loaded is unknown, because " + loaded.why().what,
                  std::nullopt, std::nullopt};
  }
  if (std::optional<Ruling> settled = nothing_expected(scene)) {
    return settled;
  }
  const Time end = grace_end(scene);
  if (is_final(scene) || unloaded_in_this_boot(scene) || scene.now >= end) {
    return gone(scene);
  }
  return Ruling{NodeState::Starting,
                "no nvidia module is loaded yet; " +
                    std::string(container_at_work(scene) ? "the driver container" : "the boot") + " has until " +
                    to_rfc3339(end),
                std::nullopt, end};
}

}  // namespace gpuskew::rules
