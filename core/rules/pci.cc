// The lowest layers: is there a GPU on the bus at all, is it one we judge, and which kernel driver holds it.

#include <algorithm>

#include "core/rules/remedy.h"

namespace gpuskew::rules {
namespace {

bool anything_of_nvidia(const Snapshot& snapshot) {
  return snapshot.loaded_driver.is_known() || snapshot.module_file.is_known() || snapshot.libraries.is_known() ||
         snapshot.driver_container.is_known();
}

Ruling all_gone(const Scene& scene, const GpuCount& before) {
  const Time last_seen = scene.last_good == nullptr ? boot_start(scene) : scene.last_good->at;
  Finding finding =
      make_finding(scene, FindingCode::GpuCountDrop, Severity::Critical, std::max(boot_start(scene), last_seen));
  const std::string number = std::to_string(before.number);
  if (before.is_configured) {
    finding.cause = "none of the GPUs this node should have (" + number + ") is on the PCI bus";
  } else {
    finding.cause = before.number == 1 ? "the GPU this node had is gone from the PCI bus"
                                       : "all " + number + " GPUs this node had are gone from the PCI bus";
  }
  finding.evidence = {before.evidence, gpus_evidence(scene)};
  finding.reboot_helps = RebootHelps::Unknown;
  finding.reboot_why =
      "a device missing from the bus is the hardware's, the firmware's or the hypervisor's to bring back";
  finding.next_step = on_node(scene, "lspci -nn -d 10de:; sudo dmesg | grep -iE \"pci|nvrm|xid\"");
  finding.consequences = {"no driver can be loaded", "no GPU for any program"};
  std::string why = finding.cause;
  return Ruling{NodeState::Broken, std::move(why), std::move(finding), std::nullopt};
}

// nouveau or nova_core; a name we could not read is no evidence.
bool is_foreign(const Gpu& gpu) {
  return gpu.driver.is_known() && gpu.driver.value() != "nvidia" && !is_passthrough(gpu);
}

}  // namespace

std::optional<Ruling> platform(const Scene& scene) {
  const auto& wsl = scene.snapshot.wsl;
  if (wsl.is_known()) {
    return Ruling{NodeState::NotJudged,
                  "WSL2 (" + wsl.value() + "): its driver is Windows', not a module of this kernel", std::nullopt,
                  std::nullopt};
  }
  const auto& l4t = scene.snapshot.l4t_release;
  if (!l4t.is_known()) {
    return std::nullopt;
  }
  return Ruling{NodeState::NotJudged,
                "Jetson (L4T " + l4t.value() + "): its driver comes with the system, not as an image", std::nullopt,
                std::nullopt};
}

std::optional<Ruling> pci_devices(const Scene& scene) {
  const auto& gpus = scene.snapshot.gpus;
  if (gpus.is_unknown()) {
    return std::nullopt;  // the layers above may still know
  }
  const bool none = gpus.is_absent() || gpus->empty();
  if (const std::optional<GpuCount> before = known_gpus(scene); none && before && before->number > 0) {
    return all_gone(scene, *before);
  }
  if (none && scene.last_good == nullptr && scene.snapshot.loaded_driver.is_absent()) {
    std::string why = "no NVIDIA GPU on the PCI bus and no NVIDIA driver loaded";
    if (anything_of_nvidia(scene.snapshot)) {
      why += " (driver files are installed)";
    }
    return Ruling{NodeState::NoGpu, std::move(why), std::nullopt, std::nullopt};
  }
  if (!none && std::all_of(gpus->begin(), gpus->end(), is_passthrough)) {
    return Ruling{NodeState::NotJudged,
                  "every GPU is handed to virtual machines (" + gpus->front().driver.value() + ")", std::nullopt,
                  std::nullopt};
  }
  return std::nullopt;
}

std::optional<Ruling> bound_driver(const Scene& scene) {
  const auto& gpus = scene.snapshot.gpus;
  if (!gpus.is_known() || !std::any_of(gpus->begin(), gpus->end(), is_foreign)) {
    return std::nullopt;
  }
  // Without a module for this kernel the layer below is the one that broke: nouveau only took what nvidia left.
  if (scene.last_good != nullptr && !scene.snapshot.module_file.is_known() &&
      scene.snapshot.loaded_driver.is_absent()) {
    return std::nullopt;
  }
  const Gpu& gpu = *std::find_if(gpus->begin(), gpus->end(), is_foreign);
  const std::string& driver = gpu.driver.value();
  const bool wanted = scene.last_good != nullptr || anything_of_nvidia(scene.snapshot);
  Finding finding = make_finding(scene, FindingCode::WrongDriverBound, wanted ? Severity::Critical : Severity::Warning,
                                 boot_start(scene));
  finding.cause = driver + " holds the GPU, so the nvidia driver can not";
  finding.evidence = {gpus_evidence(scene),
                      Evidence{gpu.address + " is bound to " + driver, gpu.driver.source(), scene.snapshot.taken_at}};
  if (scene.last_good != nullptr) {
    finding.evidence.push_back(last_good_evidence(scene));
  }
  finding.affected_gpus.clear();
  for (const Gpu& each : gpus.value()) {
    if (is_foreign(each)) {
      finding.affected_gpus.push_back(each.address);
    }
  }
  finding.reboot_helps = RebootHelps::No;
  finding.reboot_why = driver + " takes the GPU again at the next boot unless it is blacklisted in the initramfs";
  finding.next_step =
      on_node(scene, "echo blacklist " + shell_word(driver) + " | sudo tee /etc/modprobe.d/blacklist-" +
                         shell_word(driver) + ".conf && " + initramfs_command(scene) + " && sudo reboot");
  finding.consequences = {"the nvidia module can not drive the GPU", "CUDA finds no device"};
  std::string why = finding.cause;
  return Ruling{wanted ? NodeState::Broken : NodeState::Degraded, std::move(why), std::move(finding), std::nullopt};
}

std::optional<Ruling> device_for_driver(const Scene& scene) {
  const auto& gpus = scene.snapshot.gpus;
  const std::string driver = "driver " + scene.snapshot.loaded_driver->text() + " is loaded, but ";
  if (gpus.is_unknown()) {
    return Ruling{NodeState::Unknown, driver + "the GPUs are unknown, because " + gpus.why().what, std::nullopt,
                  std::nullopt};
  }
  if (gpus.is_absent() || gpus->empty()) {
    return Ruling{NodeState::NoGpu, driver + "no NVIDIA GPU is on the PCI bus", std::nullopt, std::nullopt};
  }
  for (const Gpu& gpu : gpus.value()) {
    if (gpu.driver.is_unknown()) {
      return Ruling{NodeState::Unknown,
                    driver + "what holds GPU " + gpu.address + " is unknown, because " + gpu.driver.why().what,
                    std::nullopt, std::nullopt};
    }
    // A module that was just loaded has not taken its GPUs yet, and one that refuses a GPU says so only in the kernel
    // log, where the layer below has looked: neither an alarm nor an all-clear.
    if (gpu.driver.is_absent()) {
      const auto& log = scene.snapshot.kernel_log;
      return Ruling{NodeState::Unknown,
                    driver + "nothing holds GPU " + gpu.address +
                        (log.is_known() ? ": the module is still starting, or it was unbound (the kernel log names no "
                                          "reason)"
                                        : ": the module is still starting, or it refused the GPU "
                                          "(the kernel log says which)"),
                    std::nullopt, std::nullopt};
    }
  }
  return std::nullopt;
}

std::optional<Ruling> kernel_known(const Scene& scene) {
  if (scene.snapshot.kernel.is_known()) {
    return std::nullopt;
  }
  const auto& kernel = scene.snapshot.kernel;
  return Ruling{NodeState::Unknown,
                "the running kernel is unknown, because " +
                    (kernel.is_unknown() ? kernel.why().what : kernel.source() + " is not there"),
                std::nullopt, std::nullopt};
}

}  // namespace gpuskew::rules
