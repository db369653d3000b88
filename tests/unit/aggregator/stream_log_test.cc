#include "aggregator/stream_log.h"

#include <gtest/gtest.h>

#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

const Refused kRefused{RefusedReason::Identity, "the certificate names a", "b"};

TEST(StreamLog, NamesReasonPeerCertificateAndNode) {
  CapturedLog captured;
  StreamLog log(captured.log());
  log.refused(kRefused, "192.0.2.7:1234", "a", kNow);
  const std::string text = captured.text();
  for (const char* part : {"refused agent", "reason=identity", "peer=192.0.2.7:1234", "certificate=a", "node=b"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(StreamLog, WritesABurstThenALineASecondAndSaysHowManyItLeftOut) {
  CapturedLog captured;
  StreamLog log(captured.log());
  for (std::int64_t i = 0; i < StreamLog::kBurst + 7; ++i) {
    log.refused(kRefused, "p", "a", kNow);
  }
  EXPECT_EQ(captured.count("refused agent"), static_cast<std::size_t>(StreamLog::kBurst));
  log.refused(kRefused, "p", "a", kNow + StreamLog::kEvery);
  EXPECT_EQ(captured.count("lines_left_out=7"), 1u) << captured.text();
}

TEST(StreamLog, GoesOnWhenTheClockIsSetBack) {
  CapturedLog captured;
  StreamLog log(captured.log());
  for (std::int64_t i = 0; i < StreamLog::kBurst; ++i) {
    log.replaced("a", "p", "q", kNow);
  }
  const Time earlier = kNow - std::chrono::hours(1);
  log.replaced("a", "p", "q", earlier);
  log.replaced("a", "p", "q", earlier + StreamLog::kEvery);
  EXPECT_EQ(captured.count("agent connected again"), static_cast<std::size_t>(StreamLog::kBurst) + 1);
}

}  // namespace
}  // namespace gpuskew
