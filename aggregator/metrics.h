#pragma once

// The state of the fleet and of this process in Prometheus' text format, version 0.0.4.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aggregator/acting_figures.h"
#include "aggregator/history_writer.h"
#include "aggregator/matrix_file.h"
#include "aggregator/stream_counts.h"
#include "core/fleet.h"
#include "core/time.h"

namespace gpuskew {

/// This process, as only the process itself can tell.
struct ProcessFigures {
  /// nullopt: it could not be read; then there is no sample, for 0 would be a lie.
  std::optional<std::uint64_t> resident_bytes;
  Time started{};
  /// Connections that were closed at once because agents.max_connections was reached.
  std::uint64_t refused_connections = 0;
};

/// `replica`: nullptr for an aggregator that is of no cluster.
/// One sample a node, its state, each finding and each unknown fact: a fleet's size times about eight.
std::string metrics_text(const Fleet& fleet, const StreamCounts& streams, const StoreHealth& store,
                         const MatrixStatus& matrix, const ProcessFigures& process,
                         const ReplicaFigures* replica = nullptr);

/// `value` as it stands between a label's quotes: backslash, quote and line end escaped.
std::string escaped_label(std::string_view value);

}  // namespace gpuskew
