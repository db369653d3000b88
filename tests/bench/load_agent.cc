#include "tests/bench/load_agent.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <memory>
#include <utility>

#include <asio/experimental/as_tuple.hpp>
#include <asio/ip/address_v4.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "runtime/tls.h"
#include "tests/bench/bench_node.h"

namespace gpuskew {
namespace {

using asio::ip::tcp;
constexpr auto kAsTuple = asio::experimental::as_tuple(asio::use_awaitable);

Deadline in(std::chrono::seconds span) {
  return std::chrono::steady_clock::now() + span;
}

/// The address whose ports this agent uses; another one only towards loopback, where all of 127.0.0.0/8 is ours.
asio::ip::address source_address(std::size_t index, const asio::ip::address& target) {
  if (!target.is_v4() || !target.is_loopback()) {
    return target.is_v4() ? asio::ip::address(asio::ip::address_v4::any()) : asio::ip::address_v6::any();
  }
  const auto offset = static_cast<std::uint32_t>(index / kAgentsASourceAddress);
  return asio::ip::address_v4(asio::ip::address_v4::loopback().to_uint() + offset);
}

Result<void> bind_source(tcp::socket& socket, const asio::ip::address& source) {
  asio::error_code error;
  socket.open(source.is_v4() ? tcp::v4() : tcp::v6(), error);
  if (!error) {
    // The port is chosen at connect, when only the pair of both ends must be unique.
    const int on = 1;
    ::setsockopt(socket.native_handle(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    socket.bind(tcp::endpoint(source, 0), error);
  }
  if (error) {
    return fail(ErrorCode::Unreachable, "a socket of our own: " + error.message());
  }
  return {};
}

asio::awaitable<Result<tcp::socket>> connect_from(asio::ip::address source, tcp::endpoint target, Deadline deadline) {
  const auto executor = co_await asio::this_coro::executor;
  // The timer's handler may run after this coroutine ended.
  const auto socket = std::make_shared<tcp::socket>(executor);
  const Result<void> bound = bind_source(*socket, source);
  if (!bound) {
    co_return tl::unexpected(bound.error());
  }
  asio::steady_timer timer(executor, deadline);
  timer.async_wait([socket](asio::error_code cancelled) {
    if (!cancelled) {
      asio::error_code ignored;
      socket->cancel(ignored);
    }
  });
  const auto [error] = co_await socket->async_connect(target, kAsTuple);
  if (error == asio::error::operation_aborted) {
    co_return fail(ErrorCode::Timeout, "connecting took too long");
  }
  if (error) {
    co_return fail(ErrorCode::Unreachable, "connecting: " + error.message());
  }
  co_return std::move(*socket);
}

Result<void> show_certificate(SSL* ssl, const std::filesystem::path& directory, const std::string& node) {
  const std::filesystem::path certificate = directory / (node + ".pem");
  const std::filesystem::path key = directory / (node + ".key");
  if (SSL_use_certificate_file(ssl, certificate.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_use_PrivateKey_file(ssl, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    ERR_clear_error();
    return fail(ErrorCode::NotFound, certificate.string() + " and its key do not load: make certificates first");
  }
  return {};
}

}  // namespace

asio::awaitable<Result<void>> LoadAgent::connect() {
  const Deadline deadline = in(kConnectLimit);
  Result<void> done = co_await open(deadline);
  if (done) {
    done = co_await say_hello(deadline);
  }
  if (done) {
    done = co_await report(Report::Same);
  }
  if (!done) {
    drop();
  }
  co_return done;
}

asio::awaitable<Result<void>> LoadAgent::open(Deadline deadline) {
  drop();
  frames_ = FrameReader();
  sequence_ = 0;
  const asio::ip::address source = source_address(index_, target_.endpoint.address());
  Result<tcp::socket> socket = co_await connect_from(source, target_.endpoint, deadline);
  if (!socket) {
    co_return tl::unexpected(socket.error());
  }
  Result<TlsStream> stream = TlsStream::client(std::move(*socket), target_.tls, target_.server_name);
  if (!stream) {
    co_return tl::unexpected(stream.error());
  }
  stream_.emplace(std::move(*stream));
  const Result<void> shown = show_certificate(stream_->native(), target_.certificates, bench_node_name(index_));
  if (!shown) {
    co_return shown;
  }
  co_return co_await stream_->handshake(deadline);
}

asio::awaitable<Result<void>> LoadAgent::say_hello(Deadline deadline) {
  v1::AgentMessage message;
  message.mutable_hello()->set_min_version(1);
  message.mutable_hello()->set_max_version(1);
  message.mutable_hello()->set_node(bench_node_name(index_));
  message.mutable_hello()->set_agent_version(GPUSKEW_VERSION);
  co_return co_await ask(message.SerializeAsString(), deadline);
}

asio::awaitable<Result<void>> LoadAgent::report(Report what) {
  changed_ = changed_ != (what == Report::Changed);
  const Snapshot healthy = bench_snapshot(index_);
  v1::AgentMessage message;
  to_wire(changed_ ? read_again(healthy) : healthy, *message.mutable_snapshot());
  message.mutable_snapshot()->set_sequence(++sequence_);
  co_return co_await ask(message.SerializeAsString(), in(kAnswerLimit));
}

asio::awaitable<Result<void>> LoadAgent::heartbeat() {
  v1::AgentMessage message;
  message.mutable_heartbeat()->set_sequence(++sequence_);
  co_return co_await ask(message.SerializeAsString(), in(kAnswerLimit));
}

asio::awaitable<Result<void>> LoadAgent::ask(std::string payload, Deadline deadline) {
  if (!stream_) {
    co_return fail(ErrorCode::Unreachable, "not connected");
  }
  std::string frame;
  Result<void> done = append_frame(frame, payload);
  if (done) {
    done = co_await stream_->write_all(frame, deadline);
  }
  if (done) {
    done = co_await answer(deadline);
  }
  if (!done) {
    drop();
  }
  co_return done;
}

asio::awaitable<Result<void>> LoadAgent::answer(Deadline deadline) {
  for (;;) {
    const Result<std::optional<std::size_t>> got = stream_->try_read(scratch_.received);
    if (!got) {
      co_return tl::unexpected(got.error());
    }
    if (!*got) {
      const Result<void> ready = co_await stream_->wait_readable(deadline);
      if (!ready) {
        co_return ready;
      }
      continue;
    }
    if (**got == 0) {
      co_return fail(ErrorCode::Unreachable, "the aggregator closed the connection");
    }
    frames_.feed({scratch_.received.data(), **got});
    const Result<bool> answered = take_answers();
    if (!answered) {
      co_return tl::unexpected(answered.error());
    }
    if (*answered) {
      co_return Result<void>();
    }
  }
}

Result<bool> LoadAgent::take_answers() {
  bool answered = false;
  for (;;) {
    const Result<std::optional<std::string_view>> frame = frames_.next();
    if (!frame) {
      return tl::unexpected(frame.error());
    }
    if (!*frame) {
      return answered;
    }
    v1::AggregatorMessage message;
    if (!message.ParseFromArray((*frame)->data(), static_cast<int>((*frame)->size()))) {
      return fail(ErrorCode::Malformed, "an answer that does not parse");
    }
    if (message.has_refusal()) {
      return fail(ErrorCode::Denied, "refused: " + message.refusal().reason());
    }
    answered = true;
  }
}

}  // namespace gpuskew
