#include "core/kube/cluster_snapshot.h"

#include <array>
#include <type_traits>
#include <utility>

#include "core/facts/each_fact.h"
#include "core/label_names.h"

namespace gpuskew {
namespace {

constexpr std::string_view kKubeletKernel = "status.nodeInfo.kernelVersion";

std::string of_node(std::string_view what, const ClusterNode& node) {
  return std::string(what) + " of node " + node.name;
}

std::string label_source(std::string_view key, const ClusterNode& node) {
  return of_node("label " + std::string(key), node);
}

/// Every fact unknown. Made once: copies share the facts.
const Snapshot& nothing_told() {
  static const Snapshot kNothing = [] {
    Snapshot snapshot;
    for_each_fact(snapshot, [](const char*, auto& fact) {
      using AnyFact = std::remove_reference_t<decltype(fact)>;
      fact = AnyFact::unknown(Error{ErrorCode::Unsupported, std::string(kOnlyTheApi)}, "Kubernetes API");
    });
    return snapshot;
  }();
  return kNothing;
}

/// A label that is there and not empty.
const std::string* told(const ClusterNode& node, std::string_view key) {
  const std::string* label = node.label(key);
  return label == nullptr || label->empty() ? nullptr : label;
}

std::string names_of(const std::vector<std::string_view>& keys) {
  std::string names;
  for (const std::string_view key : keys) {
    names += (names.empty() ? "" : ", ") + std::string(key);
  }
  return names;
}

/// For a part of a tag that cannot be told; `keys` are the labels that are missing, at least one.
template <class T>
Fact<T> missing_labels(const ClusterNode& node, const std::vector<std::string_view>& keys, std::string_view rest) {
  return Fact<T>::unknown(
      Error{ErrorCode::NotFound, "node " + node.name + " has no label " + names_of(keys) + std::string(rest)},
      of_node("labels", node));
}

template <class T>
Fact<T> label_fact(const ClusterNode& node, std::string_view key, Result<T> value) {
  if (!value) {
    return Fact<T>::unknown(Error{value.error().code, "label " + std::string(key) + ": " + value.error().what},
                            label_source(key, node));
  }
  return Fact<T>::known(std::move(*value), label_source(key, node));
}

Fact<KernelRelease> kernel_of(const ClusterNode& node) {
  auto kubelets = KernelRelease::parse(node.info.kernel_version);
  for (const std::string_view key : {kKernelLabel, kNfdKernelLabel}) {
    const std::string* label = told(node, key);
    if (label == nullptr) {
      continue;
    }
    auto kernel = KernelRelease::parse(*label);
    if (kernel && kubelets && nfd_kernel_form(*kernel) == nfd_kernel_form(*kubelets)) {
      // One kernel: the kubelet has it raw, and the label can not.
      return label_fact(node, key, std::move(kubelets));
    }
    return label_fact(node, key, std::move(kernel));
  }
  if (node.info.kernel_version.empty()) {
    return missing_labels<KernelRelease>(node, {kNfdKernelLabel},
                                         ", and no " + std::string(kKubeletKernel) + " (no kubelet has joined)");
  }
  const std::string source = of_node(kKubeletKernel, node);
  return kubelets ? Fact<KernelRelease>::known(std::move(*kubelets), source)
                  : Fact<KernelRelease>::unknown(kubelets.error(), source);
}

std::string both(std::string_view a, std::string_view b) {
  return std::string(a) + " and " + std::string(b);
}

Fact<OsIdentity> os_from(const ClusterNode& node, std::string_view id_key, std::string_view version_key) {
  OsIdentity os;
  os.id = *told(node, id_key);
  os.version_id = *told(node, version_key);
  return Fact<OsIdentity>::known(std::move(os), of_node("labels " + both(id_key, version_key), node));
}

Fact<OsIdentity> os_of(const ClusterNode& node) {
  if (told(node, kOsLabel) != nullptr && told(node, kOsVersionLabel) != nullptr) {
    return os_from(node, kOsLabel, kOsVersionLabel);
  }
  std::vector<std::string_view> missing;
  for (const std::string_view key : {kNfdOsLabel, kNfdOsVersionLabel}) {
    if (told(node, key) == nullptr) {
      missing.push_back(key);
    }
  }
  if (!missing.empty()) {
    return missing_labels<OsIdentity>(node, missing, " (NFD writes it from os-release, where that has a value)");
  }
  // Ours has no version, because the node's os-release has none: another OS's may not fill the gap.
  const std::string* ours = told(node, kOsLabel);
  if (ours != nullptr && *ours != *told(node, kNfdOsLabel)) {
    return Fact<OsIdentity>::unknown(
        Error{ErrorCode::Malformed, "labels " + both(kOsLabel, kNfdOsLabel) + " name different systems"},
        of_node("labels", node));
  }
  return os_from(node, kNfdOsLabel, kNfdOsVersionLabel);
}

constexpr std::array<std::string_view, 3> kDriverParts{kCudaDriverMajorLabel, kCudaDriverMinorLabel,
                                                       kCudaDriverRevLabel};

std::string parts_source(const ClusterNode& node) {
  return of_node("labels " + std::string(kCudaDriverMajorLabel) + ", .minor and .rev", node);
}

/// GFD's older labels. An empty revision is a version of two parts; one that is not there tells nothing.
Fact<DriverVersion> driver_of_parts(const ClusterNode& node) {
  std::vector<std::string_view> missing;
  for (const std::string_view key : kDriverParts) {
    const bool may_be_empty = key == kCudaDriverRevLabel;
    if (may_be_empty ? node.label(key) == nullptr : told(node, key) == nullptr) {
      missing.push_back(key);
    }
  }
  if (!missing.empty()) {
    return missing_labels<DriverVersion>(
        node, missing, " (GFD writes it while a driver is loaded), and no " + std::string(kCudaDriverVersionLabel));
  }
  const std::string& revision = *node.label(kCudaDriverRevLabel);
  auto version = DriverVersion::parse(*told(node, kCudaDriverMajorLabel) + "." + *told(node, kCudaDriverMinorLabel) +
                                      (revision.empty() ? "" : "." + revision));
  return version ? Fact<DriverVersion>::known(std::move(*version), parts_source(node))
                 : Fact<DriverVersion>::unknown(
                       Error{version.error().code,
                             of_node("labels nvidia.com/cuda.driver.*", node) + ": " + version.error().what},
                       parts_source(node));
}

Fact<DriverVersion> driver_of(const ClusterNode& node) {
  if (const std::string* ours = told(node, kDriverVersionLabel)) {
    return label_fact(node, kDriverVersionLabel, DriverVersion::parse(*ours));
  }
  const Fact<DriverVersion> parts = driver_of_parts(node);
  const std::string* full = told(node, kCudaDriverVersionLabel);
  if (full == nullptr) {
    return parts;
  }
  Fact<DriverVersion> whole = label_fact(node, kCudaDriverVersionLabel, DriverVersion::parse(*full));
  if (whole.is_known() && parts.is_known() && !(*whole == *parts)) {
    return Fact<DriverVersion>::unknown(
        Error{ErrorCode::Malformed, label_source(kCudaDriverVersionLabel, node) + " says " + whole->text() +
                                        ", but nvidia.com/cuda.driver.{major,minor,rev} say " + parts->text()},
        of_node("labels", node));
  }
  return whole;
}

Fact<std::string> info_fact(const ClusterNode& node, std::string_view field, std::string value) {
  const std::string source = of_node("status.nodeInfo." + std::string(field), node);
  return value.empty() ? Fact<std::string>::unknown(Error{ErrorCode::NotFound, source + " is empty"}, source)
                       : Fact<std::string>::known(std::move(value), source);
}

/// Go's word as the kernel has it.
std::string machine_of(const std::string& architecture) {
  if (architecture == "amd64") {
    return "x86_64";
  }
  return architecture == "arm64" ? "aarch64" : architecture;
}

}  // namespace

Snapshot snapshot_from_cluster_node(const ClusterNode& node, Time now) {
  Snapshot snapshot = nothing_told();
  snapshot.node = node.name;
  snapshot.taken_at = now;
  snapshot.kernel = kernel_of(node);
  snapshot.os = os_of(node);
  snapshot.loaded_driver = driver_of(node);
  snapshot.architecture = info_fact(node, "architecture", machine_of(node.info.architecture));
  snapshot.boot_id = info_fact(node, "bootID", node.info.boot_id);
  if (const std::string* next = told(node, kNextKernelLabel)) {
    auto release = KernelRelease::parse(*next);
    snapshot.next_kernel = label_fact<NextKernel>(
        node, kNextKernelLabel,
        release ? Result<NextKernel>(NextKernel{std::move(*release), "label " + std::string(kNextKernelLabel)})
                : Result<NextKernel>(tl::unexpected(release.error())));
  }
  return snapshot;
}

Verdict verdict_without_agent(const ClusterNode& node, std::string_view why) {
  Verdict verdict;
  verdict.state = NodeState::Unknown;
  verdict.why = why;
  if (!gpu_sign(node)) {
    verdict.why += "; no label and no resource speaks of a GPU here";
  }
  if (const std::string* state = node.label(kStateLabel)) {
    verdict.why += "; label " + std::string(kStateLabel) + " says " + in_quotes(*state);
  }
  if (const auto trouble = gpu_trouble(node)) {
    verdict.why += "; " + *trouble;
  }
  verdict.next_boot = NextBoot{NextBootGpu::CannotTell, std::string(why), std::nullopt};
  return verdict;
}

}  // namespace gpuskew
