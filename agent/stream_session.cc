#include "agent/stream_session.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>
#include <variant>

#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/use_awaitable.hpp>

#include "agent/resident_memory.h"
#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "runtime/token_file.h"

namespace gpuskew {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kAsTuple = asio::experimental::as_tuple(asio::use_awaitable);
constexpr Duration kCloseLimit = std::chrono::seconds(1);

Error error_of(const v1::Refusal& refusal) {
  const std::string what =
      "the aggregator refused: " + (refusal.reason().empty() ? "no reason given" : refusal.reason());
  switch (refusal.code()) {
    case v1::Refusal::VERSION:
      return {ErrorCode::Unsupported, what};
    case v1::Refusal::PROTOCOL:
      return {ErrorCode::Malformed, what};
    case v1::Refusal::OVERLOADED:
      return {ErrorCode::Unreachable, what};
    default:
      return {ErrorCode::Denied, what};
  }
}

std::int64_t unix_ms_now() {
  return to_unix_ms(std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()));
}

// `a || b` waits for the first success: an exception in one loop would stay hidden until the other loop ends.
asio::awaitable<Result<void>> outcome_of(asio::awaitable<Result<void>> loop) {
  try {
    co_return co_await std::move(loop);
  } catch (const std::exception& error) {
    co_return fail(ErrorCode::Internal, error.what());
  }
}

}  // namespace

void Outbox::offer(std::shared_ptr<const Snapshot> snapshot) {
  newest_ = std::move(snapshot);
  ring();
}

asio::awaitable<void> Outbox::wait(Deadline until) {
  bell_.expires_at(until);
  co_await bell_.async_wait(kAsTuple);
}

asio::awaitable<Result<std::shared_ptr<StreamSession>>> StreamSession::open(StreamOptions options,
                                                                            std::shared_ptr<const Snapshot> first) {
  const Deadline deadline = Clock::now() + options.limits.connect;
  const auto tls = TlsContext::client(options.tls);
  if (!tls) {
    co_return tl::unexpected(tls.error());
  }
  std::string token;
  if (!options.token_file.empty()) {
    auto read = load_token(options.token_file);
    if (!read) {
      co_return tl::unexpected(read.error());
    }
    token = std::move(*read);
  }
  // What reading keys and certificates took must not lie beside what the handshake takes.
  release_unused_memory();
  auto endpoints = co_await resolve(options.address, deadline);
  if (!endpoints) {
    co_return tl::unexpected(endpoints.error());
  }
  auto socket = co_await connect_tcp(std::move(*endpoints), deadline);
  if (!socket) {
    co_return tl::unexpected(socket.error());
  }
  auto stream = TlsStream::client(std::move(*socket), *tls, options.server_name);
  if (!stream) {
    co_return tl::unexpected(stream.error());
  }
  const std::shared_ptr<StreamSession> session(new StreamSession(std::move(*stream), std::move(options)));
  Result<void> done = co_await session->stream_.handshake(deadline);
  release_unused_memory();
  if (done) {
    done = co_await session->greet(std::move(first), std::move(token), deadline);
  }
  if (!done) {
    co_return fail(session->peer_address(), done.error());
  }
  co_return session;
}

asio::awaitable<Result<void>> StreamSession::greet(std::shared_ptr<const Snapshot> first, std::string token,
                                                   Deadline deadline) {
  v1::AgentMessage message;
  v1::Hello& hello = *message.mutable_hello();
  hello.set_min_version(kMinStreamVersion);
  hello.set_max_version(kMaxStreamVersion);
  hello.set_node(first->node);
  hello.set_boot_id(first->boot_id.is_known() ? first->boot_id.value() : std::string());
  hello.set_agent_version(first->agent_version);
  hello.set_token(std::move(token));
  const Result<void> sent = co_await send(message, deadline);
  if (!sent) {
    co_return sent;
  }
  // Cases this version does not know say nothing; the deadline bounds how many of them there can be.
  for (;;) {
    const Result<v1::AggregatorMessage> answer = co_await receive(deadline);
    if (!answer) {
      co_return tl::unexpected(answer.error());
    }
    if (answer->has_refusal()) {
      co_return tl::unexpected(error_of(answer->refusal()));
    }
    if (answer->has_ack()) {
      co_return fail(ErrorCode::Malformed, "the aggregator acknowledged a message before its Welcome");
    }
    if (answer->has_welcome()) {
      version_ = answer->welcome().version();
      aggregator_version_ = answer->welcome().aggregator_version();
      instance_ = answer->welcome().instance();
      break;
    }
  }
  if (version_ < kMinStreamVersion || version_ > kMaxStreamVersion) {
    co_return fail(ErrorCode::Unsupported, "the aggregator wants stream version " + std::to_string(version_) +
                                               ", this agent speaks " + std::to_string(kMinStreamVersion) + " to " +
                                               std::to_string(kMaxStreamVersion));
  }
  co_return Result<void>();
}

asio::awaitable<Result<void>> StreamSession::send(const v1::AgentMessage& message, Deadline deadline) {
  std::string frame;
  const Result<void> framed = append_frame(frame, message.SerializeAsString());
  if (!framed) {
    co_return framed;
  }
  co_return co_await stream_.write_all(frame, deadline);
}

asio::awaitable<Result<v1::AggregatorMessage>> StreamSession::receive(Deadline deadline) {
  for (;;) {
    const auto frame = frames_.next();
    if (!frame) {
      co_return tl::unexpected(frame.error());
    }
    if (*frame) {
      v1::AggregatorMessage message;
      if (!message.ParseFromArray((*frame)->data(), static_cast<int>((*frame)->size()))) {
        co_return fail(ErrorCode::Malformed, "the aggregator sent a message that does not parse");
      }
      co_return message;
    }
    const Result<std::size_t> size = co_await stream_.read_some(received_, deadline);
    if (!size) {
      co_return tl::unexpected(size.error());
    }
    if (*size == 0) {
      co_return fail(ErrorCode::Unreachable, "the aggregator closed the connection");
    }
    frames_.feed({received_.data(), *size});
  }
}

asio::awaitable<Result<void>> StreamSession::exchange(Outbox& outbox, std::function<bool(bool acknowledged)> finished) {
  using asio::experimental::awaitable_operators::operator||;
  auto either = outcome_of(read_loop(outbox)) || outcome_of(write_loop(outbox, std::move(finished)));
  const auto ended = co_await std::move(either);
  co_return std::visit([](const Result<void>& end) { return end; }, ended);
}

asio::awaitable<Result<void>> StreamSession::read_loop(Outbox& outbox) {
  for (;;) {
    const Result<v1::AggregatorMessage> message = co_await receive(kNoDeadline);
    if (!message) {
      co_return tl::unexpected(message.error());
    }
    if (message->has_refusal()) {
      co_return tl::unexpected(error_of(message->refusal()));
    }
    if (!message->has_ack()) {
      continue;
    }
    const std::uint64_t sequence = message->ack().sequence();
    if (sequence > sent_sequence_) {
      co_return fail(ErrorCode::Malformed,
                     "the aggregator acknowledged message " + std::to_string(sequence) + ", which was not sent");
    }
    acknowledged_ = std::max(acknowledged_, sequence);
    outbox.ring();
  }
}

asio::awaitable<Result<void>> StreamSession::write_loop(Outbox& outbox,
                                                        std::function<bool(bool acknowledged)> finished) {
  Deadline next_heartbeat = Clock::now() + options_.heartbeat;
  for (;;) {
    const bool waiting = acknowledged_ < sent_sequence_;
    const bool acknowledged = !waiting && std::exchange(snapshot_in_flight_, false);
    if (finished(acknowledged)) {
      co_return Result<void>();
    }
    const Deadline now = Clock::now();
    if (waiting && now >= acknowledge_by_) {
      co_return fail(ErrorCode::Timeout, "no acknowledgement of message " + std::to_string(sent_sequence_) +
                                             " within " + to_short_text(options_.limits.ack));
    }
    if (waiting || (outbox.newest() == sent_ && now < next_heartbeat)) {
      const Deadline until = waiting ? acknowledge_by_ : next_heartbeat;
      co_await outbox.wait(until);
      continue;
    }
    const Result<void> sent = co_await send_next(outbox);
    if (!sent) {
      co_return sent;
    }
    next_heartbeat = Clock::now() + options_.heartbeat;
  }
}

asio::awaitable<Result<void>> StreamSession::send_next(Outbox& outbox) {
  v1::AgentMessage message;
  const std::uint64_t sequence = sent_sequence_ + 1;
  snapshot_in_flight_ = outbox.newest() != sent_;
  if (snapshot_in_flight_) {
    sent_ = outbox.newest();
    to_wire(*sent_, *message.mutable_snapshot());
    message.mutable_snapshot()->set_sequence(sequence);
  } else {
    message.mutable_heartbeat()->set_sequence(sequence);
    message.mutable_heartbeat()->set_sent_unix_ms(unix_ms_now());
  }
  sent_sequence_ = sequence;
  acknowledge_by_ = Clock::now() + options_.limits.ack;
  co_return co_await send(message, acknowledge_by_);
}

asio::awaitable<void> StreamSession::close() {
  co_await stream_.shutdown(Clock::now() + kCloseLimit);
}

}  // namespace gpuskew
