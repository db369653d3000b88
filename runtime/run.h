#pragma once

// A daemon's life: its long-lived coroutines on one io_context, until a signal or until one of them ends. `a || b` of
// asio waits for the first SUCCESS, so a loop that failed would go unseen; here every end is seen.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <asio/awaitable.hpp>

#include "core/result.h"
#include "core/time.h"

namespace asio {
class io_context;
}

namespace gpuskew {

class Log;
class ServiceManager;

/// How long each phase of the stop may take.
inline constexpr Duration kStopLimit = std::chrono::seconds(5);

/// Made in main before anything is started, so that a signal during start-up is not lost; ignores SIGPIPE.
///
/// SIGTERM or SIGINT, or the first task that ends, begins the stop:
///   1. every task's `stop` is called (stop input, drain); those tasks have kStopLimit to end by themselves;
///   2. all tasks that are left are cancelled and have kStopLimit to unwind. One that still stays is named in the
///   error;
///      its frame is destroyed with the io_context.
/// A second signal during phase 1 goes straight to phase 2. SIGHUP runs the reload function between two turns of the
/// loop. systemd is told RELOADING, READY and STOPPING, and kept informed from this loop at half the watchdog's
/// interval, so a stuck loop is noticed. READY at start is main's to say.
class Run {
 public:
  /// References must outlive the object.
  Run(asio::io_context& io, const Log& log, const ServiceManager& manager, Duration stop_limit = kStopLimit);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// `work` starts in until_stopped(); a capturing lambda must not be its only owner of what it uses: pass a member
  /// coroutine of an object that main keeps. It ends with a success, or an error that becomes until_stopped()'s.
  /// `stop` (may be empty) asks it to end in phase 1; without one the task is cancelled in phase 2.
  void add(std::string name, asio::awaitable<Result<void>> work, std::function<void()> stop = {});

  /// Called for each SIGHUP; logs its own errors. Without one SIGHUP is logged and does nothing else.
  void on_reload(std::function<void()> reload);

  /// Runs io until everything ended. Success after a signal, or when the first task to end ended well; otherwise
  /// "NAME: why" of the first that failed. Exceptions that leave a task are its error. Call once.
  Result<void> until_stopped();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpuskew
