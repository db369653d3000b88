#pragma once

#include "core/snapshot.h"

namespace gpuskew {

/// Within a rapidcheck property: a snapshot with any values that the wire has to carry unchanged, in every field.
Snapshot any_snapshot();
LastGood any_last_good();

}  // namespace gpuskew
