#include "runtime/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/journal.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

constexpr const char* kBoot = "11111111222233334444555555555555";

class JournalTest : public ::testing::Test {
 protected:
  JournalTest() {
    append_to_journal(
        file_,
        {{kBoot, 1'000'000, "one"}, {kBoot, 2'000'000, "two", "stdout", "kubelet"}, {kBoot, 3'000'000, "three"}});
    descriptor_ = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
  }
  ~JournalTest() override { ::close(descriptor_); }

  TemporaryDirectory directory_;
  std::filesystem::path file_ = directory_.path() / "journal" / "system.journal";
  int descriptor_ = -1;
};

TEST_F(JournalTest, GivesTheEntriesThatMatch) {
  auto journal = Journal::open({descriptor_});
  ASSERT_TRUE(journal) << journal.error().what;
  ASSERT_TRUE(journal->match_any_of({{std::string("_BOOT_ID=") + kBoot, "_TRANSPORT=kernel"}, {"MESSAGE=none"}}));
  ASSERT_TRUE(journal->seek(""));
  std::vector<std::string> messages;
  std::string cursor;
  while (journal->next().value()) {
    messages.emplace_back(journal->field("MESSAGE").value());
    cursor = journal->cursor().value();
    EXPECT_FALSE(journal->field("NO_SUCH_FIELD"));
  }
  EXPECT_EQ(messages, (std::vector<std::string>{"one", "three"}));
  ASSERT_TRUE(journal->seek(cursor));
  EXPECT_FALSE(journal->next().value()) << "behind the entry that the cursor names";
}

TEST_F(JournalTest, TellsWhenAnEntryWasTaken) {
  auto journal = Journal::open({descriptor_});
  ASSERT_TRUE(journal);
  ASSERT_TRUE(journal->seek(""));
  ASSERT_TRUE(journal->next().value());
  EXPECT_EQ(journal->monotonic_microseconds(), 1'000'000u);
}

TEST(JournalOpenTest, RefusesWhatIsNoJournal) {
  const int zero = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  EXPECT_FALSE(Journal::open({zero}));
  ::close(zero);
}

}  // namespace
}  // namespace gpuskew
