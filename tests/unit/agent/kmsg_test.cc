#include "agent/kernel_log/kmsg.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

using std::chrono::microseconds;

TEST(ParseKmsgTest, TakesARecordApart) {
  const auto record =
      parse_kmsg("6,339,5140900,-;NVRM: loading NVIDIA UNIX\n SUBSYSTEM=pci\n DEVICE=+pci:0000:98:00.0\n");
  EXPECT_EQ(record, (KmsgRecord{339, microseconds(5140900), "NVRM: loading NVIDIA UNIX"}));
  EXPECT_EQ(parse_kmsg("30,1,2,c,caller=T1;x")->text, "x");
}

TEST(ParseKmsgTest, GivesBackWhatTheKernelEscapes) {
  EXPECT_EQ(parse_kmsg("4,1,2,-;NVRM: a\\x0aNVRM: b\\x5cx0a \\xzz \\x0\n")->text, "NVRM: a\nNVRM: b\\x0a \\xzz \\x0");
}

TEST(ParseKmsgTest, RefusesWhatIsNoRecord) {
  for (const char* text : {"", ";", "6,339;x", "6,339,5140900,-", "a,1,2,-;x", "6,339,99999999999999999999,-;x",
                           "6,339,4000000000000000000,-;x", "<6>NVRM: x"}) {
    const auto record = parse_kmsg(text);
    ASSERT_FALSE(record) << text;
    EXPECT_EQ(record.error().code, ErrorCode::Malformed) << text;
  }
}

RC_GTEST_PROP(ParseKmsgProperty, NeverFails, (const std::string& text)) {
  const auto record = parse_kmsg("6,1,2,-;" + text);
  RC_ASSERT(record);
  RC_ASSERT(record->text.size() <= text.size());
}

// A pipe in packet mode gives one write a read, as the device one record.
class KmsgTest : public ::testing::Test {
 protected:
  KmsgTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_DIRECT | O_NONBLOCK | O_CLOEXEC), 0);
    kmsg_.emplace(HostFile(ends[0], "pipe"));
    writer_ = ends[1];
  }
  ~KmsgTest() override { ::close(writer_); }
  void say(const std::string& record) const {
    ASSERT_EQ(::write(writer_, record.data(), record.size()), static_cast<ssize_t>(record.size()));
  }
  Result<Kmsg::Drained> drain() {
    return kmsg_->drain([this](const KmsgRecord& record) { records_.push_back(record); });
  }

  std::optional<Kmsg> kmsg_;
  int writer_ = -1;
  std::vector<KmsgRecord> records_;
};

TEST_F(KmsgTest, DrainsWhatIsThereAndNoMore) {
  say("6,12,100,-;one\n");
  say("6,13,200,-;two\n");
  const auto drained = drain();
  ASSERT_TRUE(drained);
  EXPECT_FALSE(drained->lost);
  EXPECT_FALSE(drained->more);
  ASSERT_EQ(records_.size(), 2u);
  EXPECT_EQ(records_[1].text, "two");
  EXPECT_EQ(kmsg_->first_sequence(), 12u);
  ASSERT_TRUE(drain());
  EXPECT_EQ(records_.size(), 2u);
}

TEST_F(KmsgTest, SkipsWhatIsNoRecord) {
  say("rubbish");
  say("6,13,200,-;two\n");
  ASSERT_TRUE(drain());
  EXPECT_EQ(records_.size(), 1u);
}

TEST(OpenKmsgTest, IsBeneathTheRootAndTheDeviceOnly) {
  const ScratchTree tree;
  EXPECT_EQ(Kmsg::open(tree.root()).error().code, ErrorCode::NotFound);
  tree.write("/dev/kmsg", "6,1,2,-;a file\n");
  EXPECT_EQ(Kmsg::open(tree.root()).error().code, ErrorCode::Malformed);
  tree.remove("/dev/kmsg");
  tree.fifo("/dev/kmsg");
  EXPECT_EQ(Kmsg::open(tree.root()).error().code, ErrorCode::Malformed) << "and it is not waited for";
}

TEST(OpenKmsgTest, ReadsTheRealOneWhereItMay) {
  auto kmsg = Kmsg::open(root_at("/"));
  if (!kmsg) {
    GTEST_SKIP() << kmsg.error().what;
  }
  std::size_t records = 0;
  ASSERT_TRUE(kmsg->drain([&records](const KmsgRecord& record) { records += record.text.empty() ? 0 : 1; }));
  EXPECT_GT(records, 0u);
  const std::size_t first = records;
  kmsg->rewind();
  ASSERT_TRUE(kmsg->drain([&records](const KmsgRecord&) { ++records; }));
  EXPECT_GE(records, 2 * first);
}

}  // namespace
}  // namespace gpuskew
