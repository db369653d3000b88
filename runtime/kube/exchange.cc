#include "runtime/kube/exchange.h"

#include <algorithm>
#include <charconv>
#include <random>
#include <utility>

#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "runtime/backoff.h"
#include "runtime/kube/errors.h"
#include "runtime/kube/json_text.h"

namespace gpuskew {
namespace {

using Clock = std::chrono::steady_clock;
using Connection = std::unique_ptr<HttpConnection>;

constexpr BackoffLimits kRetryWaits{std::chrono::milliseconds(100), std::chrono::seconds(1)};

void give_turn_back(const KubeClientState& state);

std::shared_ptr<void> make_turn(const KubeClientState& state) {
  return std::shared_ptr<void>(state.get(), [state](void*) { give_turn_back(state); });
}

/// To the first that still waits, or to nobody.
void give_turn_back(const KubeClientState& state) {
  while (!state->waiting.empty()) {
    const std::shared_ptr<TurnWaiter> next = state->waiting.front().lock();
    state->waiting.pop_front();
    if (next) {
      next->turn = make_turn(state);
      next->timer.cancel();
      return;
    }
  }
  --state->requests;
}

asio::awaitable<Result<std::shared_ptr<void>>> take_turn(KubeClientState state, Deadline deadline) {
  if (state->requests < kMaxKubeRequests) {
    ++state->requests;
    co_return make_turn(state);
  }
  const auto waiter = std::make_shared<TurnWaiter>(state->executor, deadline);
  state->waiting.push_back(waiter);
  asio::error_code woken;
  co_await waiter->timer.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  if (!waiter->turn) {
    co_return fail(ErrorCode::Timeout, server_name(state->access) + ": " + std::to_string(kMaxKubeRequests) +
                                           " requests before this one are not answered yet");
  }
  co_return std::exchange(waiter->turn, nullptr);
}

/// A kept connection of the identity that counts now; nullptr when there is none.
Connection take_idle(KubeClient::State& state) {
  const Deadline oldest = Clock::now() - kIdleKubeConnectionTime;
  while (!state.idle.empty()) {
    IdleConnection idle = std::move(state.idle.back());
    state.idle.pop_back();
    if (idle.generation == state.credentials->generation() && idle.kept_since > oldest &&
        idle.connection->is_reusable()) {
      return std::move(idle.connection);
    }
  }
  return nullptr;
}

void keep(KubeClient::State& state, Connection connection, std::uint64_t generation) {
  if (!connection->is_reusable()) {
    return;
  }
  if (state.idle.size() >= kMaxIdleKubeConnections) {
    state.idle.erase(state.idle.begin());
  }
  state.idle.push_back(IdleConnection{std::move(connection), generation, Clock::now()});
}

std::optional<std::chrono::seconds> retry_after(const HttpReplyHead& head) {
  const auto text = head.header("Retry-After");
  int seconds = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), seconds).ec != std::errc() || seconds < 0) {
    return std::nullopt;
  }
  return std::chrono::seconds(seconds);
}

/// Reads the whole answer and keeps the connection.
asio::awaitable<Result<RawReply>> finish_request(KubeClientState state, std::shared_ptr<StartedRequest> started,
                                                 Deadline deadline) {
  const Result<const HttpReplyHead*> head = co_await started->connection->read_head(deadline);
  if (!head) {
    co_return tl::unexpected(head.error());
  }
  RawReply reply;
  reply.status = (*head)->status;
  reply.retry_after = retry_after(**head);
  for (;;) {
    const Result<std::string> piece = co_await started->connection->read_body(deadline);
    if (!piece) {
      co_return tl::unexpected(piece.error());
    }
    if (piece->empty()) {
      break;
    }
    if (reply.body.size() + piece->size() > kMaxKubeReplyBytes) {
      co_return fail(ErrorCode::TooLarge, "the answer is longer than " + std::to_string(kMaxKubeReplyBytes) + " bytes");
    }
    reply.body += *piece;
  }
  keep(*state, std::move(started->connection), started->generation);
  co_return std::move(reply);
}

bool is_repeatable(const KubeRequest& request) {
  return request.is_repeatable || request.method == "GET" ||
         (request.method == "PATCH" && request.content_type == "application/apply-patch+yaml");
}

/// How long one fetch() goes on, and what it has tried.
struct Attempts {
  explicit Attempts(Deadline until) : end(until), backoff(kRetryWaits, std::minstd_rand(std::random_device{}())) {}

  Deadline end;
  Deadline patience = kNoDeadline;  // set by the first failure
  bool renewed = false;
  bool retried_at_once = false;
  Backoff backoff;

  /// When to try again, after a failure that a restart of the server explains.
  std::optional<Deadline> after_failure(const KubeClient::State& state, const StartedRequest* sent, bool repeatable,
                                        const Error& error) {
    const Deadline now = Clock::now();
    if (error.code != ErrorCode::Unreachable || !state.has_answered || (sent != nullptr && !repeatable)) {
      return std::nullopt;
    }
    if (sent != nullptr && sent->was_kept && !sent->connection->has_answer_begun() && !retried_at_once) {
      retried_at_once = true;  // the server closed it while nobody looked
      return now;
    }
    if (patience == kNoDeadline) {
      patience = now + state.options.restart_patience;
    }
    const Deadline next = now + backoff.next();
    return next < std::min(end, patience) ? std::optional(next) : std::nullopt;
  }

  /// When to try again, as the server asked.
  std::optional<Deadline> after_reply(const KubeClient::State& state, const KubeRequest& request,
                                      const RawReply& reply) const {
    const bool is_busy = reply.status == 429 || reply.status >= 500;
    if (!is_busy || !reply.retry_after || !request.waits_when_busy ||
        *reply.retry_after > state.options.max_retry_after) {
      return std::nullopt;
    }
    const Deadline next = Clock::now() + std::max<Duration>(*reply.retry_after, kRetryWaits.min);
    return next < end ? std::optional(next) : std::nullopt;
  }
};

}  // namespace

namespace {
std::string_view accepted(const KubeClientOptions& options) {
  return options.metadata_only ? "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1" : "application/json";
}
}  // namespace

std::string request_text(const KubeClient::State& state, const KubeRequest& request) {
  std::string text = request.method + " " + state.url.path + request.path +
                     " HTTP/1.1\r\nHost: " + state.url.host_header() + "\r\nUser-Agent: " + state.options.user_agent +
                     "\r\nAccept: " + std::string(accepted(state.options)) + "\r\n" + state.credentials->headers();
  if (!request.body.empty()) {
    text += "Content-Type: " + (request.content_type.empty() ? "application/json" : request.content_type) +
            "\r\nContent-Length: " + std::to_string(request.body.size()) + "\r\n";
  } else if (request.method == "POST") {
    text += "Content-Length: 0\r\n";
  }
  return text + "\r\n" + request.body;
}

Deadline request_end(const KubeClient::State& state, Deadline deadline) {
  return std::min<Deadline>(deadline, Clock::now() + state.options.request_timeout);
}

asio::awaitable<void> sleep_until(asio::any_io_executor executor, Deadline until) {
  asio::steady_timer timer(executor, until);
  asio::error_code ignored;  // a cancelled coroutine ends by itself
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

asio::awaitable<Result<Connection>> connect_to_server(KubeClientState state, Deadline deadline) {
  const Deadline until = std::min<Deadline>(deadline, Clock::now() + state->options.connect_timeout);
  Result<Connection> connection = co_await HttpConnection::connect(state->target, state->credentials->tls(), until);
  if (!connection) {
    co_return tl::unexpected(connect_error(state->access, connection.error(), state->options.connect_timeout));
  }
  co_return std::move(connection);
}

asio::awaitable<Result<StartedRequest>> start_request(KubeClientState state, KubeRequest request, Deadline deadline) {
  StartedRequest started;
  Result<std::shared_ptr<void>> turn = co_await take_turn(state, deadline);
  if (!turn) {
    co_return tl::unexpected(turn.error());
  }
  started.turn = std::move(*turn);
  const Result<void> fresh = state->credentials->refresh();
  if (!fresh) {
    co_return fail(server_name(state->access), fresh.error());
  }
  started.generation = state->credentials->generation();
  started.connection = take_idle(*state);
  started.was_kept = started.connection != nullptr;
  if (!started.connection) {
    Result<Connection> connection = co_await connect_to_server(state, deadline);
    if (!connection) {
      co_return tl::unexpected(connection.error());
    }
    started.connection = std::move(*connection);
  }
  // A write that fails is told by the read behind it, which may find why.
  const Result<void> sent = co_await started.connection->send(request_text(*state, request), deadline);
  if (!sent && sent.error().code == ErrorCode::Timeout) {
    co_return tl::unexpected(exchange_error(state->access, request, sent.error()));
  }
  co_return std::move(started);
}

asio::awaitable<Result<RawReply>> fetch(KubeClientState state, KubeRequest request, Deadline deadline,
                                        std::shared_ptr<StartedRequest> started) {
  Attempts attempts(request_end(*state, deadline));
  for (;;) {
    Result<RawReply> reply;
    if (!started) {
      Result<StartedRequest> start = co_await start_request(state, request, attempts.end);
      if (start) {
        started = std::make_shared<StartedRequest>(std::move(*start));
      } else {
        reply = tl::unexpected(start.error());
      }
    }
    if (started) {
      reply = co_await finish_request(state, started, attempts.end);
    }
    std::optional<Deadline> next;
    if (!reply) {
      next = attempts.after_failure(*state, started.get(), is_repeatable(request), reply.error());
      if (!next) {
        co_return started ? tl::unexpected(exchange_error(state->access, request, reply.error()))
                          : tl::unexpected(reply.error());
      }
    } else {
      state->has_answered = true;
      next = attempts.after_reply(*state, request, *reply);
      if (reply->status == 401 && !attempts.renewed) {
        attempts.renewed = true;
        next = state->credentials->renew() ? std::optional(Deadline(Clock::now())) : std::nullopt;
      }
      if (!next) {
        co_return std::move(reply);
      }
    }
    started.reset();
    if (*next > Clock::now()) {
      co_await sleep_until(state->executor, *next);
    }
  }
}

KubeReply parsed_reply(RawReply raw) {
  KubeReply reply;
  reply.status = raw.status;
  reply.retry_after = raw.retry_after;
  if (!raw.body.empty()) {
    auto parsed = parse_json(raw.body);
    if (parsed) {
      reply.body = std::move(*parsed);
    } else {
      reply.text = shown_text(raw.body);
    }
  }
  return reply;
}

}  // namespace gpuskew
