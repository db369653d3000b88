#include "runtime/run.h"

#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include <asio/cancellation_state.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include "runtime/log.h"
#include "runtime/systemd.h"
#include "tests/unit/runtime/notify_socket.h"

namespace gpuskew {
namespace {

using Timer = asio::steady_timer;
using Work = asio::awaitable<Result<void>>;

/// Counts its own destruction: a coroutine's local.
struct Local {
  explicit Local(int& count) : destroyed(count) {}
  ~Local() { ++destroyed; }
  Local(const Local&) = delete;
  Local& operator=(const Local&) = delete;
  int& destroyed;
};

asio::awaitable<void> next_turn() {
  const auto executor = co_await asio::this_coro::executor;
  co_await asio::post(executor, asio::use_awaitable);
}

Work wait_forever(int& destroyed) {
  const Local local(destroyed);
  const auto executor = co_await asio::this_coro::executor;
  Timer timer(executor, Timer::time_point::max());
  co_await timer.async_wait(asio::use_awaitable);
  co_return Result<void>();
}

Work end_with(Result<void> result) {
  co_await next_turn();
  co_return result;
}

Work throw_error() {
  co_await next_turn();
  throw std::runtime_error("broken");
}

/// Ends when `timer` is cancelled, as a listener does that was asked to drain.
Work drain_on(Timer& timer, std::string& order, int turns) {
  asio::error_code error;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
  for (int turn = 0; turn < turns; ++turn) {
    co_await next_turn();
  }
  order += "drained ";
  co_return Result<void>();
}

Work note_cancellation(std::string& order) {
  const auto executor = co_await asio::this_coro::executor;
  Timer timer(executor, Timer::time_point::max());
  asio::error_code error;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
  order += "cancelled ";
  co_return Result<void>();
}

Work ignore_cancellation(int& destroyed) {
  const Local local(destroyed);
  co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
  const auto executor = co_await asio::this_coro::executor;
  Timer timer(executor, Timer::time_point::max());
  co_await timer.async_wait(asio::use_awaitable);
  co_return Result<void>();
}

class RunTest : public testing::Test {
 protected:
  /// Sends this process a signal once the loop runs.
  void raise_soon(int number) {
    asio::post(io_, [number] { std::raise(number); });
  }

  asio::io_context io_{1};
  Log log_{-1};
  ServiceManager manager_;
  int destroyed_ = 0;
};

TEST_F(RunTest, StopsEveryTaskOnSigtermAndRunsTheirDestructors) {
  gpuskew::Run run(io_, log_, manager_);
  run.add("one", wait_forever(destroyed_));
  run.add("two", wait_forever(destroyed_));
  raise_soon(SIGTERM);
  const auto ended = run.until_stopped();
  EXPECT_TRUE(ended) << ended.error().what;
  EXPECT_EQ(destroyed_, 2);
}

TEST_F(RunTest, StopsOnSigintWithoutAnyTask) {
  gpuskew::Run run(io_, log_, manager_);
  raise_soon(SIGINT);
  EXPECT_TRUE(run.until_stopped());
}

TEST_F(RunTest, DoesNotLoseASignalSentBeforeTheLoopRuns) {
  gpuskew::Run run(io_, log_, manager_);
  run.add("one", wait_forever(destroyed_));
  std::raise(SIGTERM);
  EXPECT_TRUE(run.until_stopped());
}

TEST_F(RunTest, ReturnsTheErrorOfTheFirstTaskThatFailsWithItsName) {
  gpuskew::Run run(io_, log_, manager_);
  run.add("waiter", wait_forever(destroyed_));
  run.add("store", end_with(fail(ErrorCode::Denied, "disk full")));
  const auto ended = run.until_stopped();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error(), (Error{ErrorCode::Denied, "store: disk full"}));
  EXPECT_EQ(destroyed_, 1);
}

TEST_F(RunTest, TurnsAnExceptionIntoAnError) {
  gpuskew::Run run(io_, log_, manager_);
  run.add("waiter", wait_forever(destroyed_));
  run.add("ingest", throw_error());
  const auto ended = run.until_stopped();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().what, "ingest: broken");
  EXPECT_EQ(destroyed_, 1);
}

TEST_F(RunTest, StopsWellWhenATaskEndsWell) {
  gpuskew::Run run(io_, log_, manager_);
  run.add("waiter", wait_forever(destroyed_));
  run.add("once", end_with({}));
  EXPECT_TRUE(run.until_stopped());
  EXPECT_EQ(destroyed_, 1);
}

TEST_F(RunTest, CancelsTheOthersOnlyAfterTheDrainingTasksEnded) {
  Timer asked(io_, Timer::time_point::max());
  std::string order;
  gpuskew::Run run(io_, log_, manager_);
  run.add("writer", note_cancellation(order));
  run.add("listener", drain_on(asked, order, 5), [&] {
    order += "asked ";
    asked.cancel();
  });
  raise_soon(SIGTERM);
  EXPECT_TRUE(run.until_stopped());
  EXPECT_EQ(order, "asked drained cancelled ");
}

TEST_F(RunTest, CancelsADrainThatTakesTooLong) {
  gpuskew::Run run(io_, log_, manager_, std::chrono::milliseconds(20));
  run.add("listener", wait_forever(destroyed_), [] {});
  raise_soon(SIGTERM);
  EXPECT_TRUE(run.until_stopped());
  EXPECT_EQ(destroyed_, 1);
}

TEST_F(RunTest, CancelsTheDrainAtASecondSignal) {
  gpuskew::Run run(io_, log_, manager_, std::chrono::hours(1));
  run.add("listener", wait_forever(destroyed_), [] { std::raise(SIGTERM); });
  raise_soon(SIGTERM);
  EXPECT_TRUE(run.until_stopped());
  EXPECT_EQ(destroyed_, 1);
}

TEST(Run, NamesATaskThatDoesNotStopAndDestroysItWithTheLoop) {
  int destroyed = 0;
  const Log log(-1);
  const ServiceManager manager;
  {
    asio::io_context io(1);
    gpuskew::Run run(io, log, manager, std::chrono::milliseconds(20));
    run.add("stuck", ignore_cancellation(destroyed));
    asio::post(io, [] { std::raise(SIGTERM); });
    const auto ended = run.until_stopped();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error(), (Error{ErrorCode::Timeout, "stuck: did not stop within 0s"}));
  }
  EXPECT_EQ(destroyed, 1);
}

TEST_F(RunTest, ReloadsOnSighupAndGoesOn) {
  int reloads = 0;
  gpuskew::Run run(io_, log_, manager_);
  run.add("one", wait_forever(destroyed_));
  run.on_reload([&] {
    std::raise(++reloads < 2 ? SIGHUP : SIGTERM);
    throw std::runtime_error("broken configuration");
  });
  raise_soon(SIGHUP);
  EXPECT_TRUE(run.until_stopped());
  EXPECT_EQ(reloads, 2);
}

TEST_F(RunTest, IgnoresSighupWithoutAReloadFunction) {
  gpuskew::Run run(io_, log_, manager_);
  asio::post(io_, [] {
    std::raise(SIGHUP);
    std::raise(SIGTERM);
  });
  EXPECT_TRUE(run.until_stopped());
}

TEST_F(RunTest, TellsSystemdOfReloadStopAndLife) {
  const NotifySocket socket;
  // A few keep-alives only: nobody reads the socket while the loop runs, and its queue is short.
  ::setenv("WATCHDOG_USEC", "80000", 1);
  auto manager = ServiceManager::from_environment();
  ::unsetenv("WATCHDOG_USEC");
  ASSERT_TRUE(manager);
  gpuskew::Run run(io_, log_, *manager);
  int reloads = 0;
  run.on_reload([&] { ++reloads; });
  Timer later(io_, std::chrono::milliseconds(100));
  later.async_wait([](asio::error_code) {
    std::raise(SIGHUP);
    std::raise(SIGTERM);
  });
  EXPECT_TRUE(run.until_stopped());
  int keep_alives = 0;
  std::string others;
  for (std::string sent = socket.receive_now(); sent != "nothing received"; sent = socket.receive_now()) {
    if (sent == "WATCHDOG=1") {
      ++keep_alives;
    } else {
      others += sent.substr(0, sent.find('=')) + " ";
    }
  }
  EXPECT_GE(keep_alives, 2);
  EXPECT_EQ(reloads, others.find("RELOADING") != std::string::npos ? 1 : 0);
  EXPECT_NE(others.find("STOPPING "), std::string::npos) << others;
}

}  // namespace
}  // namespace gpuskew
