#include "runtime/frame.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gpuskew {
namespace {

std::string framed(std::string_view payload) {
  std::string out;
  EXPECT_TRUE(append_frame(out, payload));
  return out;
}

/// All frames that are whole in `bytes`, copied; stops at an error.
std::vector<std::string> take_all(FrameReader& reader, std::string_view bytes) {
  std::vector<std::string> frames;
  reader.feed(bytes);
  for (;;) {
    const auto frame = reader.next();
    if (!frame || !*frame) {
      return frames;
    }
    frames.emplace_back(**frame);
  }
}

TEST(AppendFrame, WritesABigEndianLengthBeforeThePayload) {
  std::string out = "before";
  ASSERT_TRUE(append_frame(out, "abc"));
  EXPECT_EQ(out, std::string("before\0\0\0\3abc", 13));
  EXPECT_EQ(framed(std::string(0x10203, 'x')).substr(0, 4), std::string("\0\1\2\3", 4));
}

TEST(AppendFrame, RefusesAPayloadOverTheLimitAndLeavesTheOutputAlone) {
  std::string out = "before";
  const auto appended = append_frame(out, std::string(kMaxFrameBytes + 1, 'x'));
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, ErrorCode::TooLarge);
  EXPECT_EQ(out, "before");
}

TEST(FrameReader, GivesViewsIntoTheCallersBytes) {
  const std::string bytes = framed("one") + framed("two");
  FrameReader reader;
  reader.feed(bytes);
  EXPECT_EQ(reader.next().value()->data(), bytes.data() + 4);
  EXPECT_EQ(reader.next().value().value(), "two");
  EXPECT_FALSE(reader.next().value().has_value());
  EXPECT_EQ(reader.held_bytes(), 0U);
}

TEST(FrameReader, PassesOnAnEmptyFrame) {
  const std::string bytes = framed("");
  FrameReader reader;
  reader.feed(bytes);
  EXPECT_EQ(reader.next().value().value(), "");
  EXPECT_FALSE(reader.next().value().has_value());
}

TEST(FrameReader, TakesAFrameOfExactlyTheLimit) {
  const std::string payload(kMaxFrameBytes, 'x');
  FrameReader reader;
  EXPECT_EQ(take_all(reader, framed(payload)), std::vector<std::string>{payload});
}

TEST(FrameReader, RefusesAGibibyteFromItsHeaderWithoutHoldingMemory) {
  FrameReader reader;
  const std::string header("\x40\0\0\0", 4);
  reader.feed(header);
  const auto frame = reader.next();
  ASSERT_FALSE(frame);
  EXPECT_EQ(frame.error().code, ErrorCode::TooLarge);
  EXPECT_EQ(frame.error().what, "a frame of 1073741824 bytes, the limit is 1048576");
  EXPECT_EQ(reader.held_bytes(), 0U);
}

TEST(FrameReader, RefusesALongHeaderThatArrivesByteByByte) {
  FrameReader reader;
  const std::string header("\xff\xff\xff\xff", 4);
  for (std::size_t at = 0; at < 3; ++at) {
    EXPECT_TRUE(take_all(reader, std::string_view(header).substr(at, 1)).empty());
  }
  reader.feed(std::string_view(header).substr(3));
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.held_bytes(), 0U);
}

TEST(FrameReader, StaysRefusedAfterALengthOverTheLimit) {
  FrameReader reader;
  const std::string bytes = std::string("\x7f\0\0\0", 4) + framed("x");
  reader.feed(bytes);
  EXPECT_FALSE(reader.next());
  const std::string good = framed("good");
  reader.feed(good);
  EXPECT_FALSE(reader.next());
}

TEST(FrameReader, HoldsNoMoreThanTwiceWhatAPeerSentOfAFrame) {
  FrameReader reader;
  const std::string start = framed(std::string(kMaxFrameBytes, 'x')).substr(0, 1000);
  EXPECT_TRUE(take_all(reader, start).empty());
  EXPECT_TRUE(reader.is_partial());
  EXPECT_LE(reader.held_bytes(), 2 * start.size());
}

TEST(FrameReader, GivesItsMemoryBackAfterASplitFrame) {
  FrameReader reader;
  const std::string bytes = framed(std::string(10'000, 'x'));
  EXPECT_TRUE(take_all(reader, std::string_view(bytes).substr(0, 5000)).empty());
  EXPECT_EQ(take_all(reader, std::string_view(bytes).substr(5000)).size(), 1U);
  EXPECT_EQ(reader.held_bytes(), 0U);
  EXPECT_FALSE(reader.is_partial());
}

RC_GTEST_PROP(FrameReader, FindsTheSameFramesHoweverTheBytesAreCut, ()) {
  const auto payloads = *rc::gen::arbitrary<std::vector<std::string>>();
  const auto cuts = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 9));
  std::string stream;
  for (const std::string& payload : payloads) {
    RC_ASSERT(append_frame(stream, payload).has_value());
  }
  FrameReader reader;
  std::vector<std::string> found;
  std::string_view rest = stream;
  for (std::size_t turn = 0; !rest.empty(); ++turn) {
    const std::size_t length = cuts.empty() ? rest.size() : std::min(rest.size(), cuts[turn % cuts.size()]);
    const std::string piece(rest.substr(0, length));  // a buffer of its own, so that a stale view is seen by ASan
    rest.remove_prefix(length);
    for (const std::string& frame : take_all(reader, piece)) {
      found.push_back(frame);
    }
  }
  RC_ASSERT(found == payloads);
  RC_ASSERT(!reader.is_partial());
  RC_ASSERT(reader.held_bytes() == 0U);
}

}  // namespace
}  // namespace gpuskew
