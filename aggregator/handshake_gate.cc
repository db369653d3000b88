#include "aggregator/handshake_gate.h"

#include <poll.h>

#include <utility>

#include <asio/experimental/as_tuple.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

namespace gpuskew {

struct HandshakeGate::Place::Hold {
  Hold(std::shared_ptr<State> gate, const asio::any_io_executor& executor)
      : state(std::move(gate)), timer(executor, asio::steady_timer::time_point::max()) {}
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  void release();

  std::shared_ptr<State> state;
  /// While waiting it ends when the place is given; then it runs for kPlaceTime.
  asio::steady_timer timer;
  bool held = false;
  bool waited = false;
  bool abandoned = false;
};

struct HandshakeGate::State {
  std::size_t running = 0;
  std::deque<std::shared_ptr<Place::Hold>> queue;

  /// A place became free: the next who still waits gets it.
  void pass_on() {
    --running;
    while (!queue.empty()) {
      const std::shared_ptr<Place::Hold> next = std::move(queue.front());
      queue.pop_front();
      if (!next->abandoned) {
        next->held = true;
        ++running;
        next->timer.cancel();
        return;
      }
    }
  }
};

void HandshakeGate::Place::Hold::release() {
  if (std::exchange(held, false)) {
    state->pass_on();
  }
}

HandshakeGate::Place::Place(std::shared_ptr<Hold> hold) : hold_(std::move(hold)) {}

HandshakeGate::Place& HandshakeGate::Place::operator=(Place&& other) noexcept {
  const Place released(std::exchange(hold_, std::move(other.hold_)));
  return *this;
}

HandshakeGate::Place::~Place() {
  if (hold_ != nullptr) {
    hold_->abandoned = true;
    hold_->release();
    hold_->timer.cancel();
  }
}

bool HandshakeGate::Place::has_waited() const {
  return hold_ != nullptr && hold_->waited;
}

HandshakeGate::HandshakeGate(std::size_t max_running, Duration place_time)
    : state_(std::make_shared<State>()), max_running_(max_running), place_time_(place_time) {}

asio::awaitable<HandshakeGate::Place> HandshakeGate::enter() {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  auto hold = std::make_shared<Place::Hold>(state_, executor);
  // From here on the place, or the wait for it, ends with this coroutine.
  Place place(hold);
  if (state_->running < max_running_) {
    hold->held = true;
    ++state_->running;
  } else {
    hold->waited = true;
    state_->queue.push_back(hold);
    co_await hold->timer.async_wait(asio::experimental::as_tuple(asio::use_awaitable));
  }
  hold->timer.expires_after(place_time_);
  const std::weak_ptr<Place::Hold> weak = hold;
  hold->timer.async_wait([weak](const asio::error_code& error) {
    const std::shared_ptr<Place::Hold> late = weak.lock();
    if (!error && late != nullptr) {
      late->release();
    }
  });
  co_return place;
}

std::size_t HandshakeGate::running() const {
  return state_->running;
}

std::size_t HandshakeGate::waiting() const {
  return state_->queue.size();
}

bool has_hung_up(int fd) {
  pollfd asked{fd, POLLRDHUP, 0};
  return ::poll(&asked, 1, 0) > 0 && (asked.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace gpuskew
