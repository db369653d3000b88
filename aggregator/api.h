#pragma once

// The JSON API and the metrics: a request, the fleet, its history and the time -> a response.

#include <functional>
#include <optional>

#include "aggregator/acting_figures.h"
#include "aggregator/api_auth.h"
#include "aggregator/history_store.h"
#include "aggregator/history_writer.h"
#include "aggregator/matrix_file.h"
#include "aggregator/metrics.h"
#include "aggregator/stream_counts.h"
#include "core/fleet.h"
#include "core/kube/cluster_node.h"
#include "core/time.h"
#include "runtime/http_server.h"

namespace gpuskew {

/// Transitions one answer of /api/v1/history may hold, and holds when the request does not say.
inline constexpr std::size_t kMaxHistoryLimit = 10'000;
inline constexpr std::size_t kDefaultHistoryLimit = 200;

/// The cluster that this aggregator is of.
struct ClusterView {
  const ClusterNodes* nodes = nullptr;  ///< nullptr while they are not known
  ReplicaFigures replica;
};

/// What the API answers from. Refers to what main owns.
struct ApiSources {
  const Fleet& fleet;
  HistoryStore& store;
  HistoryWriter& writer;
  const MatrixFile& matrix;
  const StreamCounts& streams;
  const ApiAuth& auth;
  /// Named where an error says what to configure.
  std::filesystem::path config_file;
  std::function<ProcessFigures()> process;
  std::function<std::optional<ClusterView>()> cluster;  ///< nullopt: of none
};

HttpResponse answer(const HttpRequest& request, const ApiSources& sources, Time now);

}  // namespace gpuskew
