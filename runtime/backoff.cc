#include "runtime/backoff.h"

#include <algorithm>
#include <cassert>

namespace gpuskew {

Backoff::Backoff(BackoffLimits limits, std::minstd_rand generator)
    : limits_(limits), generator_(generator), ceiling_(limits.min) {
  assert(limits.min > Duration::zero() && limits.min <= limits.max);
}

Duration Backoff::next() {
  // Compared by division: ceiling * 2 could overflow for a huge max.
  ceiling_ = ceiling_ > limits_.max / 2 ? limits_.max : ceiling_ * 2;
  std::uniform_int_distribution<Duration::rep> wait(limits_.min.count(), ceiling_.count());
  return Duration(wait(generator_));
}

}  // namespace gpuskew
