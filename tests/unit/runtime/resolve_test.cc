#include "runtime/resolve.h"

#include <asio/io_context.hpp>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/runtime/event_loop.h"

namespace gpuskew {
namespace {

using Endpoints = std::vector<asio::ip::tcp::endpoint>;

Result<Endpoints> resolve_now(const HostPort& address, Deadline deadline) {
  asio::io_context io(1);
  return run_to_end(io, resolve(address, deadline));
}

TEST(ParseHostPort, ReadsNamesAndAddresses) {
  EXPECT_EQ(parse_host_port("gpuskew.example:7481").value(), (HostPort{"gpuskew.example", 7481}));
  EXPECT_EQ(parse_host_port("192.0.2.1:0").value(), (HostPort{"192.0.2.1", 0}));
  EXPECT_EQ(parse_host_port("[2001:db8::1]:65535").value(), (HostPort{"2001:db8::1", 65535}));
}

TEST(ParseHostPort, SaysWhatIsWrong) {
  EXPECT_EQ(parse_host_port("host").error().what, "'host' is not HOST:PORT or [IPV6]:PORT");
  EXPECT_EQ(parse_host_port("::1:7481").error().what, "'::1:7481': write an IPv6 address in brackets, [::1]:7481");
  EXPECT_EQ(parse_host_port("host:65536").error().what, "'host:65536': the port is not a number from 0 to 65535");
  for (const char* const text :
       {"", ":", ":1", "host:", "host: 1", "[::1]", "[::1]7481", "[host]:1", "a b:1", "a/b:1", "[::1]:-1", "host:1x"}) {
    EXPECT_FALSE(parse_host_port(text)) << text;
  }
  EXPECT_FALSE(parse_host_port(std::string(254, 'a') + ":1"));
}

TEST(HostPort, PrintsWhatItReads) {
  for (const char* const text : {"host:1", "192.0.2.1:7481", "[::1]:7481"}) {
    EXPECT_EQ(to_string(parse_host_port(text).value()), text);
  }
}

TEST(ParseListenAddress, TakesAddressesInDigitsOnly) {
  EXPECT_EQ(to_string(parse_listen_address("0.0.0.0:7481").value()), "0.0.0.0:7481");
  EXPECT_EQ(to_string(parse_listen_address("[::]:0").value()), "[::]:0");
  EXPECT_NE(parse_listen_address("localhost:7481").error().what.find("in digits"), std::string::npos);
}

TEST(Resolve, AnswersAddressesInDigitsAtOnce) {
  const auto past = std::chrono::steady_clock::now() - std::chrono::seconds(1);
  EXPECT_EQ(to_string(resolve_now(HostPort{"192.0.2.1", 7481}, past).value().at(0)), "192.0.2.1:7481");
  EXPECT_EQ(to_string(resolve_now(HostPort{"::1", 7481}, past).value().at(0)), "[::1]:7481");
}

TEST(Resolve, FindsLocalhost) {
  const auto found = resolve_now(HostPort{"localhost", 7481}, soon());
  ASSERT_TRUE(found) << found.error().what;
  ASSERT_FALSE(found->empty());
  EXPECT_TRUE(found->at(0).address().is_loopback());
  EXPECT_EQ(found->at(0).port(), 7481);
}

TEST(Resolve, NamesTheHostThatIsNotThere) {
  const auto found = resolve_now(HostPort{"no-such-host.invalid", 1}, soon());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().what.substr(0, 32), "looking up no-such-host.invalid:");
}

TEST(Resolve, GivesUpAtItsDeadlineAndOutlivesItsLoop) {
  // The deadline has passed, so the answer, if it comes, finds neither a coroutine nor an io_context.
  const auto found = resolve_now(HostPort{"no-such-host.invalid", 1}, std::chrono::steady_clock::time_point());
  EXPECT_FALSE(found);
}

RC_GTEST_PROP(ParseHostPort, NeverAcceptsWhatItWouldPrintDifferently, (const std::string& text)) {
  const auto parsed = parse_host_port(text);
  if (parsed) {
    RC_ASSERT(parse_host_port(to_string(*parsed)).value() == *parsed);
  }
}

}  // namespace
}  // namespace gpuskew
