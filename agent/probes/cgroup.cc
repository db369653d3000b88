// What owns a process is read from the names of the control groups on its path:
//
//   /kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0c1d_..._9e.slice/cri-containerd-<id>.scope
//   /kubepods/besteffort/pod0c1d-...-9e/<id>
//   /system.slice/containerd.service/kubepods-besteffort-pod0c1d_..._9e.slice:cri-containerd:<id>
//   /system.slice/docker-<id>.scope, /docker/<id>, /machine.slice/libpod-<id>.scope/container
//   /system.slice/gdm.service
//
// The last form of a pod is what containerd makes when the kubelet speaks systemd and containerd does not. An agent in
// a control-group namespace of its own sees paths that begin with "/../..": the names behind are the same.

#include "agent/probes/cgroup.h"

#include <algorithm>

namespace gpuskew {
namespace {

constexpr std::size_t kContainerIdSize = 64;
constexpr std::size_t kUuidSize = 36;
constexpr std::size_t kStaticPodUidSize = 32;
constexpr std::size_t kMaxUnit = 256;

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool is_container_id(std::string_view text) {
  return text.size() == kContainerIdSize && std::all_of(text.begin(), text.end(), is_hex);
}

// "0c1d7b1e-..." or, where systemd reserves the dash, "0c1d7b1e_..."; a static pod's is a hash. "" for anything else.
std::string pod_uid_of(std::string_view text) {
  std::string uid(text);
  std::replace(uid.begin(), uid.end(), '_', '-');
  if (uid.size() == kStaticPodUidSize && std::all_of(uid.begin(), uid.end(), is_hex)) {
    return uid;
  }
  if (uid.size() != kUuidSize) {
    return "";
  }
  for (std::size_t at = 0; at < uid.size(); ++at) {
    const bool dash = at == 8 || at == 13 || at == 18 || at == 23;
    if (dash ? uid[at] != '-' : !is_hex(uid[at])) {
      return "";
    }
  }
  return uid;
}

bool is_unit_name(std::string_view name) {
  // A "\" is systemd's own escape.
  const auto fits = [](char c) { return c > ' ' && c <= '~' && c != '/'; };
  return (name.ends_with(".service") || name.ends_with(".scope")) && name.size() <= kMaxUnit &&
         std::all_of(name.begin(), name.end(), fits);
}

// One name, or one of the parts of "slice:runtime:id".
void read_name(std::string_view name, CgroupOwner& owner) {
  constexpr std::string_view kSlice = ".slice";
  constexpr std::string_view kScope = ".scope";
  constexpr std::string_view kPod = "pod";
  if (is_container_id(name)) {
    owner.container_id = name;
    return;
  }
  if (name.ends_with(kScope)) {
    std::string_view stem = name.substr(0, name.size() - kScope.size());
    const std::string_view id = stem.substr(stem.rfind('-') + 1);
    if (is_container_id(id) && id.size() < stem.size()) {
      owner.container_id = id;
      return;
    }
  }
  std::string_view pod = name;
  if (name.ends_with(kSlice) && name.find("kubepods") != std::string_view::npos) {
    pod.remove_suffix(kSlice.size());
    pod.remove_prefix(pod.rfind('-') + 1);
  }
  if (pod.starts_with(kPod)) {
    if (std::string uid = pod_uid_of(pod.substr(kPod.size())); !uid.empty()) {
      owner.pod_uid = std::move(uid);
      owner.container_id.clear();  // one that stands further out holds the whole node (kind)
      return;
    }
  }
  if (is_unit_name(name)) {
    owner.unit = name;
  }
}

CgroupOwner owner_of(std::string_view path) {
  CgroupOwner owner;
  while (!path.empty()) {
    std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), name.size() + 1));
    while (!name.empty()) {
      const std::string_view part = name.substr(0, name.find(':'));
      name.remove_prefix(std::min(name.size(), part.size() + 1));
      read_name(part, owner);
    }
  }
  return owner;
}

}  // namespace

CgroupOwner parse_cgroup(std::string_view text) {
  CgroupOwner owner;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      continue;
    }
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    CgroupOwner here = owner_of(line.substr(second + 1));
    // One hierarchy may know less than another: with version 1 a process can be moved in each of them.
    if (owner.pod_uid.empty() && !here.pod_uid.empty()) {
      owner.pod_uid = std::move(here.pod_uid);
      owner.container_id = std::move(here.container_id);
    } else if (owner.container_id.empty() && owner.pod_uid.empty()) {
      owner.container_id = std::move(here.container_id);
    }
    // Only systemd's own hierarchy and the unified one name units.
    if (owner.unit.empty() && (controllers.empty() || controllers == "name=systemd")) {
      owner.unit = std::move(here.unit);
    }
  }
  if (!owner.pod_uid.empty() || !owner.container_id.empty()) {
    owner.unit.clear();
  }
  return owner;
}

}  // namespace gpuskew
