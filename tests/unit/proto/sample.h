#pragma once

#include "core/snapshot.h"

namespace gpuskew {

/// A healthy node in which every fact is known or certainly absent, with two GPUs and a last good state.
Snapshot sample_snapshot();
LastGood sample_last_good();

}  // namespace gpuskew
