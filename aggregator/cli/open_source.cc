#include "aggregator/cli/open_source.h"

#include <utility>

#include "aggregator/cli/aggregator_source.h"
#include "aggregator/cli/cluster_source.h"
#include "aggregator/cli/tag_parts.h"
#include "aggregator/matrix_file.h"

namespace gpuskew {
namespace {

Result<std::optional<GivenMatrix>> matrix_of(const Options& options) {
  if (!options.matrix) {
    return std::optional<GivenMatrix>();
  }
  Result<Matrix> matrix = load_matrix(*options.matrix);
  if (!matrix) {
    return fail("--matrix", matrix.error());
  }
  return std::optional(GivenMatrix{*options.matrix, std::make_shared<const Matrix>(std::move(*matrix))});
}

Result<std::unique_ptr<AnswerSource>> open_cluster(const Options& options) {
  auto matrix = matrix_of(options);
  if (!matrix) {
    return tl::unexpected(matrix.error());
  }
  auto policy = policy_of(options.tag_parts);
  if (!policy) {
    return tl::unexpected(policy.error());
  }
  auto cluster = ClusterSource::open(*options.cluster, ClusterFleet(std::move(*policy), std::move(*matrix)));
  if (!cluster) {
    return tl::unexpected(cluster.error());
  }
  return std::unique_ptr<AnswerSource>(std::move(*cluster));
}

}  // namespace

Result<std::unique_ptr<AnswerSource>> open_source(const Options& options) {
  if (options.cluster) {
    return open_cluster(options);
  }
  Result<ApiClient> client = ApiClient::open(options.server);
  if (!client) {
    return tl::unexpected(client.error());
  }
  return std::unique_ptr<AnswerSource>(std::make_unique<AggregatorSource>(std::move(*client)));
}

}  // namespace gpuskew
