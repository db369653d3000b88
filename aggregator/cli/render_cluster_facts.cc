// What the Kubernetes API says of a node that no agent speaks for: little, each with the label or field it comes from.

#include <string_view>

#include "aggregator/cli/render.h"

namespace gpuskew {
namespace {

std::string line(std::string_view name, const std::string& value) {
  constexpr std::size_t kLabelWidth = 14;
  return "  " + std::string(name) + std::string(kLabelWidth - name.size(), ' ') + value + "\n";
}

/// With its source: a label is only as good as who wrote it.
std::string fact_line(std::string_view name, const Fact<std::string>& fact, const Screen& screen) {
  const std::string source = fact.is_known() ? paint(" (" + fact.source() + ")", Style::Faint, screen) : "";
  return line(name, long_text(fact, "none") + source);
}

}  // namespace

std::string cluster_state_text(const ClusterReply& cluster) {
  const std::string ready = cluster.ready == "yes" ? "Ready" : cluster.ready == "no" ? "NotReady" : "Ready unknown";
  return ready + (cluster.unschedulable ? ", cordoned" : "");
}

std::string render_cluster_facts(const NodeReply& node, const ImageAnswer& image, const Screen& screen) {
  const ClusterReply& cluster = *node.cluster;
  std::string text = "\n";
  text += paint("facts:", Style::Bold, screen) + "\n";
  text += fact_line("kernel", node.facts.kernel, screen);
  text += fact_line("OS", node.facts.os, screen);
  text += fact_line("driver", node.facts.driver, screen);
  text += fact_line("boot", node.facts.boot_id, screen);
  text += line("node", cluster_state_text(cluster));
  text += line("GPU devices", cluster.gpu_resources.empty() ? "none offered to pods"
                                                            : joined(cluster.gpu_resources, ", ") + " allocatable");
  text += line("upgrade", cluster.upgrade_state);
  text += line("driver image", image_text(node, image));
  if (node.tag) {
    for (const std::string& note : node.tag->notes) {
      text += line("", "note: " + note);
    }
  }
  return text + line("not told", "the loaded module, its file, libraries, GPUs and the next boot: an agent reads them");
}

}  // namespace gpuskew
