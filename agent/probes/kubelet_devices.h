#pragma once

#include <optional>
#include <set>
#include <string>

#include "agent/host_root.h"
#include "agent/probes/kubelet_checkpoint.h"
#include "core/fact.h"
#include "core/facts/kubelet.h"

namespace gpuskew {

/// A larger file is not read: its fact is unknown. With 250 pods a checkpoint has some 600 KB.
inline constexpr std::size_t kMaxCheckpoint = 2u << 20;

/// The kubelet's device-plugin directory, its checkpoint and its claims, beneath the kubelet's root: the usual one, or
/// those of MicroK8s and k0s. Reads a file again only when it changed.
class KubeletCache {
 public:
  /// Absent: no device-plugin directory, so no kubelet has run here. Unknown when any of its files can not be read.
  Fact<KubeletDevices> read(const HostRoot& root);
  /// All of them, also those the fact has no room for. As of the last read; empty where that was not known.
  const std::set<std::string>& pods_with_devices() const { return pods_; }

 private:
  using Parse = Result<KubeletGrants> (*)(std::istream&);
  struct CachedFile {
    std::string path;
    std::optional<FileStatus> status;  ///< of the file `grants` was read from
    Result<KubeletGrants> grants;
  };
  static const Result<KubeletGrants>& read_file(const HostRoot& root, const std::string& path, Parse parse,
                                                CachedFile& cache);

  CachedFile checkpoint_;
  CachedFile claims_;
  std::set<std::string> pods_;
};

}  // namespace gpuskew
