#include "core/kube/cluster_node.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/label_names.h"
#include "core/result.h"

namespace gpuskew {
namespace {

constexpr std::string_view kNvidiaPrefix = "nvidia.com/";
constexpr std::string_view kPciPrefix = "feature.node.kubernetes.io/pci-";
constexpr std::string_view kPresentSuffix = ".present";
constexpr std::string_view kNvidiaVendor = "10de";

constexpr std::string_view kOstreeLabel = "feature.node.kubernetes.io/system-os_release.OSTREE_VERSION";

constexpr std::array<std::string_view, 10> kStandardLabels{
    kGpuPresentLabel, kCudaDriverMajorLabel, kCudaDriverMinorLabel, kCudaDriverRevLabel, kCudaDriverVersionLabel,
    kNfdKernelLabel,  kNfdOsLabel,           kNfdOsVersionLabel,    kOstreeLabel,        kUpgradeStateLabel};

/// NFD's label of a PCI device by what its configuration puts into it: vendor ("10de"), class and vendor
/// ("0302_10de"), vendor and device ("10de_2237"), or all of them. A class alone tells no vendor. The default
/// configuration labels display controllers and accelerators only, never bridges.
bool is_nvidia_pci_label(std::string_view key) {
  if (!key.starts_with(kPciPrefix) || !key.ends_with(kPresentSuffix)) {
    return false;
  }
  key.remove_prefix(kPciPrefix.size());
  key.remove_suffix(kPresentSuffix.size());
  const std::string_view first = key.substr(0, key.find('_'));
  if (first == kNvidiaVendor) {
    return true;
  }
  // Display controllers: base class 03.
  return first.starts_with("03") && key.substr(first.size()).starts_with("_10de");
}

bool is_true(const std::string* label) {
  return label != nullptr && *label == "true";
}

std::string number_text(const std::optional<std::uint64_t>& number) {
  return number ? std::to_string(*number) : "an unknown number";
}

/// As kernels are compared: both in the form that a label can hold.
std::string kernel_form(std::string_view text) {
  const auto kernel = KernelRelease::parse(text);
  return kernel ? nfd_kernel_form(*kernel) : std::string(text);
}

void note_kernel(const ClusterNode& node, std::string_view key, std::vector<std::string>& notes) {
  const std::string* label = node.label(key);
  const std::string& kubelets = node.info.kernel_version;
  if (label == nullptr || kubelets.empty() || kernel_form(*label) == kernel_form(kubelets)) {
    return;
  }
  notes.push_back("label " + std::string(key) + " says " + in_quotes(*label) +
                  ", but status.nodeInfo.kernelVersion says " + in_quotes(kubelets) +
                  ": the kubelet's is the newer word, the label may be stale");
}

/// A CoreOS names its build in PRETTY_NAME, which is what the kubelet tells.
void note_ostree(const ClusterNode& node, std::vector<std::string>& notes) {
  const std::string* build = node.label(kOstreeLabel);
  const std::string& image = node.info.os_image;
  if (build == nullptr || build->empty() || image.find("CoreOS") == std::string::npos ||
      image.find(*build) != std::string::npos) {
    return;
  }
  notes.push_back("label " + std::string(kOstreeLabel) + " says " + in_quotes(*build) +
                  ", but status.nodeInfo.osImage says " + in_quotes(image) +
                  ": the kubelet's is the newer word, the label may be stale");
}

/// Our own label beside another writer's.
void note_differing(const ClusterNode& node, std::string_view own, std::string_view other,
                    std::vector<std::string>& notes) {
  const std::string* ours = node.label(own);
  const std::string* theirs = node.label(other);
  if (ours != nullptr && theirs != nullptr && *ours != *theirs) {
    notes.push_back("label " + std::string(own) + " says " + in_quotes(*ours) + ", but " + std::string(other) +
                    " says " + in_quotes(*theirs));
  }
}

/// Of every resource of the device plugin: under MIG or sharing nvidia.com/gpu itself is rightly 0. Counts that are no
/// counts make it nullopt.
std::optional<std::uint64_t> sum_of(const ClusterNode& node, std::optional<std::uint64_t> ClusterResource::*part) {
  std::uint64_t sum = 0;
  for (const auto& [name, resource] : node.gpu_resources) {
    if (!(resource.*part)) {
      return std::nullopt;
    }
    sum += *(resource.*part);
  }
  return sum;
}

}  // namespace

std::string_view to_string(NodeReady ready) {
  switch (ready) {
    case NodeReady::Yes:
      return "yes";
    case NodeReady::No:
      return "no";
    case NodeReady::Unknown:
      break;
  }
  return "unknown";
}

const std::string* ClusterNode::label(std::string_view key) const {
  const auto found = labels.find(key);
  return found == labels.end() ? nullptr : &found->second;
}

bool is_wanted_label(std::string_view key) {
  return key.starts_with(kOwnLabelPrefix) || is_nvidia_pci_label(key) ||
         std::find(kStandardLabels.begin(), kStandardLabels.end(), key) != kStandardLabels.end();
}

bool is_gpu_resource(std::string_view name) {
  return name.starts_with(kNvidiaPrefix);
}

std::optional<std::string> gpu_sign(const ClusterNode& node) {
  if (is_true(node.label(kGpuPresentLabel))) {
    return "label " + std::string(kGpuPresentLabel) + "=true";
  }
  if (node.label(kDriverVersionLabel) != nullptr) {
    return "label " + std::string(kDriverVersionLabel);
  }
  const std::string* state = node.label(kStateLabel);
  if (state != nullptr && *state != "no-gpu" && *state != "not-judged") {
    return "label " + std::string(kStateLabel) + "=" + in_quotes(*state);
  }
  for (const auto& [name, resource] : node.gpu_resources) {
    if (resource.capacity != 0U || resource.allocatable != 0U) {
      return "resource " + name;
    }
  }
  for (const auto& [key, value] : node.labels) {
    if (is_nvidia_pci_label(key) && value == "true") {
      return "label " + key;
    }
  }
  return std::nullopt;
}

std::string upgrade_state(const ClusterNode& node) {
  const std::string* state = node.label(kUpgradeStateLabel);
  return state == nullptr || state->empty() ? "none" : *state;
}

std::optional<std::string> gpu_trouble(const ClusterNode& node) {
  if (node.ready != NodeReady::Yes || !gpu_sign(node)) {
    return std::nullopt;
  }
  if (node.gpu_resources.empty()) {
    return "Ready, with signs of a GPU, but the node offers no nvidia.com resource: no pod can get a GPU here (no "
           "device "
           "plugin, or no driver)";
  }
  const auto healthy = sum_of(node, &ClusterResource::allocatable);
  const auto all = sum_of(node, &ClusterResource::capacity);
  if (healthy == 0U) {
    return "Ready, but none of " + number_text(all) +
           " GPU devices can be given to a pod (status.allocatable is 0): all are unhealthy, or the device plugin has "
           "stopped";
  }
  if (healthy && all && *healthy < *all) {
    return std::to_string(*all - *healthy) + " of " + std::to_string(*all) +
           " GPU devices are unhealthy (status.allocatable is " + std::to_string(*healthy) +
           "); a GPU that fell off the bus keeps pods from the others, too";
  }
  return std::nullopt;
}

std::vector<std::string> contradictions(const ClusterNode& node) {
  std::vector<std::string> notes;
  note_kernel(node, kKernelLabel, notes);
  note_kernel(node, kNfdKernelLabel, notes);
  note_ostree(node, notes);
  note_differing(node, kKernelLabel, kNfdKernelLabel, notes);
  note_differing(node, kOsLabel, kNfdOsLabel, notes);
  note_differing(node, kOsVersionLabel, kNfdOsVersionLabel, notes);
  note_differing(node, kDriverVersionLabel, kCudaDriverVersionLabel, notes);
  if (auto trouble = gpu_trouble(node)) {
    notes.push_back(std::move(*trouble));
  }
  return notes;
}

}  // namespace gpuskew
