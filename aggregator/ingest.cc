#include "aggregator/ingest.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <utility>

#include <asio/post.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/clock.h"
#include "runtime/listener.h"
#include "runtime/log.h"

namespace gpuskew {

namespace {

Deadline within(Duration wait) {
  return std::chrono::steady_clock::now() + wait;
}

std::string joined(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ","));
}

// 128 random bits.
std::string random_name() {
  std::random_device source;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", source(), source(), source(), source());
}

std::string peer_of(const asio::ip::tcp::socket& socket) {
  asio::error_code error;
  const asio::ip::tcp::endpoint endpoint = socket.remote_endpoint(error);
  return error ? "unknown" : to_string(endpoint);
}

}  // namespace

struct Ingest::Session {
  Session(Ingest& owner, TlsStream tls_stream)
      : ingest(owner),
        stream(std::move(tls_stream)),
        conversation(stream.peer_names(), owner.recorder_, owner.counts_, owner.scratch_),
        deadline(within(owner.limits_.hello)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  Ingest& ingest;
  TlsStream stream;
  FrameReader frames;
  AgentConversation conversation;
  Deadline deadline;           ///< for the next whole frame
  bool holds = false;          ///< it is its node's entry in holders_
  bool over = false;           ///< nothing more is read
  std::string unproven_hello;  ///< waits for its token's check, and every frame after it
};

Ingest::Session::~Session() {
  if (holds) {
    --ingest.counts_.connected;
    ingest.holders_.erase(conversation.node());
  }
}

Ingest::Ingest(const Log& log, const TlsContext& tls, FleetRecorder& recorder, CommitTurn& commits, IngestLimits limits)
    : log_(log),
      tls_(tls),
      recorder_(recorder),
      commits_(commits),
      limits_(limits),
      scratch_(random_name()),
      stream_log_(log) {}

asio::awaitable<void> Ingest::serve(asio::ip::tcp::socket socket) {
  const std::unique_ptr<Session> session = co_await admit(std::move(socket));
  if (session == nullptr) {
    co_return;
  }
  co_await converse(*session);
  co_await session->stream.shutdown(within(limits_.write));
}

asio::awaitable<std::unique_ptr<Ingest::Session>> Ingest::admit(asio::ip::tcp::socket socket) {
  const HandshakeGate::Place place = co_await handshakes_.enter();
  if (place.has_waited() && has_hung_up(socket.native_handle())) {
    // A client's patience, not a client's fault; its handshake would cost what the others are waiting for.
    refuse_stranger(RefusedReason::Overloaded, "it gave up before its turn came", peer_of(socket), {});
    co_return nullptr;
  }
  const std::string peer = peer_of(socket);
  Result<TlsStream> stream = TlsStream::server(std::move(socket), tls_);
  if (!stream) {
    refuse_stranger(RefusedReason::Handshake, stream.error().what, peer, {});
    co_return nullptr;
  }
  const Result<void> shaken = co_await stream->handshake(within(limits_.handshake));
  if (!shaken) {
    const bool late = shaken.error().code == ErrorCode::Timeout;
    refuse_stranger(late ? RefusedReason::Timeout : RefusedReason::Handshake, shaken.error().what, peer,
                    stream->peer_names());
    co_return nullptr;
  }
  co_return std::make_unique<Session>(*this, std::move(*stream));
}

void Ingest::refuse_stranger(RefusedReason reason, const std::string& why, const std::string& peer,
                             const std::vector<std::string>& certificate_names) {
  ++counts_.of(reason);
  const Refused refused{reason, why, ""};
  stream_log_.refused(refused, peer, joined(certificate_names), wall_clock_now());
}

asio::awaitable<void> Ingest::converse(Session& session) {
  while (!session.over) {
    std::string out;
    bool more = read_frames(session, out);
    if (!session.unproven_hello.empty() && !session.over) {
      out = co_await prove(session);
    }
    if (!out.empty()) {
      co_await commits_.committed();
      Result<void> written = co_await session.stream.write_all(out, within(limits_.write));
      if (!written) {
        end(session, written.error(), "it does not take our answers");
      }
    }
    if (session.over) {
      co_return;
    }
    if (more) {
      // One that sends without a pause must not keep the others waiting.
      auto executor = co_await asio::this_coro::executor;
      co_await asio::post(executor, asio::use_awaitable);
      continue;
    }
    out = std::string();
    Result<void> readable = co_await session.stream.wait_readable(session.deadline);
    if (!readable) {
      end(session, readable.error(), session.holds ? "no heartbeat in time" : "no Hello in time");
    }
  }
}

bool Ingest::read_frames(Session& session, std::string& out) {
  Result<std::optional<std::size_t>> count = session.stream.try_read(buffer_);
  if (!count) {
    end(session, count.error(), "");
    return false;
  }
  if (!*count) {
    return false;
  }
  if (**count == 0) {
    session.over = true;
    log_.debug("agent closed its connection",
               {{"node", session.conversation.node()}, {"peer", session.stream.peer_address()}});
    return false;
  }
  session.frames.feed(std::string_view(buffer_.data(), **count));
  take_frames(session, out);
  return true;
}

void Ingest::take_frames(Session& session, std::string& out) {
  for (;;) {
    Result<std::optional<std::string_view>> frame = session.frames.next();
    if (!frame) {
      append_refusal(RefusedReason::Protocol, frame.error().what, out);
      refuse(session, Refused{RefusedReason::Protocol, frame.error().what, session.conversation.node()});
      return;
    }
    if (!*frame) {
      return;
    }
    if (must_prove(session, **frame)) {
      session.unproven_hello = **frame;
      return;
    }
    take(session, **frame, out);
    if (session.over) {
      return;
    }
  }
}

void Ingest::take(Session& session, std::string_view frame, std::string& out) {
  std::optional<Refused> refused = session.conversation.take(frame, wall_clock_now(), out);
  if (refused) {
    refuse(session, *refused);
    return;
  }
  session.deadline = within(limits_.idle);
  if (!session.holds) {
    settle(session);
  }
}

bool Ingest::must_prove(Session& session, std::string_view frame) {
  AgentConversation& conversation = session.conversation;
  return node_of_token_ && conversation.node().empty() && conversation.certificate_names().empty() &&
         !conversation.token_of(frame).empty();
}

asio::awaitable<std::string> Ingest::prove(Session& session) {
  const std::string hello = std::move(session.unproven_hello);
  session.unproven_hello.clear();
  std::string out;
  Result<std::string> node = co_await node_of_token_(session.conversation.token_of(hello));
  if (!node) {
    const bool is_denied = node.error().code == ErrorCode::Denied;
    const auto reason = is_denied ? RefusedReason::Identity : RefusedReason::Overloaded;
    const std::string why = is_denied ? node.error().what : "the token could not be checked: " + node.error().what;
    append_refusal(reason, why, out);
    refuse(session, Refused{reason, why, ""});
    co_return out;
  }
  session.conversation.prove(std::move(*node));
  take(session, hello, out);
  if (!session.over) {
    take_frames(session, out);
  }
  co_return out;
}

void Ingest::settle(Session& session) {
  const std::string& node = session.conversation.node();
  Session*& holder = holders_[node];
  if (holder != nullptr) {
    stream_log_.replaced(node, session.stream.peer_address(), holder->stream.peer_address(), wall_clock_now());
    holder->holds = false;
    holder->over = true;
    holder->stream.close();
    --counts_.connected;
  }
  holder = &session;
  session.holds = true;
  ++counts_.connected;
  log_.debug("agent connected", {{"node", node}, {"peer", session.stream.peer_address()}});
}

void Ingest::end(Session& session, const Error& why, std::string_view when_late) {
  if (session.over) {
    return;
  }
  session.over = true;
  if (why.code == ErrorCode::Timeout) {
    refuse(session, Refused{RefusedReason::Timeout, std::string(when_late), session.conversation.node()});
    return;
  }
  log_.debug("agent's connection broke",
             {{"node", session.conversation.node()}, {"peer", session.stream.peer_address()}, {"why", why.what}});
}

void Ingest::refuse(Session& session, const Refused& refused) {
  session.over = true;
  ++counts_.of(refused.reason);
  stream_log_.refused(refused, session.stream.peer_address(), joined(session.conversation.certificate_names()),
                      wall_clock_now());
}

}  // namespace gpuskew
