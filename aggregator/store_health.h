#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/time.h"

namespace gpuskew {

/// Whether the history can be written.
struct StoreHealth {
  std::optional<std::string> error;  ///< why the last write failed; nullopt: it did not
  Time failing_since{};
  std::uint64_t errors = 0;               ///< failed writes and reads, ever
  std::uint64_t dropped_transitions = 0;  ///< lost because the store failed for too long

  bool operator==(const StoreHealth&) const = default;
};

}  // namespace gpuskew
