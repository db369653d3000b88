#pragma once

#include <random>

#include "core/time.h"

namespace gpuskew {

struct BackoffLimits {
  Duration min = std::chrono::seconds(1);
  Duration max = std::chrono::seconds(60);

  bool operator==(const BackoffLimits&) const = default;
};

/// Waits between attempts: exponential with full jitter, so that a fleet that lost its aggregator does not come back in
/// step. The n-th wait is uniform between `min` and the lesser of `max` and min * 2^n.
class Backoff {
 public:
  /// Needs 0 < min <= max.
  Backoff(BackoffLimits limits, std::minstd_rand generator);

  /// The wait before the next attempt.
  Duration next();
  /// After a success worth the name (an acknowledged message, not a mere connection).
  void reset() { ceiling_ = limits_.min; }

 private:
  BackoffLimits limits_;
  std::minstd_rand generator_;
  Duration ceiling_;
};

}  // namespace gpuskew
