#include "runtime/listener.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>

#include <asio/io_context.hpp>
#include <asio/read.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <gtest/gtest.h>

#include "runtime/log.h"
#include "tests/unit/runtime/event_loop.h"

namespace gpuskew {
namespace {

using asio::ip::tcp;

/// Reads until the peer closes or the connection is cancelled; counts its end.
asio::awaitable<void> hold(tcp::socket socket, int& ended) {
  std::array<char, 1> byte{};
  asio::error_code error;
  co_await socket.async_read_some(asio::buffer(byte), asio::redirect_error(asio::use_awaitable, error));
  ++ended;
}

asio::awaitable<void> break_at_once(tcp::socket) {
  throw std::runtime_error("a bug in the handler");
  co_return;
}

class ListenerTest : public testing::Test {
 protected:
  std::unique_ptr<Listener> open(ListenerOptions options = {}) {
    return open_with(std::move(options), [this](tcp::socket socket) { return hold(std::move(socket), ended_); });
  }
  std::unique_ptr<Listener> open_with(ListenerOptions options, Listener::Handler handler) {
    options.name = "test";
    options.endpoint = tcp::endpoint(asio::ip::address_v4::loopback(), 0);
    auto listener = Listener::open(io_, log_, options, std::move(handler));
    EXPECT_TRUE(listener) << listener.error().what;
    spawn(io_, run_and_note(**listener));
    return std::move(*listener);
  }
  asio::awaitable<void> run_and_note(Listener& listener) {
    const Result<void> ran = co_await listener.run();
    EXPECT_TRUE(ran);
    run_ended_ = true;
  }
  tcp::socket connect(const Listener& listener) {
    tcp::socket socket(io_);
    socket.connect(listener.endpoint());
    return socket;
  }
  /// Whether the server closed the connection.
  bool is_closed(tcp::socket& socket) {
    std::array<char, 1> byte{};
    asio::error_code error;
    socket.non_blocking(true);
    socket.read_some(asio::buffer(byte), error);
    return error && error != asio::error::would_block;
  }
  void finish(Listener& listener) {
    listener.stop();
    run_until(io_, [this] { return run_ended_; });
  }

  asio::io_context io_{1};
  Log log_{-1};
  int ended_ = 0;
  bool run_ended_ = false;
};

TEST_F(ListenerTest, HandsEachConnectionToItsOwnCoroutine) {
  const auto listener = open();
  auto one = connect(*listener);
  auto two = connect(*listener);
  run_until(io_, [&] { return listener->counts().open == 2; });
  one.close();
  run_until(io_, [&] { return listener->counts().open == 1; });
  EXPECT_EQ(listener->counts().accepted, 2U);
  finish(*listener);
  EXPECT_EQ(ended_, 2);
}

TEST_F(ListenerTest, ClosesEveryConnectionAtStop) {
  const auto listener = open();
  auto one = connect(*listener);
  auto two = connect(*listener);
  run_until(io_, [&] { return listener->counts().open == 2; });
  finish(*listener);
  EXPECT_EQ(ended_, 2);
  EXPECT_EQ(listener->counts().open, 0U);
  EXPECT_TRUE(is_closed(one));
  EXPECT_TRUE(is_closed(two));
}

TEST_F(ListenerTest, LetsConnectionsEndByThemselvesAfterClose) {
  const auto listener = open();
  auto one = connect(*listener);
  run_until(io_, [&] { return listener->counts().open == 1; });
  const tcp::endpoint endpoint = listener->endpoint();
  listener->close();
  io_.restart();
  io_.poll();
  EXPECT_FALSE(run_ended_);
  asio::error_code refused;
  tcp::socket(io_).connect(endpoint, refused);
  EXPECT_TRUE(refused);
  one.close();
  run_until(io_, [this] { return run_ended_; });
}

TEST_F(ListenerTest, ClosesConnectionsOverItsLimitAtOnce) {
  ListenerOptions options;
  options.max_connections = 1;
  const auto listener = open(options);
  auto one = connect(*listener);
  auto two = connect(*listener);
  run_until(io_, [&] { return listener->counts().refused == 1; });
  EXPECT_TRUE(is_closed(two));
  EXPECT_FALSE(is_closed(one));
  one.close();
  run_until(io_, [&] { return listener->counts().open == 0; });
  auto three = connect(*listener);
  run_until(io_, [&] { return listener->counts().open == 1; });
  finish(*listener);
}

TEST_F(ListenerTest, HoldsAStormBackToItsRate) {
  ListenerOptions options;
  options.accepts_per_second = 5;
  const auto listener = open(options);
  std::vector<tcp::socket> peers;
  for (int peer = 0; peer < 7; ++peer) {
    peers.push_back(connect(*listener));
  }
  run_until(io_, [&] { return listener->counts().delayed > 0; });
  EXPECT_EQ(listener->counts().accepted, 5U);
  run_until(io_, [&] { return listener->counts().accepted == 7; });
  finish(*listener);
}

TEST_F(ListenerTest, GoesOnWhenAHandlerThrows) {
  const auto listener = open_with({}, break_at_once);
  auto one = connect(*listener);
  auto two = connect(*listener);
  run_until(io_, [&] { return listener->counts().accepted == 2 && listener->counts().open == 0; });
  finish(*listener);
}

TEST_F(ListenerTest, AcceptsAgainAfterItRanOutOfDescriptors) {
  const auto listener = open();
  // A turn of the loop while there are descriptors: UBSan needs one (a pipe) the first time it checks a virtual call.
  io_.poll();
  io_.restart();
  auto peer = connect(*listener);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next_free = ::fcntl(0, F_DUPFD_CLOEXEC, 0);
  ASSERT_GE(next_free, 0);
  ::close(next_free);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next_free);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  run_until(io_, [&] { return listener->counts().failed > 0; });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  run_until(io_, [&] { return listener->counts().open == 1; });
  finish(*listener);
}

TEST_F(ListenerTest, NamesTheAddressThatIsInUse) {
  const auto listener = open();
  ListenerOptions options;
  options.endpoint = listener->endpoint();
  const auto second = Listener::open(io_, log_, options, break_at_once);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().what, "listening on " + to_string(listener->endpoint()) + ": address already in use");
  finish(*listener);
}

TEST(Listener, LeavesItsConnectionsToTheLoopWhenItGoesFirst) {
  int ended = 0;
  const Log log(-1);
  asio::io_context io(1);
  tcp::socket peer(io);
  {
    ListenerOptions options;
    options.endpoint = tcp::endpoint(asio::ip::address_v4::loopback(), 0);
    auto listener =
        Listener::open(io, log, options, [&](tcp::socket socket) { return hold(std::move(socket), ended); });
    ASSERT_TRUE(listener);
    asio::co_spawn(io, (*listener)->run(), [](std::exception_ptr, const Result<void>&) {});
    peer.connect((*listener)->endpoint());
    run_until(io, [&] { return (*listener)->counts().open == 1; });
  }
  io.restart();
  io.poll();
  EXPECT_EQ(ended, 0);
}

}  // namespace
}  // namespace gpuskew
