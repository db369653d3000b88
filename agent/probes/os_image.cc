#include "agent/probes/os_image.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/probes/package_names.h"

namespace gpuskew {
namespace {

struct Place {
  const char* path;
  std::string_view os;  ///< only there it means this; "" for any
};
// Where the libraries are proves that the driver is: the folder above is made by pods that only mount it.
constexpr std::array kPlaces = {
    Place{"/home/kubernetes/bin/nvidia/lib64", ""},  // Container-Optimized OS under Kubernetes, and GKE's Ubuntu
    Place{"/var/lib/nvidia/lib64", "cos"},
    Place{"/usr/lib/nvidia/tesla", "bottlerocket"},  // Debian's alternatives have such a folder, too
    Place{"/x86_64-bottlerocket-linux-gnu/sys-root/usr/lib/nvidia/tesla", ""},
    Place{"/aarch64-bottlerocket-linux-gnu/sys-root/usr/lib/nvidia/tesla", ""},
    Place{"/usr/libexec/nvidia/tesla", "bottlerocket"},
};
constexpr std::array kFlatcarFiles = {"/etc/flatcar/nvidia-metadata", "/usr/share/flatcar/nvidia-metadata"};
constexpr const char* kTalosExtensions = "/etc/extensions.yaml";
constexpr std::array<std::string_view, 4> kImageSystems = {"cos", "flatcar", "bottlerocket", "talos"};

std::string_view stripped(std::string_view text) {
  constexpr std::string_view kAround = " \t\r\"'";
  const std::size_t begin = text.find_first_not_of(kAround);
  const std::size_t end = text.find_last_not_of(kAround);
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

template <class Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string library_version(const Fact<std::vector<Library>>& libraries, std::string_view place) {
  if (libraries.is_known()) {
    for (const Library& library : *libraries) {
      if (library.path.starts_with(place)) {
        return library.version.text();
      }
    }
  }
  return {};
}

Result<void> add_places(const HostRoot& root, std::string_view os, const Fact<std::vector<Library>>& libraries,
                        InstallTraces& traces) {
  for (const auto& [place, only_on] : kPlaces) {
    if (!only_on.empty() && only_on != os) {
      continue;
    }
    const auto status = root.status(place);
    if (!status && status.error().code != ErrorCode::NotFound) {
      return tl::unexpected(status.error());
    }
    if (status && status->kind == FileKind::Directory) {
      const std::string version = library_version(libraries, place);
      traces.push_back({InstallKind::OsImage, InstallPart::KernelModule, place, version, place});
      traces.push_back({InstallKind::OsImage, InstallPart::UserSpace, place, version, place});
      return {};  // one driver, seen through several paths
    }
  }
  return {};
}

// NVIDIA_DRIVER_VERSION=525.105.17: what Flatcar's nvidia.service builds. etc/ overrides.
Result<void> add_flatcar(const HostRoot& root, InstallTraces& traces) {
  for (const char* file : kFlatcarFiles) {
    const auto text = root.read(file);
    if (!text && text.error().code != ErrorCode::NotFound) {
      return tl::unexpected(text.error());
    }
    std::string version;
    for_each_line(text ? std::string_view(*text) : "", [&version](std::string_view line) {
      constexpr std::string_view kKey = "NVIDIA_DRIVER_VERSION=";
      if (line.starts_with(kKey)) {
        version = stripped(line.substr(kKey.size()));
      }
    });
    if (is_plain_package_text(version)) {
      traces.push_back({InstallKind::OsImage, InstallPart::KernelModule, file, version, file});
      return {};
    }
  }
  return {};
}

std::optional<InstallPart> talos_part(std::string_view name) {
  if (name.starts_with("nonfree-kmod-nvidia") || name.starts_with("nvidia-open-gpu-kernel-modules")) {
    return InstallPart::KernelModule;
  }
  if (name.starts_with("nvidia-container-toolkit")) {
    return InstallPart::UserSpace;  // brings the driver's libraries, too, and is versioned by them
  }
  return name.starts_with("nvidia-fabricmanager") ? std::optional(InstallPart::FabricManager) : std::nullopt;
}

// Of each layer the metadata's first `name:` and the `version:` after it.
Result<void> add_talos(const HostRoot& root, InstallTraces& traces) {
  const auto text = root.read(kTalosExtensions);
  if (!text) {
    const bool none = text.error().code == ErrorCode::NotFound;
    return none ? Result<void>() : Result<void>(tl::unexpected(text.error()));
  }
  std::string name;
  for_each_line(*text, [&](std::string_view line) {
    line = stripped(line);
    if (line.starts_with("name:")) {
      name = stripped(line.substr(5));
    } else if (line.starts_with("version:") && !name.empty()) {
      const std::string version(stripped(line.substr(8)));
      const auto part = talos_part(name);
      if (part && is_plain_package_text(name) && is_plain_package_text(version)) {
        traces.push_back({InstallKind::OsImage, *part, name, version, kTalosExtensions});
      }
      name.clear();
    }
  });
  return {};
}

}  // namespace

Result<InstallTraces> read_os_image_traces(const HostRoot& root, const Fact<OsIdentity>& os,
                                           const Fact<std::vector<Library>>& libraries) {
  InstallTraces traces;
  auto read = add_places(root, os.is_known() ? os->id : std::string_view(), libraries, traces);
  if (read) {
    read = add_flatcar(root, traces);
  }
  if (read) {
    read = add_talos(root, traces);
  }
  return read ? Result<InstallTraces>(std::move(traces)) : tl::unexpected(read.error());
}

bool is_image_only(const OsIdentity& os) {
  return std::find(kImageSystems.begin(), kImageSystems.end(), os.id) != kImageSystems.end();
}

}  // namespace gpuskew
