#include "runtime/ready_socket.h"

#include <asio/post.hpp>
#include <asio/write.hpp>
#include <gtest/gtest.h>

#include "tests/unit/runtime/connected_pair.h"
#include "tests/unit/runtime/event_loop.h"

namespace gpuskew {
namespace {

using asio::ip::tcp;

class ReadySocketTest : public testing::Test {
 protected:
  asio::io_context io_{1};
  std::pair<tcp::socket, tcp::socket> pair_ = connected_pair(io_);
  std::shared_ptr<ReadySocket> socket_ = std::make_shared<ReadySocket>(std::move(pair_.first));
};

Deadline in(std::chrono::milliseconds wait) {
  return std::chrono::steady_clock::now() + wait;
}

TEST_F(ReadySocketTest, IsReadableOnceBytesAreThere) {
  asio::post(io_, [this] { asio::write(pair_.second, asio::buffer("x", 1)); });
  EXPECT_TRUE(run_to_end(io_, wait_readable(socket_, soon())));
}

TEST_F(ReadySocketTest, IsWritableAtOnceAndNeedsNoDeadline) {
  EXPECT_TRUE(run_to_end(io_, wait_writable(socket_, kNoDeadline)));
}

TEST_F(ReadySocketTest, TimesOutAtItsDeadline) {
  const auto waited = run_to_end(io_, wait_readable(socket_, in(std::chrono::milliseconds(20))));
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, ErrorCode::Timeout);
}

TEST_F(ReadySocketTest, CanWaitAgainAfterATimeoutAndIsNotDisturbedByAnOldTimer) {
  EXPECT_FALSE(run_to_end(io_, wait_readable(socket_, in(std::chrono::milliseconds(1)))));
  EXPECT_TRUE(run_to_end(io_, wait_writable(socket_, in(std::chrono::milliseconds(1)))));
  asio::post(io_, [this] { asio::write(pair_.second, asio::buffer("x", 1)); });
  EXPECT_TRUE(run_to_end(io_, wait_readable(socket_, soon())));
}

TEST_F(ReadySocketTest, EndsItsWaitWhenTheSocketIsClosed) {
  asio::post(io_, [this] { socket_->socket.close(); });
  const auto waited = run_to_end(io_, wait_readable(socket_, soon()));
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().code, ErrorCode::Unreachable);
}

TEST_F(ReadySocketTest, NamesItsPeer) {
  EXPECT_EQ(peer_address(socket_->socket), to_string(pair_.second.local_endpoint()));
  EXPECT_EQ(peer_address(tcp::socket(io_)), "unknown");
}

TEST_F(ReadySocketTest, ConnectsToTheFirstAddressThatAnswers) {
  tcp::acceptor refusing(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const tcp::endpoint nobody = refusing.local_endpoint();
  refusing.close();
  tcp::acceptor acceptor(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const std::vector<tcp::endpoint> endpoints = {nobody, acceptor.local_endpoint()};
  const auto connected = run_to_end(io_, connect_tcp(endpoints, soon()));
  ASSERT_TRUE(connected) << connected.error().what;
  EXPECT_EQ(connected->remote_endpoint(), acceptor.local_endpoint());
}

TEST_F(ReadySocketTest, NamesTheAddressThatRefusedTheConnection) {
  tcp::acceptor refusing(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const tcp::endpoint nobody = refusing.local_endpoint();
  refusing.close();
  const auto connected = run_to_end(io_, connect_tcp(std::vector<tcp::endpoint>(1, nobody), soon()));
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error(),
            (Error{ErrorCode::Unreachable, "connecting to " + to_string(nobody) + ": connection refused"}));
  EXPECT_FALSE(run_to_end(io_, connect_tcp(std::vector<tcp::endpoint>(), soon())));
}

TEST_F(ReadySocketTest, StopsConnectingAtTheDeadline) {
  // A listener whose backlog is full does not answer: the kernel drops further SYNs.
  tcp::acceptor full(io_);
  full.open(tcp::v4());
  full.bind(tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  full.listen(0);
  tcp::socket first(io_);
  first.connect(full.local_endpoint());
  const std::vector<tcp::endpoint> endpoints(1, full.local_endpoint());
  const auto second = run_to_end(io_, connect_tcp(endpoints, in(std::chrono::milliseconds(50))));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::Timeout);
}

}  // namespace
}  // namespace gpuskew
