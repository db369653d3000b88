// The facts of one node as `explain` ends with them: those a person asks for first, and every other one that is
// unknown.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "aggregator/cli/render.h"

namespace gpuskew {
namespace {

std::string fact_line(std::string_view name, const std::string& value) {
  constexpr std::size_t kLabelWidth = 14;
  return "  " + std::string(name) + std::string(kLabelWidth - name.size(), ' ') + value + "\n";
}

/// "8, bound to nvidia" or one address a driver where they differ.
std::string gpus_text(const NodeFacts& facts) {
  if (!facts.gpu_count.is_known()) {
    return long_text(facts.gpu_count, "none");
  }
  if (facts.gpus.empty()) {
    return facts.gpu_count.value() == "0" ? "none" : facts.gpu_count.value();
  }
  std::vector<std::pair<std::string, std::vector<std::string>>> by_driver;
  for (const GpuReply& gpu : facts.gpus) {
    const std::string driver = long_text(gpu.driver, "no driver");
    auto group = by_driver.begin();
    while (group != by_driver.end() && group->first != driver) {
      ++group;
    }
    if (group == by_driver.end()) {
      group = by_driver.insert(group, {driver, {}});
    }
    group->second.push_back(gpu.address);
  }
  std::string text = facts.gpu_count.value();
  for (const auto& [driver, addresses] : by_driver) {
    text += (by_driver.size() == 1 ? ", bound to " : "; bound to ") + driver;
    text += by_driver.size() == 1 ? "" : ": " + joined(addresses, ", ");
  }
  return text;
}

std::string driver_fact_text(const NodeFacts& facts) {
  if (facts.l4t_release.is_known()) {
    return "Jetson's own, L4T " + facts.l4t_release.value();
  }
  return long_text(facts.driver, "none loaded") +
         (facts.flavour.is_known() ? " (" + facts.flavour.value() + " module)" : "");
}

std::string not_reported_text(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kShown)));
  return joined(first, ", ") +
         (names.size() > kShown ? " and " + std::to_string(names.size() - kShown) + " more" : std::string()) +
         ": the agent is older than these facts";
}

/// What is unknown and stands in no line above, for nothing unknown may pass for fine.
std::string unread_lines(const NodeFacts& facts) {
  std::string text;
  for (const auto& [name, why] : facts.unread) {
    text += fact_line(text.empty() ? "unknown" : "", name + ", because " + why);
  }
  if (!facts.not_reported.empty()) {
    text += fact_line("not reported", not_reported_text(facts.not_reported));
  }
  return text;
}

}  // namespace

std::string image_text(const NodeReply& node, const ImageAnswer& image) {
  if (image.verdict == ImageAnswer::Verdict::NotNeeded) {
    return "none needed";
  }
  if (!node.tag) {
    return node.tag_error.value_or("no tag, and the aggregator gives no reason");
  }
  switch (image.verdict) {
    case ImageAnswer::Verdict::Exists:
      return node.tag->text + ", exists";
    case ImageAnswer::Verdict::Missing:
      return node.tag->text + ", missing in the matrix";
    case ImageAnswer::Verdict::Unknown:
    case ImageAnswer::Verdict::NotNeeded:
      break;
  }
  return node.tag->text + ", whether it exists is unknown, because " + image.why;
}

std::string render_node_facts(const NodeReply& node, const ImageAnswer& image, Time now, const Screen& screen) {
  const NodeFacts& facts = node.facts;
  const std::string agent = (facts.agent_version.empty() ? "version not told" : facts.agent_version) + ", last heard " +
                            (node.last_heard ? ago_text(*node.last_heard, now) : "never");
  const std::array<std::pair<std::string_view, std::string>, 14> lines = {{
      {"kernel", long_text(facts.kernel, "none") +
                     (facts.architecture.is_known() ? " (" + facts.architecture.value() + ")" : "")},
      {"OS", long_text(facts.os, "not named in os-release")},
      {"GPUs", gpus_text(facts)},
      {"driver", driver_fact_text(facts)},
      {"module file", long_text(facts.module_file, "none for this kernel")},
      {"next kernel", long_text(facts.next_kernel, "no boot loader's configuration")},
      {"installed by", long_text(facts.installs, "no installer known here")},
      {"libraries", long_text(facts.libraries, "none installed")},
      {"container", long_text(facts.driver_container, "no driver container")},
      {"runtime", long_text(facts.runtime, "no container runtime")},
      {"kubelet", long_text(facts.kubelet, "no kubelet")},
      {"boot", long_text(facts.boot_id, "none") + ", up since " + long_text(facts.boot_time, "an unknown time")},
      {"driver image", image_text(node, image)},
      {"agent", agent},
  }};
  std::string text = "\n";
  text += paint("facts:", Style::Bold, screen) + "\n";
  for (const auto& [name, value] : lines) {
    text += fact_line(name, value);
  }
  if (node.tag) {
    for (const std::string& note : node.tag->notes) {
      text += fact_line("", "note: " + note);
    }
  }
  return text + unread_lines(facts);
}

}  // namespace gpuskew
