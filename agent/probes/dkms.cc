#include "agent/probes/dkms.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "agent/paths.h"
#include "agent/probes/dkms_log.h"
#include "agent/probes/module_cache.h"

namespace gpuskew {
namespace {

constexpr std::size_t kMaxDirectory = 1024;

bool is_driver(std::string_view module) {
  return is_nvidia_module_name(std::string(module) + ".ko");
}

bool starts_with_digit(std::string_view name) {
  return !name.empty() && name.front() >= '0' && name.front() <= '9';
}

// dkms takes a directory for a kernel's when its name begins with a number.
bool is_kernel_name(std::string_view name) {
  return starts_with_digit(name) && name.find('.') != std::string_view::npos;
}

class DkmsTree {
 public:
  explicit DkmsTree(const HostRoot& root) : root_(root) {}

  Result<std::vector<DkmsEntry>> read() {
    for (const auto& module : list(std::string(kDkmsTree))) {
      if (module.kind == FileKind::Directory && is_driver(module.name)) {
        read_module(module.name);
      }
    }
    if (error_) {
      return tl::unexpected(*error_);
    }
    if (entries_.size() > Snapshot::kMaxDkmsEntries) {
      return fail(ErrorCode::TooLarge, std::string(kDkmsTree) + " has more than " +
                                           std::to_string(Snapshot::kMaxDkmsEntries) + " entries of nvidia");
    }
    const auto key = [](const DkmsEntry& entry) {
      return std::tie(entry.module, entry.version, entry.kernel, entry.architecture);
    };
    std::stable_sort(entries_.begin(), entries_.end(),
                     [&key](const DkmsEntry& a, const DkmsEntry& b) { return key(a) < key(b); });
    return std::move(entries_);
  }

 private:
  std::vector<DirectoryEntry> list(const std::string& directory) {
    auto listed = entries_.size() > Snapshot::kMaxDkmsEntries ? std::vector<DirectoryEntry>()
                                                              : root_.list(directory, kMaxDirectory);
    if (!listed) {
      if (listed.error().code != ErrorCode::NotFound) {
        error_ = listed.error();
      }
      return {};
    }
    return std::move(*listed);
  }

  void read_module(const std::string& module) {
    const std::string directory = std::string(kDkmsTree) + "/" + module;
    const std::vector<DirectoryEntry> versions = list(directory);
    std::vector<std::string> installed;  // what the kernel-<release>-<arch> links lead to
    for (const auto& entry : versions) {
      if (entry.kind == FileKind::Link && entry.name.starts_with("kernel-")) {
        if (auto target = root_.read_link(directory + "/" + entry.name)) {
          installed.push_back(std::move(*target));
        }
      }
    }
    for (const auto& entry : versions) {
      if (entry.kind == FileKind::Directory && starts_with_digit(entry.name)) {
        read_version(module, entry.name, installed);
      }
    }
  }

  void read_version(const std::string& module, const std::string& version, const std::vector<std::string>& installed) {
    const std::string directory = std::string(kDkmsTree) + "/" + module + "/" + version;
    const std::size_t before = entries_.size();
    DkmsEntry entry{module, version, "", "", DkmsStage::Added, ""};
    for (const auto& kernel : list(directory)) {
      if (kernel.kind == FileKind::Directory && is_kernel_name(kernel.name)) {
        entry.kernel = kernel.name;
        read_kernel(directory + "/" + kernel.name, entry, installed);
      }
    }
    entry.kernel.clear();
    add_failed_build(directory, entry);
    const auto configuration = root_.status(directory + "/source/dkms.conf");
    if (!configuration) {
      if (configuration.error().code != ErrorCode::NotFound) {
        error_ = configuration.error();
        return;
      }
      entry.stage = DkmsStage::Broken;
      entry.note = directory + "/source/dkms.conf does not exist: dkms fails on this version and builds nothing of it";
      entries_.push_back(std::move(entry));
    } else if (entries_.size() == before) {
      entries_.push_back(std::move(entry));
    }
  }

  // <kernel>/<arch>/{module,log}
  void read_kernel(const std::string& directory, DkmsEntry entry, const std::vector<std::string>& installed) {
    for (const auto& architecture : list(directory)) {
      if (architecture.kind != FileKind::Directory) {
        continue;
      }
      entry.architecture = architecture.name;
      const std::string place = directory + "/" + architecture.name;
      const auto modules = list(place + "/module");
      const bool has_module = std::any_of(modules.begin(), modules.end(), [&](const DirectoryEntry& file) {
        return is_nvidia_module_name(file.name) && is_whole(place + "/module/" + file.name);
      });
      const std::string link = entry.version + "/" + entry.kernel + "/" + entry.architecture;
      const bool is_linked = std::any_of(installed.begin(), installed.end(), [&link](const std::string& target) {
        return target == link || target.ends_with("/" + link);
      });
      entry.note.clear();
      if (has_module) {
        entry.stage = is_linked ? DkmsStage::Installed : DkmsStage::Built;
        if (root_.status(std::string(kDkmsTree) + "/" + entry.module + "/original_module/" + entry.kernel + "/" +
                         entry.architecture)) {
          entry.note = "original_module exists";
        }
      } else if (!note_failure(place + "/log/make.log", entry)) {
        entry.stage = DkmsStage::Broken;
        entry.note = place + "/module holds no nvidia module";
      }
      entries_.push_back(entry);
    }
  }

  bool is_whole(const std::string& path) {
    const auto status = root_.status(path);
    return status && status->kind == FileKind::Regular && status->size > 0;
  }

  // true: the log says that and why this entry's build failed.
  bool note_failure(const std::string& path, DkmsEntry& entry) {
    const auto log = read_dkms_log(root_, path);
    if (!log || !*log || (*log)->error.empty()) {
      return false;
    }
    entry.stage = DkmsStage::Failed;
    entry.note = path + ": " + (*log)->error;
    return true;
  }

  // dkms leaves its build directory behind where a build did not end well.
  void add_failed_build(const std::string& directory, DkmsEntry entry) {
    const std::string path = directory + "/build/make.log";
    const auto log = read_dkms_log(root_, path);
    if (!log) {
      if (log.error().code != ErrorCode::NotFound) {
        error_ = log.error();
      }
      return;
    }
    if (!*log) {
      return;
    }
    entry.kernel = (*log)->kernel;
    entry.architecture = (*log)->architecture;
    const auto of_this_build = [&entry](const DkmsEntry& other) {
      return other.module == entry.module && other.version == entry.version && other.kernel == entry.kernel &&
             other.architecture == entry.architecture;
    };
    const auto known = std::find_if(entries_.begin(), entries_.end(), of_this_build);
    if (known != entries_.end() && (known->stage == DkmsStage::Installed || known->stage == DkmsStage::Built)) {
      return;  // a rebuild; what was built before is still there
    }
    if (known != entries_.end()) {
      entries_.erase(known);
    }
    if (!note_failure(path, entry)) {
      entry.stage = DkmsStage::Broken;
      entry.note = path + " has no end: the build still runs, or was broken off";
    }
    entries_.push_back(std::move(entry));
  }

  const HostRoot& root_;
  std::vector<DkmsEntry> entries_;
  std::optional<Error> error_;
};

}  // namespace

Fact<std::vector<DkmsEntry>> read_dkms(const HostRoot& root) {
  const std::string where(kDkmsTree);
  const auto tree = root.status(where);
  if (!tree) {
    return Fact<std::vector<DkmsEntry>>::from(tl::unexpected(tree.error()), where);
  }
  return Fact<std::vector<DkmsEntry>>::from(DkmsTree(root).read(), where);
}

}  // namespace gpuskew
