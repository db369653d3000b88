#pragma once

// The cluster's nodes, in memory and up to date: what the API says of each, and which of our marks it carries.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <asio/awaitable.hpp>
#include <nlohmann/json_fwd.hpp>

#include "core/acting.h"
#include "core/kube/cluster_node.h"
#include "core/result.h"
#include "runtime/kube/client.h"
#include "runtime/kube/watch.h"

namespace gpuskew {

class Log;

class NodeWatch {
 public:
  /// More nodes than this are not looked at; said once in the log.
  static constexpr std::size_t kMaxNodes = 100'000;

  /// Both must outlive the object.
  NodeWatch(KubeClient& client, const Log& log);
  NodeWatch(const NodeWatch&) = delete;
  NodeWatch& operator=(const NodeWatch&) = delete;

  /// Until cancelled.
  asio::awaitable<Result<void>> run() { return watch_.run(); }

  /// Whether the nodes were listed once. From then on the picture is whole, and as old as the last word of the server.
  bool is_whole() const { return whole_; }
  const ClusterNodes& nodes() const { return nodes_; }
  /// Of every node in nodes().
  const NodeMarksByName& marks() const { return marks_; }
  /// Goes up with every change of what we keep of any node, and of their number.
  std::uint64_t changes() const { return changes_; }
  /// Names of nodes that were of the cluster and are not any more, until take_left() is given them.
  const std::set<std::string, std::less<>>& left() const { return left_; }
  void take_left(const std::string& name) { left_.erase(name); }
  /// Why nothing new is heard; nullopt while the watch runs.
  const std::optional<std::string>& trouble() const { return trouble_; }

  /// A Node as a write of ours got it back, which the watch would tell a moment later.
  void take(const nlohmann::json& node);

 private:
  KubeWatchEvents events();
  void begin_list();
  void end_list();
  void drop(const std::string& name);

  const Log& log_;
  ClusterNodes nodes_;
  NodeMarksByName marks_;
  /// metadata.resourceVersion as a number, by node: what the watch tells late does not undo what take() was given.
  std::map<std::string, std::uint64_t, std::less<>> versions_;
  std::set<std::string, std::less<>> left_;
  std::set<std::string, std::less<>> listed_;  ///< while a list is on its way
  bool listing_ = false;
  bool whole_ = false;
  bool told_full_ = false;
  std::uint64_t changes_ = 0;
  std::optional<std::string> trouble_;
  KubeWatch watch_;
};

}  // namespace gpuskew
