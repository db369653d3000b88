#include <algorithm>
#include <string>

#include "core/rules/rules.h"

namespace gpuskew::rules {
namespace {

constexpr std::string_view kPlainInShell = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.+,:/@%";

// "2 bound to nouveau, 1 to no driver" in a stable order.
std::string bound_summary(const std::vector<Gpu>& gpus) {
  std::map<std::string, std::size_t> count;
  for (const Gpu& gpu : gpus) {
    if (gpu.driver.is_known()) {
      ++count[gpu.driver.value()];
    } else {
      ++count[gpu.driver.is_absent() ? "no driver" : "an unknown driver (" + gpu.driver.why().what + ")"];
    }
  }
  std::string text;
  for (const auto& [driver, number] : count) {
    text += (text.empty() ? "" : ", ") + std::to_string(number) + " bound to " + driver;
  }
  return text;
}

}  // namespace

Time boot_start(const Scene& scene) {
  // A clock that was wrong at boot gives a boot time in the future, where the first report is the better witness, or
  // one in the past, which the last word from the boot before refutes.
  Time start = std::min(scene.history.boot_first_seen, scene.now);
  if (scene.snapshot.boot_time.is_known() && scene.snapshot.boot_time.value() <= scene.now) {
    start = scene.snapshot.boot_time.value();
  }
  const LastGood* good = scene.last_good;
  const bool of_another_boot = good != nullptr && scene.snapshot.boot_id.is_known() && !good->boot_id.empty() &&
                               good->boot_id != scene.snapshot.boot_id.value();
  return of_another_boot ? std::max(start, std::min(good->at, scene.now)) : start;
}

bool good_in_this_boot(const Scene& scene) {
  return scene.last_good != nullptr && scene.snapshot.boot_id.is_known() && !scene.last_good->boot_id.empty() &&
         scene.last_good->boot_id == scene.snapshot.boot_id.value();
}

bool is_passthrough(const Gpu& gpu) {
  if (!gpu.driver.is_known()) {
    return false;
  }
  // vfio-pci and the vendor variants of it (nvgrace_gpu_vfio_pci, nvidia-vgpu-vfio).
  const std::string& driver = gpu.driver.value();
  return driver.find("vfio") != std::string::npos || driver == "pci-stub" || driver == "xen-pciback";
}

Finding make_finding(const Scene& scene, FindingCode code, Severity severity, Time natural_since) {
  Finding finding;
  finding.code = code;
  finding.severity = severity;
  finding.node = scene.snapshot.node;
  const auto open = scene.history.open_since.find(code);
  finding.since = open == scene.history.open_since.end() ? std::min(natural_since, scene.now) : open->second;
  if (scene.snapshot.gpus.is_known()) {
    for (const Gpu& gpu : scene.snapshot.gpus.value()) {
      if (!is_passthrough(gpu)) {
        finding.affected_gpus.push_back(gpu.address);
      }
    }
  }
  return finding;
}

Evidence last_good_evidence(const Scene& scene) {
  const LastGood& good = *scene.last_good;
  std::string text = "driver " + good.driver.text() + " was loaded on " + good.kernel.text();
  if (good.gpu_count) {
    text += " with " + std::to_string(*good.gpu_count) + (*good.gpu_count == 1 ? " GPU" : " GPUs");
  }
  if (!good.boot_id.empty()) {
    text += " (boot " + good.boot_id + ")";
  }
  return Evidence{std::move(text), "last good state", good.at};
}

std::string kernel_text(const Scene& scene) {
  return scene.snapshot.kernel.is_known() ? scene.snapshot.kernel->text() : "a kernel that could not be read";
}

Evidence gpus_evidence(const Scene& scene) {
  const auto& gpus = scene.snapshot.gpus;
  if (gpus.is_unknown()) {
    return seen(scene, gpus, "the GPUs on the PCI bus are unknown, because " + gpus.why().what);
  }
  const std::size_t number = gpus.is_known() ? gpus->size() : 0;
  std::string text = std::to_string(number) + (number == 1 ? " NVIDIA GPU" : " NVIDIA GPUs") + " on the PCI bus";
  if (number > 0) {
    text += ": " + bound_summary(gpus.value());
  }
  return seen(scene, gpus, std::move(text));
}

bool is_of_this_load(const Scene& scene, const KernelLogEvent& event) {
  const auto& log = scene.snapshot.kernel_log;
  return std::none_of(log->begin(), log->end(), [&event](const KernelLogEvent& other) {
    return other.kind == KernelLogKind::DriverLoaded && other.last_at > event.last_at;
  });
}

const KernelLogEvent* log_event(const Scene& scene, KernelLogKind kind) {
  const auto& log = scene.snapshot.kernel_log;
  const KernelLogEvent* newest = nullptr;
  if (!log.is_known()) {
    return newest;
  }
  for (const KernelLogEvent& event : log.value()) {
    if (event.kind == kind && is_of_this_load(scene, event) &&
        (newest == nullptr || event.last_at >= newest->last_at)) {
      newest = &event;
    }
  }
  return newest;
}

Time said_since(const Scene& scene, const KernelLogEvent& event) {
  Time since = event.first_at;
  for (const KernelLogEvent& other : scene.snapshot.kernel_log.value()) {
    if (other.kind == KernelLogKind::DriverLoaded) {
      since = std::max(since, other.last_at);
    }
  }
  return std::min(since, event.last_at);
}

Evidence evidence_of(const Scene& scene, const KernelLogEvent& event) {
  std::string text = event.text;
  if (event.count > 1) {
    text += " (" + std::to_string(event.count) + " times since " + to_rfc3339(event.first_at) + ")";
  }
  return Evidence{std::move(text), scene.snapshot.kernel_log.source(), event.last_at};
}

std::optional<Evidence> log_evidence(const Scene& scene, KernelLogKind kind) {
  const KernelLogEvent* event = log_event(scene, kind);
  return event == nullptr ? std::nullopt : std::optional(evidence_of(scene, *event));
}

std::string gpu_text(const Scene& scene, const std::string& address) {
  const auto& gpus = scene.snapshot.gpus;
  if (gpus.is_known()) {
    for (const Gpu& gpu : gpus.value()) {
      if (gpu.address == address) {
        constexpr std::string_view kHex = "0123456789abcdef";
        std::string id;
        for (int shift = 12; shift >= 0; shift -= 4) {
          id += kHex[(gpu.device_id >> shift) & 0xf];
        }
        return address + " (10de:" + id + ")";
      }
    }
  }
  return address;
}

bool runs_another_kernel(const Scene& scene) {
  return scene.last_good != nullptr && scene.snapshot.kernel.is_known() &&
         !(scene.last_good->kernel == scene.snapshot.kernel.value());
}

Result<ImageNeed> image_need(const Scene& scene) {
  const auto tag = node_tag(scene.snapshot, scene.history, scene.policy.tag);
  if (!tag) {
    return tl::unexpected(tag.error());
  }
  ImageNeed need{tag->text, std::nullopt};
  if (scene.matrix != nullptr) {
    need.exists = scene.matrix->contains(*tag);
  }
  return need;
}

std::string shell_word(std::string_view text) {
  if (!text.empty() && text.find_first_not_of(kPlainInShell) == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

bool container_at_work(const Scene& scene) {
  return scene.snapshot.driver_container.is_known() || (scene.last_good != nullptr && scene.last_good->from_container);
}

std::string on_node(const Scene& scene, const std::string& command, Terminal terminal) {
  // `gpuskew-agent check` on a node whose name is not known: the command is for this very machine.
  if (scene.snapshot.node.empty()) {
    return command;
  }
  const bool is_plain = command.find_first_not_of(std::string(kPlainInShell) + ' ') == std::string::npos;
  return (terminal == Terminal::Yes ? "ssh -t " : "ssh ") + shell_word(scene.snapshot.node) + " " +
         (is_plain ? command : shell_word(command));
}

std::string after_drain(const Scene& scene, const std::string& command) {
  if (scene.snapshot.node.empty()) {
    return command;
  }
  return "kubectl drain " + shell_word(scene.snapshot.node) + " --ignore-daemonsets && " + on_node(scene, command);
}

std::string kernel_word(const Scene& scene) {
  return scene.snapshot.kernel.is_known() ? shell_word(scene.snapshot.kernel->text()) : "\"$(uname -r)\"";
}

}  // namespace gpuskew::rules
