#include "tests/unit/agent/aggregator_imposter.h"

#include <exception>
#include <stdexcept>
#include <utility>

#include <asio/co_spawn.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/use_awaitable.hpp>

namespace gpuskew {
namespace {

using asio::ip::tcp;
constexpr auto kAsTuple = asio::experimental::as_tuple(asio::use_awaitable);

template <class T>
void require(const Result<T>& result) {
  if (!result) {
    throw std::runtime_error(result.error().what);
  }
}

}  // namespace

asio::awaitable<std::optional<v1::AgentMessage>> ImposterPeer::receive() {
  for (;;) {
    const auto frame = frames_.next();
    require(frame);
    if (*frame) {
      v1::AgentMessage message;
      if (!message.ParseFromArray((*frame)->data(), static_cast<int>((*frame)->size()))) {
        throw std::runtime_error("the agent sent a message that does not parse");
      }
      co_return message;
    }
    const auto size = co_await stream_.read_some(received_, kNoDeadline);
    require(size);
    if (*size == 0) {
      co_return std::nullopt;
    }
    frames_.feed({received_.data(), *size});
  }
}

asio::awaitable<void> ImposterPeer::send_bytes(std::string bytes) {
  const auto written = co_await stream_.write_all(bytes, kNoDeadline);
  require(written);
}

asio::awaitable<void> ImposterPeer::send(v1::AggregatorMessage message) {
  std::string frame;
  require(append_frame(frame, message.SerializeAsString()));
  co_await send_bytes(std::move(frame));
}

asio::awaitable<v1::Hello> ImposterPeer::welcome(std::uint32_t version, std::string instance) {
  const auto first = co_await receive();
  if (!first || !first->has_hello()) {
    throw std::runtime_error("the agent did not begin with a Hello");
  }
  v1::AggregatorMessage answer;
  answer.mutable_welcome()->set_version(version);
  answer.mutable_welcome()->set_aggregator_version("imposter");
  answer.mutable_welcome()->set_instance(std::move(instance));
  co_await send(std::move(answer));
  co_return first->hello();
}

asio::awaitable<v1::AgentMessage> ImposterPeer::take() {
  const auto message = co_await receive();
  if (!message) {
    throw std::runtime_error("the agent closed");
  }
  const std::uint64_t sequence =
      message->has_snapshot() ? message->snapshot().sequence() : message->heartbeat().sequence();
  co_await acknowledge(sequence);
  co_return *message;
}

asio::awaitable<void> ImposterPeer::acknowledge(std::uint64_t sequence) {
  v1::AggregatorMessage message;
  message.mutable_ack()->set_sequence(sequence);
  co_await send(std::move(message));
}

asio::awaitable<void> ImposterPeer::refuse(v1::Refusal::Code code, std::string reason) {
  v1::AggregatorMessage message;
  message.mutable_refusal()->set_code(code);
  message.mutable_refusal()->set_reason(std::move(reason));
  co_await send(std::move(message));
}

/// Its coroutines hold it, so it outlives the imposter by as long as they need to see their ends.
struct AggregatorImposter::State {
  State(asio::io_context& io, TlsContext context, Script what)
      : acceptor(io), tls(std::move(context)), script(std::move(what)) {}

  tcp::acceptor acceptor;
  TlsContext tls;
  Script script;
  std::size_t connections = 0;
  std::vector<std::string> problems;
  std::vector<std::weak_ptr<ImposterPeer>> peers;

  static asio::awaitable<void> play(std::shared_ptr<State> state, tcp::socket socket);
  static asio::awaitable<void> accept(std::shared_ptr<State> state);
  static void start(const std::shared_ptr<State>& state, asio::awaitable<void> work);
};

void AggregatorImposter::State::start(const std::shared_ptr<State>& state, asio::awaitable<void> work) {
  asio::co_spawn(state->acceptor.get_executor(), std::move(work), [state](const std::exception_ptr& thrown) {
    try {
      if (thrown) {
        std::rethrow_exception(thrown);
      }
    } catch (const std::exception& error) {
      state->problems.emplace_back(error.what());
    }
  });
}

asio::awaitable<void> AggregatorImposter::State::play(std::shared_ptr<State> state, tcp::socket socket) {
  auto stream = TlsStream::server(std::move(socket), state->tls);
  require(stream);
  const auto handshake = co_await stream->handshake(kNoDeadline);
  require(handshake);
  const auto peer = std::make_shared<ImposterPeer>(std::move(*stream));
  state->peers.push_back(peer);
  co_await state->script(peer);
}

asio::awaitable<void> AggregatorImposter::State::accept(std::shared_ptr<State> state) {
  for (;;) {
    auto [error, socket] = co_await state->acceptor.async_accept(kAsTuple);
    if (error) {
      co_return;
    }
    ++state->connections;
    start(state, play(state, std::move(socket)));
  }
}

AggregatorImposter::AggregatorImposter(asio::io_context& io, const TlsFiles& files, Script script, std::uint16_t port,
                                       const char* host) {
  auto tls = TlsContext::server(files);
  require(tls);
  state_ = std::make_shared<State>(io, std::move(*tls), std::move(script));
  const tcp::endpoint endpoint(asio::ip::make_address(host), port);
  state_->acceptor.open(endpoint.protocol());
  state_->acceptor.set_option(tcp::acceptor::reuse_address(true));
  state_->acceptor.bind(endpoint);
  state_->acceptor.listen();
  State::start(state_, State::accept(state_));
}

AggregatorImposter::~AggregatorImposter() {
  asio::error_code ignored;
  state_->acceptor.close(ignored);
  for (const auto& weak : state_->peers) {
    if (const auto peer = weak.lock()) {
      peer->cut();
    }
  }
}

std::uint16_t AggregatorImposter::port() const {
  return state_->acceptor.local_endpoint().port();
}
std::size_t AggregatorImposter::connections() const {
  return state_->connections;
}
const std::vector<std::string>& AggregatorImposter::problems() const {
  return state_->problems;
}

}  // namespace gpuskew
