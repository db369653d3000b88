// The driver is loaded and the GPU is not usable: it fell off the bus, reported a fatal error, never started, or the
// driver does not take it. Only what was said since the driver was loaded counts, and not what it took back.

#include <algorithm>
#include <array>

#include "core/rules/rules.h"
#include "core/xid.h"

namespace gpuskew::rules {
namespace {

/// From the cause down to what it brings with it: the first that was said of a GPU is what is told.
constexpr std::array<KernelLogKind, 6> kFaults{
    KernelLogKind::FellOffBus, KernelLogKind::NotSupported, KernelLogKind::Xid,
    KernelLogKind::GspFailed,  KernelLogKind::InitFailed,   KernelLogKind::ProbeFailed,
};

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

/// The driver's own word on this GPU, since branch 565; null: it gave none.
const KernelLogEvent* recovery_of(const Scene& scene, const std::string& gpu) {
  for (const KernelLogEvent& event : scene.snapshot.kernel_log.value()) {
    if (event.kind == KernelLogKind::Xid && event.xid == kRecoveryXid && event.gpu == gpu) {
      return &event;
    }
  }
  return nullptr;
}

bool asks_for_recovery(std::string_view action) {
  return action.find("Reset") != std::string_view::npos || action.find("Reboot") != std::string_view::npos ||
         action.find("FLR") != std::string_view::npos;
}

bool is_fatal_xid(const KernelLogEvent& event) {
  if (event.xid == kRecoveryXid) {
    return asks_for_recovery(recovery_action(event.text));
  }
  return xid_meaning(event.xid).weight == XidWeight::Fatal;
}

/// A fault that no longer is one: reset since, handed to a virtual machine, or taken by the driver after all.
bool is_over(const Scene& scene, const KernelLogEvent& event) {
  const KernelLogEvent* recovery = event.gpu.empty() ? nullptr : recovery_of(scene, event.gpu);
  if (recovery != nullptr && recovery->last_at >= event.last_at && recovery_action(recovery->text) == "None") {
    return true;
  }
  const Gpu* gpu = gpu_at(scene, event.gpu);
  if (gpu == nullptr) {
    return false;
  }
  const bool is_about_binding = event.kind == KernelLogKind::ProbeFailed || event.kind == KernelLogKind::NotSupported;
  return is_passthrough(*gpu) || (is_about_binding && gpu->driver.is_known() && *gpu->driver == "nvidia");
}

std::vector<const KernelLogEvent*> faults_of_kind(const Scene& scene, KernelLogKind kind) {
  std::vector<const KernelLogEvent*> found;
  for (const KernelLogEvent& event : scene.snapshot.kernel_log.value()) {
    const bool counts = event.kind == kind && (kind != KernelLogKind::Xid || is_fatal_xid(event));
    if (counts && is_of_this_load(scene, event) && !is_over(scene, event)) {
      found.push_back(&event);
    }
  }
  return found;
}

bool is_among(const std::vector<std::string>& gpus, const std::string& gpu) {
  return std::find(gpus.begin(), gpus.end(), gpu) != gpus.end();
}

/// Every fault that counts, causes first.
struct Faults {
  std::vector<const KernelLogEvent*> events;
  std::vector<std::string> gpus;  ///< those named, in the order of the events
};

Faults faults_in(const Scene& scene) {
  Faults faults;
  if (!scene.snapshot.kernel_log.is_known()) {
    return faults;
  }
  for (const KernelLogKind kind : kFaults) {
    for (const KernelLogEvent* event : faults_of_kind(scene, kind)) {
      faults.events.push_back(event);
      if (!event->gpu.empty() && !is_among(faults.gpus, event->gpu)) {
        faults.gpus.push_back(event->gpu);
      }
    }
  }
  return faults;
}

/// A GSP that does not start, and the initialisation that fails for it, are one fault told twice.
bool is_same_fault(const KernelLogEvent& a, const KernelLogEvent& b) {
  const auto is_start = [](KernelLogKind kind) {
    return kind == KernelLogKind::GspFailed || kind == KernelLogKind::InitFailed;
  };
  return (a.kind == b.kind && a.xid == b.xid) || (is_start(a.kind) && is_start(b.kind));
}

/// The GPUs that the first fault was said of.
std::vector<std::string> gpus_of_first(const Faults& faults) {
  std::vector<std::string> gpus;
  for (const KernelLogEvent* event : faults.events) {
    if (!event->gpu.empty() && is_same_fault(*event, *faults.events.front()) && !is_among(gpus, event->gpu)) {
      gpus.push_back(event->gpu);
    }
  }
  return gpus;
}

/// "GPU 0000:98:00.0 (10de:2330) (1 of 8)"
std::string which(const Scene& scene, const std::vector<std::string>& gpus) {
  const auto& known = scene.snapshot.gpus;
  std::size_t total = known.is_known() ? known->size() : 0;
  for (const std::string& gpu : gpus) {
    total += gpu_at(scene, gpu) == nullptr && known.is_known() ? 1 : 0;  // named, and gone from the bus since
  }
  if (gpus.empty()) {
    return total == 1 ? "GPU " + gpu_text(scene, known->front().address) : "a GPU that the log does not name";
  }
  std::string text = "GPU " + gpu_text(scene, gpus.front());
  if (gpus.size() > 1) {
    text += " and " + std::to_string(gpus.size() - 1) + " more";
  }
  return total > 1 ? text + " (" + std::to_string(gpus.size()) + " of " + std::to_string(total) + ")" : text;
}

std::string what_happened(const Scene& scene, const Faults& faults) {
  const KernelLogEvent& event = *faults.events.front();
  const auto& loaded = scene.snapshot.loaded_driver;
  const std::string driver =
      "driver " + (event.theirs.empty() ? (loaded.is_known() ? loaded->text() : std::string("nvidia")) : event.theirs);
  switch (event.kind) {
    case KernelLogKind::FellOffBus:
      return "has fallen off the bus (Xid 79)";
    case KernelLogKind::NotSupported:
      return "is rejected by " + driver +
             ": too new or too old for it, or a virtual machine's set-up hides what it needs";
    case KernelLogKind::ProbeFailed:
      return "could not be taken by the nvidia driver: its probe failed";
    case KernelLogKind::GspFailed:
      return "failed to initialise: its System Processor (GSP) did not start";
    case KernelLogKind::InitFailed:
      return "failed to initialise (RmInitAdapter)";
    default:
      break;
  }
  if (event.xid == kRecoveryXid) {
    return "needs recovery: the driver asks for '" + std::string(recovery_action(event.text)) + "'";
  }
  return "reported " + std::string(xid_meaning(event.xid).meaning) + " (Xid " + std::to_string(event.xid) + ")";
}

void add_remedy(const Scene& scene, const Faults& faults, Finding& finding) {
  const KernelLogEvent& event = *faults.events.front();
  const std::string node = shell_word(scene.snapshot.node);
  const KernelLogEvent* recovery = event.gpu.empty() ? nullptr : recovery_of(scene, event.gpu);
  const std::string action(recovery == nullptr ? std::string_view() : recovery_action(recovery->text));
  const std::string reset =
      after_drain(scene, "sudo nvidia-smi --gpu-reset -i " + shell_word(event.gpu.empty() ? "0" : event.gpu));
  const std::string reboot = after_drain(scene, "sudo reboot");
  switch (event.kind) {
    case KernelLogKind::FellOffBus:
      finding.reboot_helps = RebootHelps::Yes;
      finding.reboot_why = "the device is found anew at boot; when it stays away it needs a power cycle, or is broken";
      finding.next_step = reboot;
      return;
    case KernelLogKind::NotSupported:
    case KernelLogKind::ProbeFailed:
      finding.reboot_helps = RebootHelps::No;
      finding.reboot_why = "the same driver meets the same GPU again";
      finding.next_step = on_node(scene, "lspci -nn -vv -d 10de:; sudo dmesg | grep -iE \"nvrm|nvidia|BAR\"");
      return;
    case KernelLogKind::Xid:
      finding.reboot_helps = RebootHelps::Yes;
      finding.reboot_why = action.empty() || action == "None"
                               ? std::string(xid_meaning(event.xid).helps) + " clears it, and so does a reboot"
                               : "the driver asks for '" + action + "'";
      finding.next_step = action.find("Reboot") != std::string::npos ? reboot : reset;
      return;
    default:
      finding.reboot_helps = RebootHelps::Unknown;
      finding.reboot_why =
          "a GPU that was left in a bad state starts again; one that is broken, or whose firmware is, does not";
      finding.next_step = on_node(scene, "sudo dmesg | grep -iE \"nvrm|xid\"; nvidia-smi -q");
      return;
  }
}

Ruling failed(const Scene& scene, const Faults& faults) {
  Time since = scene.now;
  for (const KernelLogEvent* event : faults.events) {
    since = std::min(since, said_since(scene, *event));
  }
  Finding finding = make_finding(scene, FindingCode::GpuFailed, Severity::Critical, since);
  const std::vector<std::string> first = gpus_of_first(faults);
  finding.cause = which(scene, first) + " " + what_happened(scene, faults);
  if (faults.gpus.size() > first.size()) {
    finding.cause += "; other faults on " + std::to_string(faults.gpus.size() - first.size()) + " more";
  }
  constexpr std::size_t kMaxEvidence = 8;
  for (std::size_t i = 0; i < std::min(faults.events.size(), kMaxEvidence); ++i) {
    finding.evidence.push_back(evidence_of(scene, *faults.events[i]));
  }
  const auto& loaded = scene.snapshot.loaded_driver;
  finding.evidence.push_back(
      seen(scene, loaded, loaded.is_known() ? "loaded driver: " + loaded->text() : "no nvidia module is loaded"));
  finding.evidence.push_back(gpus_evidence(scene));
  if (!faults.gpus.empty()) {
    finding.affected_gpus = faults.gpus;
  }
  add_remedy(scene, faults, finding);
  finding.consequences = {"programs on that GPU fail", "nvidia-smi may list fewer GPUs or hang"};
  std::string why = finding.cause;
  return Ruling{NodeState::Broken, std::move(why), std::move(finding), std::nullopt};
}

}  // namespace

std::optional<Ruling> device_refused(const Scene& scene) {
  Faults faults = faults_in(scene);
  const auto is_refusal = [](const KernelLogEvent* event) {
    return event->kind == KernelLogKind::NotSupported || event->kind == KernelLogKind::ProbeFailed;
  };
  if (std::none_of(faults.events.begin(), faults.events.end(), is_refusal)) {
    return std::nullopt;
  }
  return failed(scene, faults);
}

std::optional<Ruling> gpu_failed(const Scene& scene) {
  const Faults faults = faults_in(scene);
  return faults.events.empty() ? std::nullopt : std::optional(failed(scene, faults));
}

}  // namespace gpuskew::rules
