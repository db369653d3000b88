// Fewer GPUs than there were. A card that was taken out on purpose looks the same from here: then the operator says how
// many there are.

#include <algorithm>

#include "core/rules/rules.h"

namespace gpuskew::rules {
namespace {

std::string gpus_text(std::uint32_t number) {
  return std::to_string(number) + (number == 1 ? " GPU" : " GPUs");
}

// Those that were on the bus with the last good driver and are not now.
std::vector<std::string> missing_addresses(const Scene& scene) {
  std::vector<std::string> missing;
  if (scene.last_good == nullptr) {
    return missing;
  }
  const std::vector<Gpu>& now = scene.snapshot.gpus.value();
  for (const std::string& address : scene.last_good->gpus) {
    if (std::none_of(now.begin(), now.end(), [&address](const Gpu& gpu) { return gpu.address == address; })) {
      missing.push_back(address);
    }
  }
  return missing;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

}  // namespace

std::optional<GpuCount> known_gpus(const Scene& scene) {
  if (scene.snapshot.expected_gpus) {
    const std::uint32_t number = *scene.snapshot.expected_gpus;
    return GpuCount{number, Evidence{"expected_gpus: " + std::to_string(number), "agent.yaml", scene.snapshot.taken_at},
                    true};
  }
  if (scene.last_good != nullptr && scene.last_good->gpu_count) {
    return GpuCount{*scene.last_good->gpu_count, last_good_evidence(scene), false};
  }
  return std::nullopt;
}

std::optional<Finding> fewer_gpus(const Scene& scene) {
  const auto& gpus = scene.snapshot.gpus;
  const std::optional<GpuCount> before = known_gpus(scene);
  if (!gpus.is_known() || gpus->empty() || !before || before->number <= gpus->size()) {
    return std::nullopt;
  }
  const auto lost = before->number - static_cast<std::uint32_t>(gpus->size());
  Finding finding = make_finding(scene, FindingCode::GpuCountDrop,
                                 before->is_configured ? Severity::Critical : Severity::Warning, scene.now);
  const std::vector<std::string> missing = missing_addresses(scene);
  finding.cause = std::to_string(lost) + " of the " + gpus_text(before->number) +
                  (before->is_configured ? " this node should have" : " this node had") + (lost == 1 ? " is" : " are") +
                  " not on the PCI bus" + (missing.empty() ? "" : ": " + joined(missing));
  finding.evidence = {before->evidence, gpus_evidence(scene)};
  finding.affected_gpus = missing;
  finding.reboot_helps = RebootHelps::Unknown;
  finding.reboot_why =
      "a GPU that fell off the bus may come back with a power cycle; a card that was taken out does not";
  finding.next_step =
      on_node(scene, "lspci -nn -d 10de:; sudo dmesg | grep -iE \"pci|nvrm|xid\"") +
      (before->is_configured
           ? ""
           : "; if it was taken out on purpose: expected_gpus: " + std::to_string(gpus->size()) + " in its agent.yaml");
  finding.consequences = {"programs that ask for all " + gpus_text(before->number) + " do not start here"};
  return finding;
}

}  // namespace gpuskew::rules
