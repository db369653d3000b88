#pragma once

// The stream to one address over time: connects, reconnects with backoff and full jitter, and says in the log what
// changed, not what it tried. Which addresses there are is streams.h's.

#include <functional>
#include <memory>
#include <string>

#include <asio/awaitable.hpp>
#include <asio/steady_timer.hpp>

#include "agent/stream_session.h"

namespace asio {
class io_context;
}

namespace gpuskew {

class Log;

/// Of the failures in a row the first is logged, then every so many, and each of another kind than the one before.
inline constexpr int kFailuresALogLine = 10;

class Stream {
 public:
  /// `io` and `log` must outlive the object. `on_state` is called after each change of state().
  Stream(asio::io_context& io, const Log& log, StreamOptions options, std::function<void()> on_state = {});

  /// Replaces what was offered before. Never waits.
  void offer(std::shared_ptr<const Snapshot> snapshot) { outbox_.offer(std::move(snapshot)); }

  /// A task for Run: until stop(). Keeps the connection, whatever it takes; never fails.
  asio::awaitable<Result<void>> run();

  /// Ends once the newest snapshot was acknowledged, or with the last error at `deadline`; at once for what another try
  /// would not mend (a refused certificate, a file that is not there).
  asio::awaitable<Result<void>> deliver_once(Deadline deadline);

  void stop();
  /// Connects anew, by these options; also with the same ones, for new certificates.
  void reconnect(StreamOptions options);

  /// "connected to gpuskew.example:7481", "not connected to gpuskew.example:7481: connection refused".
  const std::string& state() const { return state_; }
  /// The aggregator's name for this run of it while something it said stands; nullopt while not connected.
  const std::optional<std::string>& instance() const { return instance_; }

 private:
  struct End {
    Result<void> result;
    bool was_good = false;  ///< something was acknowledged on it
  };

  /// One connection, from the look-up to its end. `once`: also ends when a snapshot was acknowledged.
  asio::awaitable<End> one_connection(bool once);
  asio::awaitable<Result<std::shared_ptr<StreamSession>>> open_session();
  asio::awaitable<Result<std::shared_ptr<StreamSession>>> until_interrupted();
  asio::awaitable<void> sleep_until(Deadline until);
  bool is_interrupted() const { return stopping_ || reconnecting_; }
  void interrupt();

  void note_connected(const StreamSession& session);
  void note_end(const End& end);
  void note_retry(Duration wait);
  void set_state(std::string state);

  const Log& log_;
  StreamOptions options_;
  std::function<void()> on_state_;
  Outbox outbox_;
  asio::steady_timer interruption_;
  Backoff backoff_;
  std::string state_;
  std::optional<std::string> instance_;
  bool stopping_ = false;
  bool reconnecting_ = false;
  int failures_ = 0;  ///< since a connection was good
  Error last_failure_;
};

}  // namespace gpuskew
