#include "aggregator/stream_log.h"

#include <algorithm>

#include "runtime/log.h"

namespace gpuskew {

bool StreamLog::may_write(Time now) {
  if (now < refilled_) {
    refilled_ = now;  // the clock was set back
  }
  const std::int64_t earned = (now - refilled_) / kEvery;
  if (earned > 0) {
    budget_ = std::min(kBurst, budget_ + std::min(earned, kBurst));
    refilled_ = now;
  }
  if (budget_ == 0) {
    ++not_written_;
    return false;
  }
  --budget_;
  return true;
}

void StreamLog::refused(const Refused& refused, std::string_view peer, std::string_view certificate, Time now) {
  if (may_write(now)) {
    log_.warning("refused agent", {{"reason", to_string(refused.reason)},
                                   {"why", refused.why},
                                   {"peer", peer},
                                   {"certificate", certificate},
                                   {"node", refused.node},
                                   {"lines_left_out", not_written_}});
    not_written_ = 0;
  }
}

void StreamLog::replaced(std::string_view node, std::string_view peer, std::string_view older_peer, Time now) {
  if (may_write(now)) {
    log_.info("agent connected again, closing its older connection",
              {{"node", node}, {"peer", peer}, {"older_peer", older_peer}, {"lines_left_out", not_written_}});
    not_written_ = 0;
  }
}

}  // namespace gpuskew
