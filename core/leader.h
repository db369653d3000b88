#pragma once

// Who of several replicas acts: one, by a coordination.k8s.io Lease. Pure: what to write next, and whether to act now.
//
// Clocks of two machines are never compared. A holder is taken for gone when its Lease did not change for as long as it
// promised, by our own monotonic clock from the moment we first saw it so (client-go's rule). A leader stops before
// that moment by its own clock, so at no time do two act.

#include <cstdint>
#include <optional>
#include <string>

#include "core/time.h"

namespace gpuskew {

/// What the server's Lease says.
struct LeaseRecord {
  std::string holder;        ///< spec.holderIdentity; "" when it was given back
  Duration promise{};        ///< spec.leaseDurationSeconds
  std::int64_t changes = 0;  ///< spec.leaseTransitions
  std::string version;       ///< metadata.resourceVersion: another one after every write

  bool operator==(const LeaseRecord&) const = default;
};

/// A leader that is killed is followed within promise + 2 retries + two requests: 11 s and a little.
struct LeaderTimes {
  Duration promise = std::chrono::seconds(8);
  /// A leader whose last renewal was asked for longer ago does not act any more. Less than `promise`.
  Duration act_within = std::chrono::seconds(5);
  Duration retry = std::chrono::milliseconds(1500);
};

enum class LeaseStep : std::uint8_t {
  Wait,    ///< another replica leads
  Create,  ///< there is no Lease
  Renew,   ///< it is ours
  Take,    ///< it was given back, or its holder is gone
};

/// Moments are time since any fixed point on a monotonic clock.
class LeaderElection {
 public:
  /// `identity` differs from that of every other replica, and from that of an earlier run of this one.
  LeaderElection(std::string identity, LeaderTimes times) : identity_(std::move(identity)), times_(times) {}

  /// What to write, given what the server has now (nullopt: no Lease).
  LeaseStep look(const std::optional<LeaseRecord>& seen, Duration moment);

  /// The server took what look() said; `asked` is the moment before the request was sent.
  void wrote(Duration asked) { renewed_ = asked; }
  /// The Lease is another replica's now, or was given back.
  void lost() { renewed_.reset(); }

  bool leads(Duration moment) const { return renewed_ && moment < *renewed_ + times_.act_within; }
  /// How long leads() stays true from `moment` on; zero when it is not.
  Duration leads_for(Duration moment) const;

  const std::string& identity() const { return identity_; }
  const LeaderTimes& times() const { return times_; }

 private:
  std::string identity_;
  LeaderTimes times_;
  std::optional<Duration> renewed_;
  std::string seen_version_;
  Duration seen_since_{};
};

}  // namespace gpuskew
