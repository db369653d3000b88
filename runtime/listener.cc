#include "runtime/listener.h"

#include <algorithm>
#include <list>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include "runtime/file.h"
#include "runtime/log.h"

namespace gpuskew {
namespace {

using asio::ip::tcp;
using Clock = std::chrono::steady_clock;

/// Peers that wait in the kernel while the rate limit holds the loop back; the kernel cuts it to net.core.somaxconn.
constexpr int kBacklog = 4096;

/// A bucket of one second's worth of accepts.
class RateLimit {
 public:
  explicit RateLimit(std::uint32_t per_second) : per_second_(per_second), tokens_(per_second), filled_(Clock::now()) {}

  /// Takes a token; else how long until there is one.
  Clock::duration take(Clock::time_point now) {
    const std::chrono::duration<double> passed = now - filled_;
    filled_ = now;
    tokens_ = std::min(static_cast<double>(per_second_), tokens_ + passed.count() * per_second_);
    if (tokens_ >= 1) {
      tokens_ -= 1;
      return Clock::duration::zero();
    }
    const std::chrono::duration<double> missing((1 - tokens_) / per_second_);
    return std::chrono::ceil<std::chrono::milliseconds>(missing);
  }

 private:
  std::uint32_t per_second_;
  double tokens_;
  Clock::time_point filled_;
};

}  // namespace

struct Listener::State {
  State(asio::io_context& context, const Log& to, ListenerOptions chosen, Handler handle)
      : log(to),
        options(std::move(chosen)),
        handler(std::move(handle)),
        acceptor(context),
        pause(context),
        all_ended(context),
        limit(options.accepts_per_second) {}

  void start(tcp::socket socket, const std::shared_ptr<State>& self);
  void ended(std::list<asio::cancellation_signal>::iterator connection, const std::exception_ptr& thrown);
  void warn(std::string_view what, std::uint64_t count, Clock::time_point& last, const std::string& reason) const;

  const Log& log;
  ListenerOptions options;
  Handler handler;
  tcp::acceptor acceptor;
  asio::steady_timer pause;
  asio::steady_timer all_ended;
  RateLimit limit;
  std::list<asio::cancellation_signal> connections;
  ListenerCounts counts;
  Clock::time_point warned_refused = Clock::now() - kAcceptLogInterval;
  Clock::time_point warned_failed = Clock::now() - kAcceptLogInterval;
};

void Listener::State::warn(std::string_view what, std::uint64_t count, Clock::time_point& last,
                           const std::string& reason) const {
  const auto now = Clock::now();
  if (now - last >= kAcceptLogInterval) {
    last = now;
    log.warning(what, {{"listener", options.name}, {"count", count}, {"reason", reason}});
  }
}

void Listener::State::start(tcp::socket socket, const std::shared_ptr<State>& self) {
  if (connections.size() >= options.max_connections) {
    ++counts.refused;
    warn("closing new connections", counts.refused, warned_refused,
         "the limit of " + std::to_string(options.max_connections) + " connections is reached");
    return;
  }
  ++counts.accepted;
  connections.emplace_back();
  const auto connection = std::prev(connections.end());
  // The handlers own the state: a connection that the io_context destroys must still find its cancellation signal.
  asio::co_spawn(acceptor.get_executor(), handler(std::move(socket)),
                 asio::bind_cancellation_slot(connection->slot(), [self, connection](const std::exception_ptr& thrown) {
                   self->ended(connection, thrown);
                 }));
}

void Listener::State::ended(std::list<asio::cancellation_signal>::iterator connection,
                            const std::exception_ptr& thrown) {
  connections.erase(connection);
  if (connections.empty()) {
    all_ended.cancel();
  }
  if (!thrown) {
    return;
  }
  try {
    std::rethrow_exception(thrown);
  } catch (const asio::system_error& error) {
    if (error.code() != asio::error::operation_aborted) {
      log.error("connection failed", {{"listener", options.name}, {"reason", error.what()}});
    }
  } catch (const std::exception& error) {
    log.error("connection failed", {{"listener", options.name}, {"reason", error.what()}});
  }
}

Listener::Listener(std::shared_ptr<State> state) : state_(std::move(state)) {}

Listener::~Listener() {
  close();
}

Result<std::unique_ptr<Listener>> Listener::open(asio::io_context& io, const Log& log, ListenerOptions options,
                                                 Handler handler) {
  const std::string context = "listening on " + to_string(options.endpoint);
  const tcp::endpoint endpoint = options.endpoint;
  auto state = std::make_shared<State>(io, log, std::move(options), std::move(handler));
  asio::error_code error;
  state->acceptor.open(endpoint.protocol(), error);
  if (!error) {
    state->acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  }
  if (!error) {
    state->acceptor.bind(endpoint, error);
  }
  if (!error) {
    state->acceptor.listen(kBacklog, error);
  }
  if (error) {
    return tl::unexpected(errno_error(context, error.value()));
  }
  return std::unique_ptr<Listener>(new Listener(std::move(state)));
}

tcp::endpoint Listener::endpoint() const {
  asio::error_code closed;
  return state_->acceptor.local_endpoint(closed);
}

ListenerCounts Listener::counts() const {
  ListenerCounts counts = state_->counts;
  counts.open = state_->connections.size();
  return counts;
}

asio::awaitable<Result<void>> Listener::run() {
  const auto state = state_;
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  while (state->acceptor.is_open()) {
    asio::error_code error;
    const auto wait = state->limit.take(Clock::now());
    if (wait > Clock::duration::zero()) {
      ++state->counts.delayed;
      state->pause.expires_after(wait);
      co_await state->pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    tcp::socket socket(executor);
    co_await state->acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (!error && state->acceptor.is_open()) {
      state->start(std::move(socket), state);
    } else if (error && state->acceptor.is_open() && error != asio::error::operation_aborted) {
      ++state->counts.failed;
      state->warn("accepting connections failed", state->counts.failed, state->warned_failed, error.message());
      state->pause.expires_after(kAcceptRetryDelay);
      co_await state->pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
  }
  while (!state->connections.empty()) {
    asio::error_code woken;
    state->all_ended.expires_at(Clock::time_point::max());
    co_await state->all_ended.async_wait(asio::redirect_error(asio::use_awaitable, woken));
  }
  co_return Result<void>();
}

void Listener::close() {
  asio::error_code ignored;
  state_->acceptor.close(ignored);
  state_->pause.cancel();
}

void Listener::stop() {
  close();
  // emit() may end a connection at once, which takes it out of the list.
  for (auto connection = state_->connections.begin(); connection != state_->connections.end();) {
    asio::cancellation_signal& signal = *connection++;
    signal.emit(asio::cancellation_type::terminal);
  }
}

}  // namespace gpuskew
