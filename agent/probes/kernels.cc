#include "agent/probes/kernels.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "agent/paths.h"
#include "agent/probes/grub.h"
#include "agent/probes/kernel_image.h"
#include "agent/probes/loader_entry.h"
#include "agent/probes/module_file.h"
#include "agent/probes/version_order.h"

namespace gpuskew {
namespace {

constexpr std::array<std::string_view, 2> kModuleRoots = {kModuleTrees, "/usr/lib/modules"};
constexpr const char* kOstreeMark = "/run/ostree-booted";
constexpr std::size_t kMaxUnifiedImages = 64;

// lib/modules holds other things, too (RHEL's kabi-*): a release begins with its number.
std::optional<KernelRelease> release_of(std::string_view name) {
  auto release = KernelRelease::parse(name);
  return release && !release->numbers().empty() ? std::optional(std::move(*release)) : std::nullopt;
}

class KernelSearch {
 public:
  explicit KernelSearch(const HostRoot& root) : root_(root) {}

  /// An error where a part could not be searched: a kernel missing here would be a wrong answer.
  std::optional<Error> search() {
    search_trees();
    search_boot();
    for (const std::string_view partition : kBootPartitions) {
      search_entries(std::string(partition));
      search_unified(std::string(partition));
    }
    if (!error_ && !any_place_) {
      error_ = Error{ErrorCode::NotFound, "neither /lib/modules nor /usr/lib/modules nor /boot is there"};
    }
    return error_;
  }

  std::vector<InstalledKernel> found() {
    std::vector<InstalledKernel> kernels;
    for (auto& [text, kernel] : kernels_) {
      kernels.push_back(std::move(kernel));
    }
    std::stable_sort(kernels.begin(), kernels.end(), [](const InstalledKernel& a, const InstalledKernel& b) {
      return uapi_order(a.release.text(), b.release.text()) < 0;
    });
    return kernels;
  }

 private:
  InstalledKernel& kernel(KernelRelease release) {
    const std::string text = release.text();
    return kernels_.try_emplace(text, InstalledKernel{std::move(release), false, false, {}}).first->second;
  }

  std::vector<DirectoryEntry> list(const std::string& directory) {
    auto listed = root_.list(directory);
    if (!listed) {
      if (listed.error().code != ErrorCode::NotFound) {
        error_ = listed.error();
      }
      return {};
    }
    return std::move(*listed);
  }

  void search_trees() {
    for (const std::string_view place : kModuleRoots) {
      const std::string modules(place);
      any_place_ = any_place_ || root_.status(modules);
      for (const auto& entry : list(modules)) {
        const auto release = entry.kind == FileKind::Directory ? release_of(entry.name) : std::nullopt;
        if (!release) {
          continue;
        }
        InstalledKernel& found = kernel(*release);
        const std::string tree = modules + "/" + entry.name;
        found.has_image = found.has_image || root_.status(tree + "/vmlinuz");
        found.has_headers = found.has_headers || root_.status(tree + "/build/Makefile");
      }
    }
  }

  void add_image(const std::string& path) {
    if (const auto release = read_image_release(root_, path)) {
      kernel(*release).has_image = true;
    }
  }

  void search_boot() {
    const std::string boot(kBootPartitions.front());
    any_place_ = any_place_ || root_.status(boot);
    for (const auto& entry : list(boot)) {
      if (entry.kind != FileKind::Directory && is_image_name(entry.name)) {
        add_image(boot + "/" + entry.name);
      }
    }
  }

  void search_entries(const std::string& partition) {
    const auto entries = read_loader_entries(root_, partition);
    if (!entries) {
      if (entries.error().code != ErrorCode::NotFound) {
        error_ = entries.error();
      }
      return;
    }
    for (const LoaderEntry& entry : *entries) {
      if (entry.kernel.find("rescue") != std::string::npos || entry.kernel.empty()) {
        continue;
      }
      const std::string on_partition = partition + (entry.kernel.starts_with('/') ? "" : "/") + entry.kernel;
      add_image(root_.status(on_partition) ? on_partition : image_beneath(root_, entry.kernel));
    }
  }

  void search_unified(const std::string& partition) {
    const std::string directory = partition + "/EFI/Linux";
    std::size_t count = 0;
    for (const auto& entry : list(directory)) {
      if (entry.kind == FileKind::Directory || ++count > kMaxUnifiedImages) {
        continue;
      }
      if (const auto image = read_unified_image(root_, directory + "/" + entry.name)) {
        kernel(image->release).has_image = true;
      }
    }
  }

  const HostRoot& root_;
  std::map<std::string, InstalledKernel> kernels_;
  std::optional<Error> error_;
  bool any_place_ = false;
};

Fact<ModuleFile> of_other_deployment() {
  return Fact<ModuleFile>::unknown(
      {ErrorCode::Unsupported, "its modules are in another ostree deployment than the running one"},
      std::string(kModuleTrees));
}

}  // namespace

Fact<std::vector<InstalledKernel>> read_kernels(const HostRoot& root, ModuleCache& cache) {
  using Kernels = Fact<std::vector<InstalledKernel>>;
  const std::string where(kModuleTrees);
  KernelSearch search(root);
  if (auto error = search.search()) {
    return Kernels::unknown(std::move(*error), where);
  }
  std::vector<InstalledKernel> kernels = search.found();
  if (kernels.size() > Snapshot::kMaxKernels) {
    return Kernels::unknown(
        {ErrorCode::TooLarge, "more than " + std::to_string(Snapshot::kMaxKernels) + " kernels are installed"}, where);
  }
  const bool is_ostree = root.status(kOstreeMark).has_value();
  // The newest first, because unpacking modules has a budget.
  for (auto kernel = kernels.rbegin(); kernel != kernels.rend(); ++kernel) {
    const auto release = Fact<KernelRelease>::known(kernel->release, where);
    kernel->module_file = read_module_file(root, release, cache);
    const bool has_tree = std::any_of(kModuleRoots.begin(), kModuleRoots.end(), [&](std::string_view place) {
      return root.status(std::string(place) + "/" + kernel->release.text()).has_value();
    });
    if (is_ostree && !has_tree) {
      kernel->module_file = of_other_deployment();
    }
  }
  return Kernels::known(std::move(kernels), where);
}

Fact<std::vector<InstalledKernel>> without_modules_of(const NextKernel& next,
                                                      const Fact<std::vector<InstalledKernel>>& kernels) {
  std::vector<InstalledKernel> changed = *kernels;
  for (InstalledKernel& kernel : changed) {
    if (kernel.release == next.release) {
      kernel.module_file = of_other_deployment();
    }
  }
  return Fact<std::vector<InstalledKernel>>::known(std::move(changed), kernels.source());
}

}  // namespace gpuskew
