#pragma once

// One request to the API server and its answer, with all that is tried again: a kept connection that turned out to be
// closed, a server that is being restarted, one that asks for patience, a credential that was replaced.

#include <memory>
#include <string>

#include <asio/awaitable.hpp>

#include "runtime/kube/client_state.h"

namespace gpuskew {

/// A request on its way: sent, its answer not read yet.
struct StartedRequest {
  std::unique_ptr<HttpConnection> connection;
  std::shared_ptr<void> turn;
  std::uint64_t generation = 0;
  bool was_kept = false;  ///< the connection had served another request before
};

struct RawReply {
  unsigned status = 0;
  std::optional<std::chrono::seconds> retry_after;
  std::string body;

  bool is_success() const { return status >= 200 && status < 300; }
};

/// The bytes of the request with all its headers. Secret.
std::string request_text(const KubeClient::State& state, const KubeRequest& request);

/// A new connection that is not kept for others: a watch's.
asio::awaitable<Result<std::unique_ptr<HttpConnection>>> connect_to_server(KubeClientState state, Deadline deadline);

/// Takes a turn and a connection, and sends. Tries nothing again.
asio::awaitable<Result<StartedRequest>> start_request(KubeClientState state, KubeRequest request, Deadline deadline);

/// The answer, whatever its status. `started`: the same request, started before; nullptr for none.
asio::awaitable<Result<RawReply>> fetch(KubeClientState state, KubeRequest request, Deadline deadline,
                                        std::shared_ptr<StartedRequest> started);

/// With the body parsed.
KubeReply parsed_reply(RawReply raw);

/// Until then at the latest.
Deadline request_end(const KubeClient::State& state, Deadline deadline);

/// Waits; cancelled with its coroutine.
asio::awaitable<void> sleep_until(asio::any_io_executor executor, Deadline until);

}  // namespace gpuskew
