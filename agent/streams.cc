#include "agent/streams.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <utility>
#include <variant>

#include <asio/co_spawn.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/io_context.hpp>
#include <asio/use_awaitable.hpp>

#include "runtime/log.h"

namespace gpuskew {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kAsTuple = asio::experimental::as_tuple(asio::use_awaitable);

HostPort host_port(const asio::ip::tcp::endpoint& endpoint) {
  return {endpoint.address().to_string(), endpoint.port()};
}

}  // namespace

struct Streams::Peer {
  Peer(asio::io_context& io, const Log& log, StreamOptions options, asio::ip::tcp::endpoint at)
      : endpoint(std::move(at)), stream(io, log, std::move(options), [this] { on_state(); }) {}

  bool is_connected() const { return stream.instance().has_value(); }

  asio::ip::tcp::endpoint endpoint;
  std::function<void()> on_state = [] {};
  Stream stream;
  std::optional<std::string> instance;  ///< what the address answered last; stays when the connection is lost
  bool leaving = false;                 ///< asked to end
  bool left_alone = false;              ///< another address is the same aggregator's
};

Streams::Streams(asio::io_context& io, const Log& log, StreamOptions options, std::function<void()> on_state,
                 Resolver resolver, StreamsTiming timing)
    : io_(io),
      log_(log),
      options_(std::move(options)),
      on_state_(std::move(on_state)),
      resolver_(std::move(resolver)),
      timing_(timing),
      next_look_(io, kNoDeadline),
      interruption_(io, kNoDeadline),
      state_("connecting to " + to_string(options_.address)) {}

Streams::~Streams() = default;

void Streams::offer(std::shared_ptr<const Snapshot> snapshot) {
  newest_ = std::move(snapshot);
  for (const auto& peer : peers_) {
    peer->stream.offer(newest_);
  }
  if (peers_.empty()) {
    next_look_.cancel();
  }
}

asio::awaitable<Result<void>> Streams::run() {
  while (!stopping_) {
    if (newest_ == nullptr) {
      co_await next_look_.async_wait(kAsTuple);
      continue;
    }
    next_look_.expires_at(kNoDeadline);
    const std::uint64_t turn = options_turn_;
    const Result<Endpoints> found = co_await look_up();
    if (stopping_ || turn != options_turn_) {
      continue;
    }
    next_look_.expires_at(Clock::now() + timing_.look_every);
    if (found) {
      failed_looks_ = 0;
      settle(*found);
    } else {
      note_look_up(found.error());
    }
    co_await wait_for_next_look();
  }
  next_look_.expires_at(kNoDeadline);
  while (!peers_.empty()) {
    co_await next_look_.async_wait(kAsTuple);
  }
  co_return Result<void>();
}

asio::awaitable<Result<void>> Streams::deliver_once(Deadline deadline) {
  const auto peer = std::make_shared<Peer>(io_, log_, options_, asio::ip::tcp::endpoint());
  peer->stream.offer(newest_);
  peers_.push_back(peer);
  const Result<void> delivered = co_await peer->stream.deliver_once(deadline);
  peers_.remove(peer);
  co_return delivered;
}

// A stop or new options do not wait for a name server that does not answer.
asio::awaitable<Result<Streams::Endpoints>> Streams::look_up() {
  using asio::experimental::awaitable_operators::operator||;
  auto either = resolver_(options_.address, Clock::now() + options_.limits.connect) || until_interrupted(options_turn_);
  auto ended = co_await std::move(either);
  co_return ended.index() == 0 ? std::get<0>(std::move(ended)) : std::get<1>(std::move(ended));
}

asio::awaitable<Result<Streams::Endpoints>> Streams::until_interrupted(std::uint64_t options_turn) {
  while (!stopping_ && options_turn == options_turn_) {
    co_await interruption_.async_wait(kAsTuple);
  }
  co_return fail(ErrorCode::Unreachable, "interrupted");
}

// Until the moment it is set to, which may be moved while it is waited for.
asio::awaitable<void> Streams::wait_for_next_look() {
  while (!stopping_ && Clock::now() < next_look_.expiry()) {
    co_await next_look_.async_wait(kAsTuple);
  }
}

void Streams::look_by(Deadline when) {
  if (when < next_look_.expiry()) {
    next_look_.expires_at(when);
  }
}

bool Streams::is_served(const asio::ip::tcp::endpoint& endpoint) const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [&](const auto& peer) { return peer->endpoint == endpoint && !peer->leaving; });
}

void Streams::settle(const Endpoints& found) {
  const Peers before = peers_;
  for (const auto& peer : before) {
    if (std::find(found.begin(), found.end(), peer->endpoint) != found.end()) {
      continue;
    }
    log_.info("no longer an address of the aggregator", {{"address", to_string(peer->endpoint)}});
    if (peer->left_alone) {
      peers_.remove(peer);
    } else {
      peer->leaving = true;
      peer->stream.stop();
    }
  }
  for (const auto& endpoint : found) {
    if (is_served(endpoint)) {
      continue;
    }
    if (peers_.size() >= kMaxStreams) {
      log_.warning("more addresses of the aggregator than streams are kept, ignoring the rest",
                   {{"limit", kMaxStreams}, {"address", to_string(endpoint)}});
      break;
    }
    start(endpoint);
  }
  update_state();
}

void Streams::start(const asio::ip::tcp::endpoint& endpoint) {
  StreamOptions options = options_;
  options.address = host_port(endpoint);
  const auto peer = std::make_shared<Peer>(io_, log_, std::move(options), endpoint);
  // Weak: the stream's own callback must not keep it alive.
  peer->on_state = [this, weak = std::weak_ptr<Peer>(peer)] {
    if (const auto changed = weak.lock()) {
      peer_changed(changed);
    }
  };
  peer->stream.offer(newest_);
  peers_.push_back(peer);
  asio::co_spawn(io_, peer->stream.run(),
                 [this, peer](const std::exception_ptr& thrown, const Result<void>&) { ended(peer, thrown); });
}

void Streams::ended(const std::shared_ptr<Peer>& peer, const std::exception_ptr& thrown) {
  if (thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      log_.error("a stream ended, a new one begins",
                 {{"address", to_string(peer->endpoint)}, {"reason", error.what()}});
    }
    look_by(Clock::now() + timing_.look_soon);
  }
  if (!peer->left_alone || stopping_) {
    peers_.remove(peer);
  }
  if (stopping_) {
    next_look_.cancel();
    return;
  }
  update_state();
}

void Streams::peer_changed(const std::shared_ptr<Peer>& peer) {
  if (peer->leaving || stopping_) {
    return;
  }
  if (peer->is_connected()) {
    peer->instance = peer->stream.instance();
    leave_others_of(peer);
  } else {
    if (peer->instance) {
      take_up_left(*peer->instance);
    }
    look_by(Clock::now() + timing_.look_soon);
  }
  update_state();
}

void Streams::leave_others_of(const std::shared_ptr<Peer>& newest) {
  for (const auto& peer : peers_) {
    if (peer == newest || peer->leaving || peer->left_alone || peer->instance != newest->instance) {
      continue;
    }
    log_.info("two addresses of one aggregator, leaving one alone",
              {{"address", to_string(peer->endpoint)}, {"kept", to_string(newest->endpoint)}});
    peer->left_alone = true;
    peer->stream.stop();
  }
}

// The connection that stood for them is gone. They begin anew at the next look.
void Streams::take_up_left(const std::string& instance) {
  const Peers before = peers_;
  for (const auto& peer : before) {
    if (peer->left_alone && peer->instance == instance) {
      peer->left_alone = false;
      peer->leaving = true;  // where its last connection has not ended yet
      peers_.remove(peer);
    }
  }
}

void Streams::note_look_up(const Error& error) {
  if (failed_looks_ % kFailuresALogLine == 0) {
    log_.warning("the aggregator's name could not be looked up, trying on",
                 {{"address", to_string(options_.address)}, {"reason", error.what}, {"failures", failed_looks_ + 1}});
  }
  ++failed_looks_;
  look_by(Clock::now() + timing_.look_soon);
  if (peers_.empty()) {
    const std::string state = "not connected to " + to_string(options_.address) + ": " + error.what;
    if (state != state_) {
      state_ = state;
      if (on_state_) {
        on_state_();
      }
    }
  }
}

void Streams::stop() {
  stopping_ = true;
  const Peers before = peers_;
  for (const auto& peer : before) {
    if (peer->left_alone) {
      peers_.remove(peer);
    }
    peer->stream.stop();
  }
  next_look_.cancel();
  interruption_.cancel();
}

void Streams::reconnect(StreamOptions options) {
  options_ = std::move(options);
  ++options_turn_;
  failed_looks_ = 0;
  const Peers before = peers_;
  for (const auto& peer : before) {
    if (peer->left_alone) {
      peers_.remove(peer);
    }
    peer->leaving = true;
    peer->left_alone = false;
    peer->stream.stop();
  }
  next_look_.expires_at(Clock::now());
  interruption_.cancel();
}

void Streams::update_state() {
  std::size_t all = 0;
  std::size_t connected = 0;
  const Stream* shown = nullptr;  // the first that is connected; among several addresses the first that is not
  for (const auto& peer : peers_) {
    if (peer->leaving || peer->left_alone) {
      continue;
    }
    ++all;
    connected += peer->is_connected() ? 1 : 0;
    if (shown == nullptr || (shown->instance().has_value() && !peer->is_connected())) {
      shown = &peer->stream;
    }
  }
  const bool is_still_trying = connected == 0 && shown != nullptr && shown->state().rfind("connecting", 0) == 0;
  if (shown == nullptr || is_still_trying) {
    return;
  }
  std::string state = shown->state();
  if (all > 1) {
    state = "connected to " + std::to_string(connected) + " of " + std::to_string(all) + " addresses of " +
            to_string(options_.address) + (connected == all ? "" : "; " + state);
  }
  if (state != state_) {
    state_ = std::move(state);
    if (on_state_) {
      on_state_();
    }
  }
}

}  // namespace gpuskew
