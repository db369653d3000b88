#pragma once

// Labels by server-side apply on this agent's own Node. Needs `get` and `patch` on it, nothing else.
//
// One round: read the Node's metadata; plan (agent/label_plan.h); apply what differs, not forced; where another has
// taken a standard key since, read again and leave it. Only an own key that another has written is forced, in an apply
// that the server takes for the very version of the Node that was read.

#include <memory>
#include <string>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include "agent/label_plan.h"
#include "core/node_labels.h"
#include "core/result.h"
#include "runtime/kube/access.h"

namespace gpuskew {

class KubeClient;

/// Others write Nodes all the time; a round that met one of their writes is begun anew this often.
inline constexpr int kMaxLabelRounds = 5;

/// What the Node has now.
struct PublishedLabels {
  std::size_t count = 0;  ///< that this agent owns
  std::string changes;    ///< "KEY=VALUE, KEY removed"; "" when all was as wanted
  ForeignLabels left_to;
};

class NodeLabelsApi {
 public:
  /// Reads the credentials' files; connects to nothing.
  static Result<std::unique_ptr<NodeLabelsApi>> open(asio::any_io_executor executor, KubeAccess access,
                                                     std::string node);
  ~NodeLabelsApi();
  NodeLabelsApi(const NodeLabelsApi&) = delete;
  NodeLabelsApi& operator=(const NodeLabelsApi&) = delete;

  /// Errors are whole sentences. NotFound: no such Node (yet); Denied: which right is missing.
  asio::awaitable<Result<PublishedLabels>> publish(NodeLabels wanted);

 private:
  NodeLabelsApi(std::unique_ptr<KubeClient> client, std::string node);
  asio::awaitable<Result<NodeMetadata>> read() const;
  struct Round {
    bool is_done = false;     ///< else another has written meanwhile: look again
    ForeignLabels contested;  ///< what the server refused
  };
  asio::awaitable<Result<Round>> carry_out(LabelPlan plan, NodeMetadata at) const;
  asio::awaitable<Result<void>> remove(std::vector<std::string> keys) const;

  std::unique_ptr<KubeClient> client_;
  std::string node_;
  std::string path_;
};

}  // namespace gpuskew
