#include "core/node_labels.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/label_names.h"

namespace gpuskew {
namespace {

constexpr std::string_view kCudaDriverLabels = "nvidia.com/cuda.driver*";
constexpr std::string_view kKernelVersionLabels = "feature.node.kubernetes.io/kernel-version.*";
constexpr std::string_view kOsReleaseLabels = "feature.node.kubernetes.io/system-os_release.*";

std::string both(std::string_view one, std::string_view other) {
  return std::string(one) + ", " + std::string(other);
}

/// The set being made, and what is left out of it.
struct Draft {
  NodeLabels labels;

  void leave_out(std::string keys, std::string why) {
    labels.left_out.push_back(LeftOutLabels{std::move(keys), std::move(why)});
  }
  template <class T>
  void leave_out_unknown(std::string keys, const Fact<T>& fact) {
    leave_out(std::move(keys), "unknown, because " + fact.why().what);
  }
  /// An own label; one bad value would make the API server refuse the whole set.
  void put(std::string_view key, const std::string& value) {
    if (value.empty() || !is_label_value(value)) {
      leave_out(std::string(key), in_quotes(value) + " is no label value: at most " + std::to_string(kMaxLabelValue) +
                                      " letters, digits, '-', '_' and '.', with a letter or digit at both ends");
      return;
    }
    labels.own.insert_or_assign(std::string(key), value);
  }
  void put_standard(Labels more) { labels.standard.merge(std::move(more)); }
};

void add_kernel(const Snapshot& snapshot, Draft& draft) {
  const std::string keys = both(kKernelLabel, kKernelVersionLabels);
  if (snapshot.kernel.is_unknown()) {
    draft.leave_out_unknown(keys, snapshot.kernel);
  }
  if (!snapshot.kernel.is_known()) {
    return;
  }
  draft.put_standard(kernel_labels(snapshot.kernel.value()));
  const auto label = kernel_label(snapshot.kernel.value());
  if (!label) {
    draft.leave_out(both(kKernelLabel, kNfdKernelLabel), label.error().what);
    return;
  }
  draft.put(kKernelLabel, *label);
}

void add_os(const Snapshot& snapshot, Draft& draft) {
  if (snapshot.os.is_unknown()) {
    draft.leave_out_unknown(both(kOsLabel, kOsVersionLabel) + ", " + std::string(kOsReleaseLabels), snapshot.os);
  }
  if (!snapshot.os.is_known()) {
    return;
  }
  draft.put_standard(os_labels(snapshot.os.value()));
  draft.put(kOsLabel, snapshot.os->id);
  // A rolling system has no version: that is no fact we failed to read.
  if (snapshot.os->version_id && !snapshot.os->version_id->empty()) {
    draft.put(kOsVersionLabel, *snapshot.os->version_id);
  }
}

void add_driver(const Snapshot& snapshot, Draft& draft) {
  const auto& driver = snapshot.loaded_driver;
  if (driver.is_unknown()) {
    draft.leave_out_unknown(both(kDriverVersionLabel, kDriverBranchLabel) + ", " + std::string(kCudaDriverLabels),
                            driver);
  }
  if (driver.is_known()) {
    draft.put_standard(driver_labels(driver.value()));
    draft.put(kDriverVersionLabel, driver->text());
    draft.put(kDriverBranchLabel, std::string(driver->branch()));
  }
  if (snapshot.loaded_flavour.is_unknown()) {
    draft.leave_out_unknown(std::string(kDriverFlavourLabel), snapshot.loaded_flavour);
  } else if (snapshot.loaded_flavour.is_known() && !driver.is_absent()) {
    draft.put(kDriverFlavourLabel, std::string(to_string(snapshot.loaded_flavour.value())));
  }
}

// The libnvidia-ml that programs are handed: the driver container's where one is mounted, else the host's. Several
// versions of it have no one value.
void add_library(const Snapshot& snapshot, Draft& draft) {
  const std::string key(kLibraryVersionLabel);
  if (snapshot.libraries.is_unknown()) {
    draft.leave_out_unknown(key, snapshot.libraries);
  }
  if (!snapshot.libraries.is_known()) {
    return;
  }
  const auto& container = snapshot.driver_container;
  const auto& all = snapshot.libraries.value();
  const bool has_container_library =
      std::any_of(all.begin(), all.end(), [](const Library& library) { return library.root == DriverRoot::Container; });
  if (has_container_library && container.is_unknown()) {
    draft.leave_out_unknown(key, container);
    return;
  }
  const DriverRoot root = container.is_known() && container->mounted ? DriverRoot::Container : DriverRoot::Host;
  const Library* found = nullptr;
  const DriverVersion* version = nullptr;
  for (const Library& library : all) {
    if (library.root != root || library.name != "libnvidia-ml") {
      continue;
    }
    if (found != nullptr && library.version != found->version) {
      draft.leave_out(key, "there are several: " + found->version.text() + " (" + in_quotes(found->path) + ") and " +
                               library.version.text() + " (" + in_quotes(library.path) + ")");
      return;
    }
    version = version == nullptr ? &library.version : &fuller_spelling(*version, library.version);
    found = &library;
  }
  if (version != nullptr) {
    draft.put(kLibraryVersionLabel, version->text());
  }
}

// Several installers of one module are common (a package of sources and dkms): all of their words, in one order.
void add_install_kind(const Snapshot& snapshot, Draft& draft) {
  if (snapshot.installs.is_unknown()) {
    draft.leave_out_unknown(std::string(kInstallKindLabel), snapshot.installs);
  }
  if (!snapshot.installs.is_known()) {
    return;
  }
  std::set<InstallKind> kinds;
  for (const InstallTrace& trace : snapshot.installs.value()) {
    if (trace.part == InstallPart::KernelModule) {
      kinds.insert(trace.kind);
    }
  }
  std::string words;
  for (const InstallKind kind : kinds) {
    words += (words.empty() ? "" : "_") + std::string(to_string(kind));
  }
  if (!words.empty()) {
    draft.put(kInstallKindLabel, words);
  }
}

void add_next_kernel(const Snapshot& snapshot, Draft& draft) {
  if (snapshot.next_kernel.is_unknown()) {
    draft.leave_out_unknown(std::string(kNextKernelLabel), snapshot.next_kernel);
  }
  if (!snapshot.next_kernel.is_known()) {
    return;
  }
  const auto label = kernel_label(snapshot.next_kernel->release);
  if (label) {
    draft.put(kNextKernelLabel, *label);
  } else {
    draft.leave_out(std::string(kNextKernelLabel), label.error().what);
  }
}

bool had_gpus(const Snapshot& snapshot) {
  const auto& remembered = snapshot.remembered;
  return snapshot.expected_gpus.value_or(0) > 0 || (remembered && remembered->gpu_count.value_or(0) > 0);
}

// As the gpu-operator has it: "true" on a node with a GPU, "false" only where there was one, nothing on all others.
void add_gpu_present(const Snapshot& snapshot, Draft& draft) {
  const std::string key(kGpuPresentLabel);
  if (snapshot.gpus.is_unknown()) {
    draft.leave_out_unknown(key, snapshot.gpus);
  } else if (snapshot.gpus.is_known() && !snapshot.gpus->empty()) {
    draft.put_standard({{key, "true"}});
  } else if (had_gpus(snapshot)) {
    draft.put_standard({{key, "false"}});
  }
}

void add_boot_id(const Snapshot& snapshot, Draft& draft) {
  if (snapshot.boot_id.is_unknown()) {
    draft.leave_out_unknown(std::string(kBootIdLabel), snapshot.boot_id);
  } else if (snapshot.boot_id.is_known()) {
    draft.put(kBootIdLabel, snapshot.boot_id.value());
  }
}

}  // namespace

NodeLabels node_labels(const Snapshot& snapshot, const Verdict& verdict) {
  Draft draft;
  draft.put(kStateLabel, std::string(to_string(verdict.state)));
  add_gpu_present(snapshot, draft);
  add_kernel(snapshot, draft);
  add_os(snapshot, draft);
  add_driver(snapshot, draft);
  add_library(snapshot, draft);
  add_install_kind(snapshot, draft);
  add_next_kernel(snapshot, draft);
  add_boot_id(snapshot, draft);
  return std::move(draft.labels);
}

std::string to_text(const std::vector<LeftOutLabels>& left_out) {
  std::string text;
  for (const LeftOutLabels& each : left_out) {
    text += (text.empty() ? "" : "; ") + each.keys + ": " + each.why;
  }
  return text;
}

}  // namespace gpuskew
