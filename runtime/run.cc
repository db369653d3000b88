#include "runtime/run.h"

#include <csignal>
#include <exception>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>

#include "runtime/log.h"
#include "runtime/systemd.h"

namespace gpuskew {
namespace {

enum class Phase : std::uint8_t { Running, Draining, Cancelling, Done };

struct Task {
  std::string name;
  std::optional<asio::awaitable<Result<void>>> work;  // until it is started
  std::function<void()> stop;
  asio::cancellation_signal cancel;
  bool is_alive = true;
};

/// What leaves a task that was cancelled is no error of its own.
struct Outcome {
  Result<void> result;
  bool was_cancelled = false;
};

Outcome outcome_of(const std::exception_ptr& thrown, Result<void> result) {
  if (!thrown) {
    return Outcome{std::move(result), false};
  }
  try {
    std::rethrow_exception(thrown);
  } catch (const asio::system_error& error) {
    return Outcome{fail(ErrorCode::Internal, error.what()), error.code() == asio::error::operation_aborted};
  } catch (const std::exception& error) {
    return Outcome{fail(ErrorCode::Internal, error.what()), false};
  } catch (...) {
    return Outcome{fail(ErrorCode::Internal, "an exception of unknown type"), false};
  }
}

}  // namespace

struct Run::State {
  State(asio::io_context& context, const Log& to, const ServiceManager& service, Duration limit)
      : io(context),
        log(to),
        manager(service),
        stop_limit(limit),
        stop_signals(context, SIGTERM, SIGINT),
        reload_signals(context, SIGHUP),
        phase_timer(context),
        watchdog_timer(context) {
    std::signal(SIGPIPE, SIG_IGN);
  }

  void start();
  void wait_for_stop_signal();
  void wait_for_reload_signal();
  void reload_now();
  void keep_alive();
  void task_ended(Task& task, const Outcome& outcome);
  void begin_stop();
  void cancel_rest();
  void give_up();
  void finish();
  bool any_alive(bool with_stop_only) const;
  void remember(const Task& task, const Error& error);
  void report(std::string_view what, const Result<void>& told) const;

  asio::io_context& io;
  const Log& log;
  const ServiceManager& manager;
  Duration stop_limit;
  asio::signal_set stop_signals;
  asio::signal_set reload_signals;
  asio::steady_timer phase_timer;
  asio::steady_timer watchdog_timer;
  std::vector<std::unique_ptr<Task>> tasks;
  std::function<void()> reload;
  Phase phase = Phase::Running;
  Result<void> result;
};

void Run::State::report(std::string_view what, const Result<void>& told) const {
  if (!told) {
    log.warning(what, {{"reason", told.error().what}});
  }
}

void Run::State::start() {
  wait_for_stop_signal();
  wait_for_reload_signal();
  keep_alive();
  for (const auto& task : tasks) {
    asio::awaitable<Result<void>> work = std::move(*task->work);
    task->work.reset();
    asio::co_spawn(
        io, std::move(work),
        asio::bind_cancellation_slot(task->cancel.slot(),
                                     [this, &task = *task](const std::exception_ptr& thrown, Result<void> ended) {
                                       task_ended(task, outcome_of(thrown, std::move(ended)));
                                     }));
  }
}

void Run::State::wait_for_stop_signal() {
  stop_signals.async_wait([this](asio::error_code error, int number) {
    if (error) {
      return;
    }
    log.info("stopping", {{"signal", number}});
    if (phase == Phase::Running) {
      begin_stop();
    } else if (phase == Phase::Draining) {
      cancel_rest();
    }
    wait_for_stop_signal();
  });
}

void Run::State::wait_for_reload_signal() {
  reload_signals.async_wait([this](asio::error_code error, int) {
    if (error) {
      return;
    }
    if (phase == Phase::Running) {
      reload_now();
    }
    wait_for_reload_signal();
  });
}

void Run::State::reload_now() {
  if (!reload) {
    log.info("nothing to reload, ignoring SIGHUP");
    return;
  }
  report("systemd does not know of the reload", manager.reloading());
  try {
    reload();
  } catch (const std::exception& error) {
    log.error("reload failed", {{"reason", error.what()}});
  }
  report("systemd does not know that the reload ended", manager.ready());
}

void Run::State::keep_alive() {
  const auto interval = manager.watchdog_interval();
  if (!interval) {
    return;
  }
  report("watchdog keep-alive not sent", manager.keep_alive());
  watchdog_timer.expires_after(*interval / 2);
  watchdog_timer.async_wait([this](asio::error_code error) {
    if (!error) {
      keep_alive();
    }
  });
}

bool Run::State::any_alive(bool with_stop_only) const {
  for (const auto& task : tasks) {
    if (task->is_alive && (task->stop || !with_stop_only)) {
      return true;
    }
  }
  return false;
}

void Run::State::remember(const Task& task, const Error& error) {
  if (result) {
    result = fail(task.name, error);
  } else {
    log.error("a second task failed", {{"task", task.name}, {"reason", error.what}});
  }
}

void Run::State::task_ended(Task& task, const Outcome& outcome) {
  task.is_alive = false;
  const bool own_end = phase == Phase::Running || (phase == Phase::Draining && !outcome.was_cancelled);
  if (own_end && !outcome.result) {
    remember(task, outcome.result.error());
  }
  if (phase == Phase::Running) {
    log.debug("stopping", {{"ended", task.name}});
    begin_stop();
  } else if (!any_alive(false)) {
    finish();
  } else if (phase == Phase::Draining && !any_alive(true)) {
    cancel_rest();
  }
}

void Run::State::begin_stop() {
  phase = Phase::Draining;
  report("systemd does not know of the stop", manager.stopping());
  for (const auto& task : tasks) {
    if (task->is_alive && task->stop) {
      task->stop();
    }
  }
  if (!any_alive(true)) {
    cancel_rest();
    return;
  }
  phase_timer.expires_after(stop_limit);
  phase_timer.async_wait([this](asio::error_code error) {
    if (!error && phase == Phase::Draining) {
      log.warning("not drained in time, cancelling", {{"limit_ms", stop_limit.count()}});
      cancel_rest();
    }
  });
}

void Run::State::cancel_rest() {
  phase = Phase::Cancelling;
  if (!any_alive(false)) {
    finish();
    return;
  }
  phase_timer.expires_after(stop_limit);
  phase_timer.async_wait([this](asio::error_code error) {
    if (!error && phase == Phase::Cancelling) {
      give_up();
    }
  });
  for (const auto& task : tasks) {
    if (task->is_alive) {
      task->cancel.emit(asio::cancellation_type::terminal);
    }
  }
}

void Run::State::give_up() {
  for (const auto& task : tasks) {
    if (task->is_alive) {
      remember(*task, Error{ErrorCode::Timeout, "did not stop within " + to_short_text(stop_limit)});
    }
  }
  finish();
}

void Run::State::finish() {
  phase = Phase::Done;
  io.stop();
}

Run::Run(asio::io_context& io, const Log& log, const ServiceManager& manager, Duration stop_limit)
    : state_(std::make_unique<State>(io, log, manager, stop_limit)) {}

Run::~Run() = default;

void Run::add(std::string name, asio::awaitable<Result<void>> work, std::function<void()> stop) {
  auto task = std::make_unique<Task>();
  task->name = std::move(name);
  task->work.emplace(std::move(work));
  task->stop = std::move(stop);
  state_->tasks.push_back(std::move(task));
}

void Run::on_reload(std::function<void()> reload) {
  state_->reload = std::move(reload);
}

Result<void> Run::until_stopped() {
  state_->start();
  state_->io.run();
  return state_->result;
}

}  // namespace gpuskew
