#pragma once

// What this replica does to the cluster, as status and metrics show it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gpuskew {

/// One kind of write to the cluster.
enum class ClusterWrite : std::uint8_t { SetCondition, DropCondition, AddTaint, RemoveTaint, Event };
inline constexpr std::array kClusterWrites = {ClusterWrite::SetCondition, ClusterWrite::DropCondition,
                                              ClusterWrite::AddTaint, ClusterWrite::RemoveTaint, ClusterWrite::Event};
/// "set-condition", ..., "event"
std::string_view to_string(ClusterWrite write);

struct WriteCounts {
  std::uint64_t done = 0;
  std::uint64_t failed = 0;  ///< they are tried again while they are still wanted
};

struct ReplicaFigures {
  bool leads = false;
  std::string identity;
  std::string leader;  ///< "" when nobody leads, or it is not known who
  bool dry_run = false;
  std::optional<std::string> fuse;     ///< why no node is tainted
  std::optional<std::string> trouble;  ///< why the cluster's nodes are not seen, or were not written to
  std::array<WriteCounts, kClusterWrites.size()> writes{};
};

}  // namespace gpuskew
