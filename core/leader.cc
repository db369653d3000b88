#include "core/leader.h"

#include <algorithm>

namespace gpuskew {

LeaseStep LeaderElection::look(const std::optional<LeaseRecord>& seen, Duration moment) {
  if (!seen) {
    lost();
    seen_version_.clear();
    return LeaseStep::Create;
  }
  if (seen->version != seen_version_) {
    seen_version_ = seen->version;
    seen_since_ = moment;
  }
  if (seen->holder == identity_) {
    return LeaseStep::Renew;
  }
  lost();
  if (seen->holder.empty()) {
    return LeaseStep::Take;
  }
  // What a stranger promised counts, but not less than what we would: its own stop may be later than ours.
  const Duration promise = std::max(seen->promise, times_.promise);
  return moment >= seen_since_ + promise ? LeaseStep::Take : LeaseStep::Wait;
}

Duration LeaderElection::leads_for(Duration moment) const {
  return leads(moment) ? *renewed_ + times_.act_within - moment : Duration::zero();
}

}  // namespace gpuskew
