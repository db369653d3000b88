#include "agent/probes/libraries.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace gpuskew {
namespace {

constexpr const char* kDriverRoot = "/run/nvidia/driver";
constexpr std::array kLibraryNames = {"libnvidia-ml", "libcuda"};
constexpr std::array kDirectories = {
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu/nvidia/current",  // Debian, behind its alternatives
    "/usr/lib/aarch64-linux-gnu/nvidia/current",
    "/usr/lib64",
    "/usr/lib64/nvidia",
    "/usr/lib",
    "/usr/lib/nvidia/tesla",  // Bottlerocket
    "/x86_64-bottlerocket-linux-gnu/sys-root/usr/lib/nvidia/tesla",
    "/aarch64-bottlerocket-linux-gnu/sys-root/usr/lib/nvidia/tesla",
    "/opt/nvidia/lib64",                  // Flatcar
    "/home/kubernetes/bin/nvidia/lib64",  // Container-Optimized OS
    "/var/lib/nvidia/lib64",              // the same, without Kubernetes
    "/usr/local/glibc/usr/lib",           // Talos, whose own libc is another
    "/run/opengl-driver/lib",             // NixOS
};
constexpr const char* kPlainDirectory = "/usr/lib";
// Below this are no drivers with these libraries, only Jetson's own numbers (libcuda.so.1.1).
constexpr std::uint32_t kFirstBranch = 100;

class LibrarySearch {
 public:
  /// One root: the host's or the driver container's. `prefix` names it in paths.
  void search_root(const HostRoot& root, DriverRoot kind, const std::string& prefix) {
    kind_ = kind;
    prefix_ = prefix;
    for (const char* directory : kDirectories) {
      search_directory(root, directory);
    }
    // Ubuntu's older packages: /usr/lib/nvidia-384
    const auto entries = root.list(kPlainDirectory);
    if (!entries) {
      note(entries.error());
      return;
    }
    for (const auto& entry : *entries) {
      if (entry.name.starts_with("nvidia") && entry.kind != FileKind::Regular) {
        search_directory(root, std::string(kPlainDirectory) + "/" + entry.name);
      }
    }
  }

  void note(const Error& error) {
    if (error.code != ErrorCode::NotFound && !error_) {
      error_ = error;
    }
  }

  Fact<std::vector<Library>> result() && {
    if (error_) {
      return Fact<std::vector<Library>>::unknown(std::move(*error_), kPlainDirectory);
    }
    if (looked_at_.empty()) {
      return Fact<std::vector<Library>>::unknown(
          {ErrorCode::NotFound, "no library directory is there beneath the host root"}, kPlainDirectory);
    }
    if (found_.empty()) {
      return Fact<std::vector<Library>>::absent(looked_at_);
    }
    return Fact<std::vector<Library>>::known(std::move(found_), found_at_);
  }

 private:
  void search_directory(const HostRoot& root, const std::string& directory) {
    const auto status = root.status(directory);
    if (!status) {
      note(status.error());
      return;
    }
    if (status->kind != FileKind::Directory) {
      return;
    }
    append(looked_at_, prefix_ + directory);
    std::optional<std::vector<DirectoryEntry>> entries;  // listed only when a link does not answer
    for (const char* name : kLibraryNames) {
      const std::string link = directory + "/" + name + ".so.1";
      auto path = root.resolve(link);
      if (!path && path.error().code == ErrorCode::NotFound) {
        path = versioned_file(root, directory, name, entries);
        // A program asks for the link, and gets nothing however many files there are.
        if (path && root.read_link(link)) {
          path = fail(ErrorCode::Malformed,
                      prefix_ + link + " is a link that leads nowhere, though " + prefix_ + *path + " is there");
        }
      }
      if (!path) {
        note(path.error());
      } else {
        add(root, directory, name, *path);
      }
    }
  }

  // NotFound: none. Malformed: several, so that it is the loader's secret which one a program gets.
  static Result<std::string> versioned_file(const HostRoot& root, const std::string& directory, const char* name,
                                            std::optional<std::vector<DirectoryEntry>>& entries) {
    if (!entries) {
      auto listed = root.list(directory);
      if (!listed) {
        return tl::unexpected(listed.error());
      }
      entries = std::move(*listed);
    }
    const std::string stem = std::string(name) + ".so.";
    std::string only;
    for (const auto& entry : *entries) {
      if (entry.kind != FileKind::Regular || !entry.name.starts_with(stem) ||
          !DriverVersion::parse(std::string_view(entry.name).substr(stem.size()))) {
        continue;
      }
      if (!only.empty()) {
        return fail(ErrorCode::Malformed, directory + ": several versions and no " + stem + "1");
      }
      only = directory + "/" + entry.name;
    }
    return only.empty() ? Result<std::string>(fail(ErrorCode::NotFound, directory + ": no " + name)) : only;
  }

  void add(const HostRoot& root, const std::string& directory, const char* name, const std::string& path) {
    const auto status = root.status(path);
    if (!status) {
      note(status.error());
      return;
    }
    const std::pair identity(status->device, status->inode);
    if (std::find(seen_.begin(), seen_.end(), identity) != seen_.end()) {
      return;
    }
    const std::string stem = std::string(name) + ".so.";
    const std::string file = path.substr(path.rfind('/') + 1);
    const auto version = DriverVersion::parse(file.starts_with(stem) ? std::string_view(file).substr(stem.size()) : "");
    if (!version || version->branch_number() < kFirstBranch) {
      note({ErrorCode::Malformed, prefix_ + path + ": its name tells no driver version"});
      return;
    }
    if (found_.size() == Snapshot::kMaxLibraries) {
      note({ErrorCode::TooLarge, "more than " + std::to_string(Snapshot::kMaxLibraries) + " driver libraries"});
      return;
    }
    seen_.push_back(identity);
    found_.push_back({name, *version, prefix_ + path, kind_});
    append(found_at_, prefix_ + directory);
  }

  static void append(std::string& list, const std::string& directory) {
    if (list.ends_with(directory)) {
      return;
    }
    list.append(list.empty() ? "" : ", ").append(directory);
  }

  DriverRoot kind_ = DriverRoot::Host;
  std::string prefix_;
  std::vector<Library> found_;
  std::string found_at_;
  std::string looked_at_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> seen_;
  std::optional<Error> error_;
};

}  // namespace

Fact<std::vector<Library>> read_libraries(const HostRoot& root) {
  LibrarySearch search;
  search.search_root(root, DriverRoot::Host, "");
  const auto container = root.beneath(kDriverRoot);
  if (container) {
    // A root of its own: absolute links in the container's file system mean the container's files.
    search.search_root(*container, DriverRoot::Container, kDriverRoot);
  } else {
    search.note(container.error());
  }
  return std::move(search).result();
}

}  // namespace gpuskew
