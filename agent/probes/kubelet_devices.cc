#include "agent/probes/kubelet_devices.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <istream>
#include <streambuf>
#include <string_view>
#include <utility>

namespace gpuskew {
namespace {

// Device plugins meet the kubelet beneath its default root wherever its own is (the path is a constant of their API);
// MicroK8s moves the whole of it. RKE2, k3s and Talos have the default.
constexpr std::array<const char*, 3> kRoots{
    "/var/lib/kubelet",
    "/var/snap/microk8s/common/var/lib/kubelet",
    "/var/lib/k0s/kubelet",
};

constexpr const char* kState = "/var/lib";

constexpr std::size_t kReadBlock = 16u << 10;

/// A host's file as a stream, up to kMaxCheckpoint, in blocks.
class HostFileBuffer : public std::streambuf {
 public:
  explicit HostFileBuffer(const HostFile& file) : file_(file) {}
  /// Why the stream ended before the file did.
  const std::optional<Error>& error() const { return error_; }

 private:
  int_type underflow() override {
    auto block = file_.read_at(offset_, kReadBlock);
    if (!block) {
      error_ = block.error();
      return traits_type::eof();
    }
    offset_ += block->size();
    if (offset_ > kMaxCheckpoint) {
      error_ = Error{ErrorCode::TooLarge, "more than " + std::to_string(kMaxCheckpoint) + " bytes"};
      return traits_type::eof();
    }
    if (block->empty()) {
      return traits_type::eof();
    }
    block_ = std::move(*block);
    setg(block_.data(), block_.data(), block_.data() + block_.size());
    return traits_type::to_int_type(block_.front());
  }

  const HostFile& file_;
  std::uint64_t offset_ = 0;
  std::string block_;
  std::optional<Error> error_;
};

// "nvidia-gpu.sock", "nvidia-mig-1g.10gb.sock", and GKE's "nvidiaGPU-1700000000.sock".
bool is_plugin_socket(const DirectoryEntry& entry) {
  return entry.kind == FileKind::Other && entry.name.starts_with("nvidia") && entry.name.ends_with(".sock");
}

template <class T>
void cut(std::vector<T>& items) {
  items.resize(std::min(items.size(), KubeletDevices::kMaxItems));
}

}  // namespace

// A file that is not there holds nothing: a kubelet that never gave a device away has not written it.
const Result<KubeletGrants>& KubeletCache::read_file(const HostRoot& root, const std::string& path, Parse parse,
                                                     CachedFile& cache) {
  const auto file = root.open_file(path);
  const auto status = file ? file->status() : Result<FileStatus>(tl::unexpected(file.error()));
  if (status && cache.path == path && cache.status == *status) {
    return cache.grants;
  }
  cache.path = path;
  cache.status = std::nullopt;
  if (!status) {
    const bool missing = status.error().code == ErrorCode::NotFound;
    cache.grants = missing ? Result<KubeletGrants>(KubeletGrants{}) : tl::unexpected(status.error());
    return cache.grants;
  }
  HostFileBuffer buffer(*file);
  std::istream stream(&buffer);
  cache.grants = parse(stream);
  if (!cache.grants) {
    cache.grants = fail("reading " + path, buffer.error().value_or(cache.grants.error()));
  }
  cache.status = *status;
  return cache.grants;
}

Fact<KubeletDevices> KubeletCache::read(const HostRoot& root) {
  using Devices = Fact<KubeletDevices>;
  pods_.clear();
  for (const char* kubelet : kRoots) {
    const std::string directory = std::string(kubelet) + "/device-plugins";
    const auto entries = root.list(directory);
    if (!entries && entries.error().code == ErrorCode::NotFound) {
      continue;
    }
    if (!entries) {
      return Devices::unknown(entries.error(), directory);
    }
    const auto& checkpoint =
        read_file(root, directory + "/kubelet_internal_checkpoint", &parse_device_checkpoint, checkpoint_);
    const auto& claims = read_file(root, std::string(kubelet) + "/dra_manager_state", &parse_claim_state, claims_);
    if (!checkpoint || !claims) {
      return Devices::unknown(checkpoint ? claims.error() : checkpoint.error(), directory);
    }
    KubeletDevices devices;
    for (const DirectoryEntry& entry : *entries) {
      if (is_plugin_socket(entry)) {
        devices.sockets.push_back(entry.name);
      }
    }
    devices.registered = checkpoint->registered;
    devices.pods = checkpoint->pods;
    devices.pods.insert(devices.pods.end(), claims->pods.begin(), claims->pods.end());
    for (const PodDevices& pod : devices.pods) {
      pods_.insert(pod.pod_uid);
    }
    cut(devices.sockets);
    cut(devices.registered);
    cut(devices.pods);
    return Devices::known(std::move(devices), directory);
  }
  // A mount of the host's / without what is mounted below it shows no /var, or an empty one.
  const auto state = root.list(kState);
  if (!state || state->empty()) {
    return Devices::unknown(
        state ? Error{ErrorCode::NotFound, std::string(kState) + " is empty, as where it is not mounted"}
              : state.error(),
        kState);
  }
  return Devices::absent(std::string(kRoots[0]) + "/device-plugins");
}

}  // namespace gpuskew
