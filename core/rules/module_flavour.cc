// Which GPUs need the open modules, and which the proprietary ones. The driver says so in the log when it refuses a
// GPU; a proprietary module on a GPU that needs the open one may also say nothing at all, and then only the device's id
// tells.

#include <algorithm>

#include "core/rules/rules.h"

namespace gpuskew::rules {
namespace {

// Device ids grow with the generations, by the public lists of them (pci-ids.ucw.cz, the driver's README): Turing
// begins at 0x1e02, so what is below is Volta or older and has no GSP; Blackwell begins at 0x2900, behind Ada's 0x28ff.
constexpr std::uint16_t kFirstTuring = 0x1e00;
constexpr std::uint16_t kFirstBlackwell = 0x2900;
// GH200: Grace Hopper is driven by the open modules only, unlike other Hoppers.
constexpr std::uint16_t kGh200 = 0x2342;
constexpr std::uint16_t kGh200Hbm3e = 0x2348;

bool needs_open(const Gpu& gpu) {
  return gpu.device_id >= kFirstBlackwell || gpu.device_id == kGh200 || gpu.device_id == kGh200Hbm3e;
}

bool needs_proprietary(const Gpu& gpu) {
  return gpu.device_id != 0 && gpu.device_id < kFirstTuring;
}

std::string next_step(const Scene& scene, bool want_open) {
  const std::string node = shell_word(scene.snapshot.node);
  if (scene.snapshot.driver_container.is_known()) {
    return std::string("kubectl patch clusterpolicies.nvidia.com cluster-policy --type merge -p ") +
           "'{\"spec\":{\"driver\":{\"kernelModuleType\":\"" + (want_open ? "open" : "proprietary") + "\"}}}'";
  }
  const auto& loaded = scene.snapshot.loaded_driver;
  const auto& os = scene.snapshot.os;
  const bool is_ubuntu = os.is_known() && os->id == "ubuntu" && loaded.is_known();
  if (is_ubuntu) {
    // No older branch knows Blackwell.
    constexpr std::uint32_t kFirstBranchOfBlackwell = 570;
    const std::uint32_t branch =
        want_open ? std::max(loaded->branch_number(), kFirstBranchOfBlackwell) : loaded->branch_number();
    return on_node(scene, "sudo apt-get install nvidia-driver-" + std::to_string(branch) + (want_open ? "-open" : "") +
                              " && sudo reboot");
  }
  return on_node(scene, "modinfo -F license nvidia; lspci -nn -d 10de:");
}

Ruling wrong_flavour(const Scene& scene, std::vector<std::string> gpus, bool want_open, Time since) {
  Finding finding = make_finding(scene, FindingCode::WrongModuleFlavour, Severity::Critical, since);
  const std::string named = gpus.empty() ? "a GPU" : "GPU " + gpu_text(scene, gpus.front());
  const std::string more = gpus.size() > 1 ? " and " + std::to_string(gpus.size() - 1) + " more" : "";
  finding.cause = named + more +
                  (want_open ? " needs the open nvidia modules, and the proprietary ones are installed"
                             : " is older than Turing and needs the proprietary nvidia modules, and the "
                               "open ones are installed");
  if (!gpus.empty()) {
    finding.affected_gpus = std::move(gpus);
  }
  finding.reboot_helps = RebootHelps::No;
  finding.reboot_why = "the same modules are loaded again";
  finding.next_step = next_step(scene, want_open);
  finding.consequences = {"the driver does not drive the GPU", "nvidia-smi finds no device"};
  std::string why = finding.cause;
  return Ruling{NodeState::Broken, std::move(why), std::move(finding), std::nullopt};
}

const Gpu* gpu_at(const Scene& scene, const std::string& address) {
  if (scene.snapshot.gpus.is_known()) {
    for (const Gpu& gpu : scene.snapshot.gpus.value()) {
      if (gpu.address == address) {
        return &gpu;
      }
    }
  }
  return nullptr;
}

/// A refusal that is past: nvidia drives the GPU by now, or a virtual machine has it.
bool is_over(const Scene& scene, const KernelLogEvent& event) {
  const Gpu* gpu = gpu_at(scene, event.gpu);
  const bool is_bound = gpu != nullptr && gpu->driver.is_known() && *gpu->driver == "nvidia";
  // NeedsOpen is said of a GPU that the driver holds and does not get to work.
  return gpu != nullptr && (is_passthrough(*gpu) || (is_bound && event.kind == KernelLogKind::NotSupportedByOpen));
}

std::vector<const KernelLogEvent*> refusals_of(const Scene& scene, KernelLogKind kind) {
  std::vector<const KernelLogEvent*> found;
  if (scene.snapshot.kernel_log.is_known()) {
    for (const KernelLogEvent& event : scene.snapshot.kernel_log.value()) {
      if (event.kind == kind && is_of_this_load(scene, event) && !is_over(scene, event)) {
        found.push_back(&event);
      }
    }
  }
  return found;
}

void add_flavour_evidence(const Scene& scene, Finding& finding) {
  const auto& flavour = scene.snapshot.loaded_flavour;
  const auto& file = scene.snapshot.module_file;
  if (flavour.is_known()) {
    finding.evidence.push_back(seen(
        scene, flavour, std::string("loaded modules: ") + (*flavour == ModuleFlavour::Open ? "open" : "proprietary")));
  } else if (file.is_known() && file->flavour.is_known()) {
    finding.evidence.push_back(seen(
        scene, file->flavour, file->path + " is " + (*file->flavour == ModuleFlavour::Open ? "open" : "proprietary")));
  }
  finding.evidence.push_back(gpus_evidence(scene));
}

}  // namespace

std::optional<Ruling> flavour_refused(const Scene& scene) {
  for (const KernelLogKind kind : {KernelLogKind::NotSupportedByOpen, KernelLogKind::NeedsOpen}) {
    const auto events = refusals_of(scene, kind);
    if (events.empty()) {
      continue;
    }
    const bool want_open = kind == KernelLogKind::NeedsOpen;
    std::vector<std::string> gpus;
    std::vector<Evidence> evidence;
    for (const KernelLogEvent* event : events) {
      if (!event->gpu.empty()) {
        gpus.push_back(event->gpu);
      }
      evidence.push_back(evidence_of(scene, *event));
    }
    const Gpu* first = gpus.empty() ? nullptr : gpu_at(scene, gpus.front());
    // The same words come for a Hopper in a confidential virtual machine: it has a GSP, so the platform is at fault.
    const bool is_certain = want_open || (first != nullptr && needs_proprietary(*first));
    Ruling ruling = wrong_flavour(scene, gpus, want_open, said_since(scene, *events.front()));
    if (!is_certain) {
      ruling.finding->cause = (gpus.empty() ? std::string("a GPU") : "GPU " + gpu_text(scene, gpus.front())) +
                              " is refused by the open nvidia modules: by its id it " +
                              (first == nullptr ? "is not known" : "has a GPU System Processor") +
                              ", so the modules' flavour or the platform (a virtual machine's set-up) may be at fault";
      ruling.finding->next_step = on_node(scene, "lspci -nn -d 10de:; sudo dmesg | grep NVRM");
      ruling.why = ruling.finding->cause;
    }
    ruling.finding->evidence = std::move(evidence);
    add_flavour_evidence(scene, *ruling.finding);
    return ruling;
  }
  return std::nullopt;
}

std::optional<Ruling> module_flavour(const Scene& scene) {
  if (auto refused = flavour_refused(scene)) {
    return refused;
  }
  const auto& flavour = scene.snapshot.loaded_flavour;
  const auto& gpus = scene.snapshot.gpus;
  if (!flavour.is_known() || !gpus.is_known()) {
    return std::nullopt;
  }
  const bool is_open = *flavour == ModuleFlavour::Open;
  std::vector<std::string> wrong;
  for (const Gpu& gpu : gpus.value()) {
    if (!is_passthrough(gpu) && (is_open ? needs_proprietary(gpu) : needs_open(gpu))) {
      wrong.push_back(gpu.address);
    }
  }
  if (wrong.empty()) {
    return std::nullopt;
  }
  Ruling ruling = wrong_flavour(scene, std::move(wrong), !is_open, boot_start(scene));
  add_flavour_evidence(scene, *ruling.finding);
  return ruling;
}

}  // namespace gpuskew::rules
