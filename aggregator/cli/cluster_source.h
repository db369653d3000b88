#pragma once

// A cluster asked without an aggregator: its Node objects, read once for all questions of a command. It takes get and
// list on nodes, nothing else.

#include <memory>
#include <string>
#include <string_view>

#include <asio/io_context.hpp>

#include "aggregator/cli/answer_source.h"
#include "aggregator/cli/cluster_fleet.h"
#include "aggregator/cli/cluster_options.h"
#include "core/result.h"
#include "runtime/kube/client.h"

namespace gpuskew {

class ClusterSource final : public AnswerSource {
 public:
  /// Reads the kubeconfig and the credentials it names. Connects to nothing.
  static Result<std::unique_ptr<ClusterSource>> open(const ClusterOptions& options, ClusterFleet fleet);
  ~ClusterSource() override;

  Result<nlohmann::ordered_json> get(const Question& question) override;
  const std::string& server() const override { return client_->access().server; }
  std::string_view nobody() const override { return "this cluster has no node"; }

 private:
  explicit ClusterSource(ClusterFleet fleet) : fleet_(std::move(fleet)) {}

  Result<void> load_all();
  Result<void> load_node(const std::string& name);
  tl::unexpected<Error> not_there(const std::string& name) const;

  asio::io_context context_;
  std::unique_ptr<KubeClient> client_;
  ClusterFleet fleet_;
  bool has_all_ = false;
};

}  // namespace gpuskew
