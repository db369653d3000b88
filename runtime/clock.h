#pragma once

#include "core/time.h"

namespace gpuskew {

/// The one place where a program of ours reads the wall clock; everything else is told the time.
inline Time wall_clock_now() {
  return std::chrono::floor<Duration>(std::chrono::system_clock::now());
}

}  // namespace gpuskew
