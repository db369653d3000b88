#pragma once

#include <cstddef>

#include "aggregator/history_store.h"
#include "core/fleet.h"
#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

class Log;

/// Forgets nodes last heard before `oldest`, and puts every other stored node back into `fleet`; returns how many. A
/// report that this version can not read (of a later one, after a downgrade) is logged, and its node's facts are
/// unknown until it reports again: its history is not lost.
Result<std::size_t> restore_fleet(HistoryStore& store, Fleet& fleet, const Log& log, Time oldest, Time now);

}  // namespace gpuskew
