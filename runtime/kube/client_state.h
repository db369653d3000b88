#pragma once

// Inside of the client: its connections, and one request over them with everything that is tried again.

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <asio/steady_timer.hpp>

#include "runtime/http_client.h"
#include "runtime/kube/client.h"
#include "runtime/kube/credentials.h"
#include "runtime/kube/server_url.h"

namespace gpuskew {

struct IdleConnection {
  std::unique_ptr<HttpConnection> connection;
  std::uint64_t generation = 0;
  Deadline kept_since{};
};

/// Waits for one of the kMaxKubeRequests turns. A turn is given back when its last owner goes, also when that is a
/// waiter that was cancelled.
struct TurnWaiter {
  explicit TurnWaiter(const asio::any_io_executor& executor, Deadline deadline) : timer(executor, deadline) {}
  asio::steady_timer timer;
  std::shared_ptr<void> turn;
};

struct KubeClient::State {
  State(asio::any_io_executor on, KubeAccess to, KubeClientOptions with)
      : executor(std::move(on)), access(std::move(to)), options(std::move(with)) {}

  asio::any_io_executor executor;
  KubeAccess access;
  KubeClientOptions options;
  ServerUrl url;
  HttpTarget target;
  std::unique_ptr<KubeCredentials> credentials;
  std::vector<IdleConnection> idle;
  std::size_t requests = 0;  ///< that have a turn
  std::list<std::weak_ptr<TurnWaiter>> waiting;
  bool has_answered = false;
  std::string eviction_version;  ///< "policy/v1" once it is known
};

using KubeClientState = std::shared_ptr<KubeClient::State>;

}  // namespace gpuskew
