#pragma once

// Takes part in the election: whether this replica is the one that acts. core/leader.h has the rules.

#include <optional>
#include <string>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include "core/leader.h"
#include "core/result.h"
#include "runtime/kube/client.h"

namespace gpuskew {

class Log;

/// For one request about the Lease; shorter than a leader's remaining time, so that it can try twice.
inline constexpr Duration kLeaseRequestTimeout = std::chrono::seconds(2);

class LeaderLease {
 public:
  /// `lease`: "NAMESPACE/NAME". The client and the log must outlive the object.
  LeaderLease(asio::any_io_executor executor, KubeClient& client, std::string lease, std::string identity,
              const Log& log, LeaderTimes times = {});

  /// Until stop(), then gives the Lease back. Trouble with the server is logged, once for each kind, and tried again.
  asio::awaitable<Result<void>> run();
  void stop();

  /// Whether we may act at this moment; false as soon as our last renewal is too old, whatever the server does.
  bool leads() const;
  /// How long leads() stays true.
  Duration leads_for() const;
  /// The replica that leads as far as we know; "" when that is nobody or not known.
  const std::string& leader() const { return leader_; }
  const std::string& identity() const { return election_.identity(); }

 private:
  asio::awaitable<void> round();
  asio::awaitable<Result<void>> look();
  asio::awaitable<Result<void>> write(bool is_new, std::string holder);
  asio::awaitable<void> give_back();
  void tell();
  void note(const Result<void>& done);

  KubeClient& client_;
  std::string name_space_;
  std::string name_;
  std::string lease_;
  const Log& log_;
  LeaderElection election_;
  asio::steady_timer timer_;
  bool stopping_ = false;
  nlohmann::json there_;  ///< the Lease as the server last had it; null: not known, or there is none
  std::string leader_;
  std::string told_leader_;
  bool told_leads_ = false;
  std::optional<ErrorCode> trouble_;
};

}  // namespace gpuskew
