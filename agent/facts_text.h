#pragma once

// `gpuskew-agent facts` for people.

#include <string>

#include "core/snapshot.h"

namespace gpuskew {

/// Under short headings one line a fact: its name, its value or "none" or "unknown, because ...", and "(from PATH)";
/// lists with one line an item, long ones shortened. Control characters a host's file might hold are shown as "\x1b",
/// so no file can drive the reader's terminal. Ends with a newline.
std::string facts_text(const Snapshot& snapshot);

}  // namespace gpuskew
