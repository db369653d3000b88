#pragma once

// In a reconnect storm every agent is here at once. Sharing the processor among all handshakes would end them all at
// the same late moment, past everybody's patience, and the work would be lost: so they are done a few at a time, first
// come, first served.

#include <cstddef>
#include <deque>
#include <memory>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>

#include "core/time.h"

namespace gpuskew {

class HandshakeGate {
 public:
  /// At 1 to 2 ms of processor each and a round trip of 50 ms, these keep one core busy.
  static constexpr std::size_t kMaxRunning = 64;
  /// A peer that stalls in its handshake keeps its place this long; then the next one is let in beside it.
  static constexpr Duration kPlaceTime = std::chrono::seconds(1);

  struct State;

  /// A place, given back when this goes or when kPlaceTime is over. May outlive the gate.
  class Place {
   public:
    Place(Place&&) noexcept = default;
    Place& operator=(Place&& other) noexcept;
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place();

    /// Whether it had to wait for this place.
    bool has_waited() const;

   private:
    friend class HandshakeGate;
    struct Hold;
    explicit Place(std::shared_ptr<Hold> hold);
    std::shared_ptr<Hold> hold_;
  };

  explicit HandshakeGate(std::size_t max_running = kMaxRunning, Duration place_time = kPlaceTime);

  /// Waits for a place. When the caller is cancelled meanwhile, its next await throws, as everywhere in asio.
  asio::awaitable<Place> enter();

  std::size_t running() const;
  std::size_t waiting() const;

 private:
  std::shared_ptr<State> state_;
  std::size_t max_running_;
  Duration place_time_;
};

/// Whether the peer of this descriptor has closed or reset the connection: it gave up while it waited.
bool has_hung_up(int fd);

}  // namespace gpuskew
