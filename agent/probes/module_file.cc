#include "agent/probes/module_file.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/paths.h"

namespace gpuskew {
namespace {

constexpr std::array<std::string_view, 2> kModuleRoots = {kModuleTrees, "/usr/lib/modules"};

// A kernel's tree has some 600 directories; the ones searched here are few.
constexpr std::size_t kMaxDirectories = 512;
constexpr std::size_t kMaxEntries = 8192;
constexpr int kMaxDepth = 4;  // extra/drivers/video/nvidia/nvidia.ko

// A link that leads nowhere is no file; one that can not be looked at is an error.
Result<bool> is_regular(const HostRoot& root, const std::string& path) {
  const auto status = root.status(path);
  if (!status) {
    return status.error().code == ErrorCode::NotFound ? Result<bool>(false) : tl::unexpected(status.error());
  }
  return status->kind == FileKind::Regular;
}

// nullopt: it names none that is there, and the walk answers.
Result<std::optional<std::string>> module_by_dependencies(const HostRoot& root, const std::string& tree,
                                                          ModuleCache& cache) {
  const auto named = cache.named_in_dependencies(root, tree + "/modules.dep");
  if (!named) {
    return tl::unexpected(named.error());
  }
  for (const std::string& name : *named) {
    std::string path = name.starts_with('/') ? name : tree + "/" + name;
    const auto is_there = is_regular(root, path);
    if (!is_there) {
      return tl::unexpected(is_there.error());
    }
    if (*is_there) {
      return path;
    }
  }
  return std::nullopt;
}

// Where a distribution may put a module that is not the kernel's own, in the order modprobe prefers them.
enum class Place : std::uint8_t { Updates, Extra, Other, KernelTree, WeakUpdates };

class ModuleWalk {
 public:
  ModuleWalk(const HostRoot& root, std::string tree) : root_(root), tree_(std::move(tree)) {}

  /// nullopt: there is none. An error when a part could not be searched that modprobe prefers to what was found, or
  /// that comes as soon.
  Result<std::optional<std::string>> find() {
    for (const auto& entry : list(tree_, Place::Updates)) {
      if (entry.kind == FileKind::Directory) {
        search_top(entry.name);
      }
    }
    const auto best = std::min_element(found_.begin(), found_.end());
    if (error_ && (best == found_.end() || error_place_ <= best->first)) {
      return tl::unexpected(*error_);
    }
    return best == found_.end() ? std::nullopt : std::optional(best->second);
  }

 private:
  void search_top(const std::string& name) {
    const std::string directory = tree_ + "/" + name;
    if (name == "build" || name == "source" || name == "vdso") {
      return;
    }
    if (name == "kernel") {
      search_kernel_tree(directory);
    } else if (name == "weak-updates") {
      search(directory, Place::WeakUpdates, kMaxDepth);
    } else if (name == "updates") {
      search(directory, Place::Updates, kMaxDepth);
    } else {
      search(directory, name == "extra" ? Place::Extra : Place::Other, kMaxDepth);
    }
  }

  // Some 600 directories of drivers: only where NVIDIA's installer and distributions' prebuilt packages put it.
  void search_kernel_tree(const std::string& kernel) {
    for (const auto& entry : list(kernel, Place::KernelTree)) {
      if (entry.kind == FileKind::Directory && entry.name.starts_with("nvidia")) {
        search(kernel + "/" + entry.name, Place::KernelTree, 2);
      }
    }
    search(kernel + "/drivers/video", Place::KernelTree, 2);
    search(kernel + "/drivers/char/drm", Place::KernelTree, 1);
  }

  void search(const std::string& directory, Place place, int depth) {
    for (const auto& entry : list(directory, place)) {
      const std::string path = directory + "/" + entry.name;
      if (entry.kind == FileKind::Directory) {
        if (depth > 1) {
          search(path, place, depth - 1);
        }
      } else if (is_nvidia_module_name(entry.name)) {
        const auto is_there = is_regular(root_, path);
        if (!is_there) {
          note(is_there.error(), place);
        } else if (*is_there) {
          found_.emplace_back(place, path);
        }
      }
    }
  }

  void note(Error error, Place place) {
    if (!error_ || place < error_place_) {
      error_ = std::move(error);
      error_place_ = place;
    }
  }

  std::vector<DirectoryEntry> list(const std::string& directory, Place place) {
    if (++directories_ > kMaxDirectories) {
      note({ErrorCode::TooLarge,
            "searching " + tree_ + ": more than " + std::to_string(kMaxDirectories) + " directories"},
           place);
      return {};
    }
    auto entries = root_.list(directory, kMaxEntries);
    if (!entries) {
      if (entries.error().code != ErrorCode::NotFound) {
        note(entries.error(), place);
      }
      return {};
    }
    return std::move(*entries);
  }

  const HostRoot& root_;
  std::string tree_;
  std::size_t directories_ = 0;
  std::vector<std::pair<Place, std::string>> found_;
  std::optional<Error> error_;  ///< of the part that comes first in modprobe's order
  Place error_place_ = Place::Updates;
};

template <class Part>
Fact<Part> part_of_file(Result<Part> part, const std::string& path) {
  return part ? Fact<Part>::known(std::move(*part), path) : Fact<Part>::unknown(std::move(part.error()), path);
}

Fact<ModuleFile> described(const HostRoot& root, const std::string& path, const std::string& tree, ModuleCache& cache) {
  ModuleIdentity identity = cache.identity(root, path);
  ModuleFile file;
  file.path = path;
  file.version = part_of_file(std::move(identity.version), path);
  file.built_for = part_of_file(std::move(identity.built_for), path);
  file.flavour = part_of_file(std::move(identity.flavour), path);
  return Fact<ModuleFile>::known(std::move(file), tree);
}

}  // namespace

Fact<ModuleFile> read_module_file(const HostRoot& root, const Fact<KernelRelease>& kernel, ModuleCache& cache) {
  if (!kernel.is_known()) {
    return Fact<ModuleFile>::unknown({ErrorCode::NotFound, "the kernel release is unknown"}, std::string(kModuleTrees));
  }
  const std::string& release = kernel->text();
  if (release.find('/') != std::string::npos || release == "." || release == "..") {
    return Fact<ModuleFile>::unknown({ErrorCode::Malformed, "the kernel release is no directory name"},
                                     std::string(kModuleTrees));
  }
  std::string looked_at;
  bool any_modules = false;
  for (const std::string_view modules : kModuleRoots) {
    const std::string tree = std::string(modules) + "/" + release;
    const auto status = root.status(tree);
    if (!status && status.error().code == ErrorCode::NotFound) {
      any_modules = any_modules || root.status(modules);
      continue;
    }
    any_modules = true;
    if (!status) {
      return Fact<ModuleFile>::unknown(status.error(), tree);
    }
    const auto named = module_by_dependencies(root, tree, cache);
    if (!named) {
      return Fact<ModuleFile>::unknown(named.error(), tree);
    }
    if (*named) {
      return described(root, **named, tree, cache);
    }
    const auto found = ModuleWalk(root, tree).find();
    if (!found) {
      return Fact<ModuleFile>::unknown(found.error(), tree);
    }
    if (*found && root.status(tree + "/modules.dep")) {
      return Fact<ModuleFile>::unknown({ErrorCode::Malformed, **found + " is there and " + tree +
                                                                  "/modules.dep does not name it: modprobe does not " +
                                                                  "find it before depmod has run"},
                                       tree);
    }
    if (*found) {
      return described(root, **found, tree, cache);
    }
    looked_at = looked_at.empty() ? tree : looked_at;
  }
  if (!any_modules) {
    return Fact<ModuleFile>::unknown(
        {ErrorCode::NotFound,
         std::string("neither ").append(kModuleRoots[0]).append(" nor ") + std::string(kModuleRoots[1]) + " is there"},
        std::string(kModuleTrees));
  }
  return Fact<ModuleFile>::absent(looked_at.empty() ? std::string(kModuleTrees) + "/" + release : looked_at);
}

}  // namespace gpuskew
