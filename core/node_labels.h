#pragma once

// What a node should carry as labels, from its own facts and verdict.
//
// A label is never stale and never wrong, so it says what this very snapshot says:
//   - a known fact has its label;
//   - what is certainly absent has none: when the module goes, every label of the driver goes with it, in the same
//     set;
//   - an unknown fact has none either, and the reason is told. A fact that can not be read for a moment costs its label
//     for that moment: a selector that finds no label is safe, one that finds yesterday's driver is not. Where the
//     verdict needs that fact, gpuskew.io/state says "unknown" meanwhile.
// A restart removes nothing by this rule, because nothing is published before the first whole read.

#include <string>
#include <vector>

#include "core/judge.h"
#include "core/label.h"
#include "core/snapshot.h"

namespace gpuskew {

/// Keys a node does not carry although there is something to say, and why.
struct LeftOutLabels {
  std::string keys;  ///< one key, several ("a, b"), or a family ("nvidia.com/cuda.driver*")
  std::string why;   ///< "unknown, because reading /sys/module: permission denied"

  bool operator==(const LeftOutLabels&) const = default;
};

struct NodeLabels {
  Labels own;       ///< beneath kOwnLabelPrefix: nobody else's
  Labels standard;  ///< the field's keys, to be written only where nobody else owns them
  std::vector<LeftOutLabels> left_out;

  bool operator==(const NodeLabels&) const = default;
};

/// Every value is a valid label value. The same facts and state give the same labels.
NodeLabels node_labels(const Snapshot& snapshot, const Verdict& verdict);

/// "KEYS: WHY; KEYS: WHY", for a log line; "" for none.
std::string to_text(const std::vector<LeftOutLabels>& left_out);

}  // namespace gpuskew
