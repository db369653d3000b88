#include "agent/state_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "runtime/file.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr Time kNow = from_unix_ms(1'796'054'737'000);

LastGood sample() {
  LastGood good;
  good.at = kNow;
  good.boot_id = "11111111-2222-3333-4444-555555555555";
  good.kernel = *KernelRelease::parse("5.15.0-119-generic");
  good.driver = *DriverVersion::parse("550.90.07");
  good.gpu_count = 8;
  return good;
}

std::vector<std::string> names_in(const std::filesystem::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class StateFileTest : public ::testing::Test {
 protected:
  void put(const std::string& bytes) const { std::ofstream(state_.path(), std::ios::binary) << bytes; }
  // What save() writes; once, because each save waits for the disk.
  static std::string saved_bytes() {
    static const std::string bytes = [] {
      const ScratchTree tree;
      const StateFile state(tree.path());
      EXPECT_TRUE(state.save(sample()));
      return read_file(state.path()).value();
    }();
    return bytes;
  }

  ScratchTree tree_;
  StateFile state_{tree_.path()};
};

TEST_F(StateFileTest, KeepsWhatWasSaved) {
  ASSERT_TRUE(state_.save(sample()));
  const auto loaded = state_.load(kNow);
  EXPECT_EQ(loaded.good, sample());
  EXPECT_EQ(loaded.good->driver.text(), "550.90.07");
  EXPECT_EQ(loaded.warning, "");
}

TEST_F(StateFileTest, AMissingFileIsNoWarning) {
  const auto loaded = state_.load(kNow);
  EXPECT_FALSE(loaded.good);
  EXPECT_EQ(loaded.warning, "");
  EXPECT_TRUE(names_in(tree_.path()).empty());
}

TEST_F(StateFileTest, AMissingDirectoryIsNoWarningToLoadAndAnErrorToSave) {
  const StateFile nowhere(tree_.path() / "a" / "b");
  EXPECT_EQ(nowhere.load(kNow).warning, "");
  EXPECT_FALSE(nowhere.save(sample()));
  EXPECT_FALSE(nowhere.prepare());
}

TEST_F(StateFileTest, ACorruptFileIsMovedAsideAndNamed) {
  put("what is this\n");
  const auto loaded = state_.load(kNow);
  EXPECT_FALSE(loaded.good);
  EXPECT_NE(loaded.warning.find(state_.path().string()), std::string::npos) << loaded.warning;
  EXPECT_NE(loaded.warning.find("not a last-good file"), std::string::npos) << loaded.warning;
  EXPECT_EQ(names_in(tree_.path()), std::vector<std::string>{"last-good.corrupt-1796054737"});
}

TEST_F(StateFileTest, OnlyTheNewestCorruptFileIsKept) {
  for (int boot = 0; boot < 3; ++boot) {
    put("broken " + std::to_string(boot));
    EXPECT_FALSE(state_.load(kNow + std::chrono::seconds(boot)).warning.empty());
  }
  EXPECT_EQ(names_in(tree_.path()), std::vector<std::string>{"last-good.corrupt-1796054739"});
}

TEST_F(StateFileTest, AFileOfAnotherFormatVersionIsKeptAside) {
  put("gpuskew-last-good 2 0 cbf29ce484222325\n");
  const auto loaded = state_.load(kNow);
  EXPECT_NE(loaded.warning.find("another format version"), std::string::npos) << loaded.warning;
  EXPECT_EQ(names_in(tree_.path()).size(), 1u);
}

TEST_F(StateFileTest, AHugeFileIsNotReadWhole) {
  put("");
  std::filesystem::resize_file(state_.path(), std::uintmax_t{1} << 40);  // sparse: costs no disk
  const auto loaded = state_.load(kNow);
  EXPECT_FALSE(loaded.good);
  EXPECT_NE(loaded.warning.find("longer than 16384 bytes"), std::string::npos) << loaded.warning;
}

TEST_F(StateFileTest, ADirectoryInItsPlaceIsMovedAside) {
  std::filesystem::create_directory(state_.path());
  EXPECT_FALSE(state_.load(kNow).warning.empty());
  EXPECT_TRUE(state_.save(sample()));
  EXPECT_EQ(state_.load(kNow).good, sample());
}

TEST_F(StateFileTest, AFifoInItsPlaceDoesNotBlock) {
  ASSERT_EQ(::mkfifo(state_.path().c_str(), 0600), 0);
  EXPECT_FALSE(state_.load(kNow).good);
}

TEST_F(StateFileTest, AnEmptyFileIsCorrupt) {
  put("");
  EXPECT_FALSE(state_.load(kNow).warning.empty());
}

RC_GTEST_FIXTURE_PROP(StateFileTest, AnyChangedByteIsNoticed, ()) {
  std::string text = saved_bytes();
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  const auto flip = *rc::gen::inRange(1, 256);
  text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ static_cast<unsigned>(flip));
  put(text);
  RC_ASSERT(!state_.load(kNow).good.has_value());
}

RC_GTEST_FIXTURE_PROP(StateFileTest, AnyCutIsNoticed, ()) {
  const std::string text = saved_bytes();
  put(text.substr(0, *rc::gen::inRange<std::size_t>(0, text.size())));
  RC_ASSERT(!state_.load(kNow).good.has_value());
}

TEST_F(StateFileTest, PreparingMakesTheDirectoryAndCheckingDoesNot) {
  const StateFile state(tree_.path() / "new");
  EXPECT_TRUE(state.check());
  EXPECT_TRUE(names_in(tree_.path()).empty());
  EXPECT_TRUE(state.prepare());
  EXPECT_TRUE(state.prepare());
  EXPECT_EQ(names_in(tree_.path()), std::vector<std::string>{"new"});
}

TEST_F(StateFileTest, AFileInTheDirectorysPlaceIsNamed) {
  tree_.write("/state", "");
  const StateFile state(tree_.path() / "state");
  const auto prepared = state.prepare();
  ASSERT_FALSE(prepared);
  EXPECT_NE(prepared.error().what.find("state is not a directory"), std::string::npos) << prepared.error().what;
}

// ---- Memory

Snapshot snapshot_of(const char* boot, const char* kernel, const char* driver, Time at, int gpus = 8) {
  Snapshot snapshot;
  snapshot.node = "gpu-1";
  snapshot.taken_at = at;
  snapshot.boot_id = Fact<std::string>::known(boot, "boot");
  snapshot.kernel = Fact<KernelRelease>::known(*KernelRelease::parse(kernel), "kernel");
  snapshot.loaded_driver = *driver == '\0' ? Fact<DriverVersion>::absent("module")
                                           : Fact<DriverVersion>::known(*DriverVersion::parse(driver), "module");
  snapshot.gpus = Fact<std::vector<Gpu>>::known(std::vector<Gpu>(static_cast<std::size_t>(gpus)), "pci");
  return snapshot;
}

TEST(MemoryTest, ABootWithoutADriverKeepsTheBootBeforeIt) {
  Memory memory(sample());
  Snapshot now = snapshot_of("new boot", "5.15.0-122-generic", "", kNow + std::chrono::minutes(5));
  memory.attach(now);
  EXPECT_EQ(now.remembered, sample());
  EXPECT_FALSE(memory.unsaved());
  memory.attach(now);
  EXPECT_EQ(now.remembered, sample());
}

TEST(MemoryTest, ALoadedDriverBecomesTheLastGoodState) {
  Memory memory(sample());
  Snapshot now = snapshot_of("new boot", "5.15.0-122-generic", "550.90.07", kNow + std::chrono::minutes(5));
  memory.attach(now);
  EXPECT_EQ(now.remembered->boot_id, "new boot");
  EXPECT_EQ(now.remembered->kernel.text(), "5.15.0-122-generic");
  ASSERT_EQ(memory.unsaved(), now.remembered);
  memory.set_saved(*memory.unsaved());
  EXPECT_FALSE(memory.unsaved());
}

TEST(MemoryTest, ADriverThatDoesNotChangeIsWrittenOnceAnHour) {
  Memory memory(std::nullopt);
  int writes = 0;
  for (int minute = 0; minute < 180; ++minute) {
    Snapshot now = snapshot_of("boot", "6.8.0", "550.90.07", kNow + std::chrono::minutes(minute));
    memory.attach(now);
    if (const auto unsaved = memory.unsaved()) {
      memory.set_saved(*unsaved);
      ++writes;
    }
  }
  EXPECT_EQ(writes, 3);
}

TEST(MemoryTest, TheMomentBeforeTheDriverWentIsExact) {
  Memory memory(std::nullopt);
  Snapshot now = snapshot_of("boot", "6.8.0", "550.90.07", kNow);
  memory.attach(now);
  now.taken_at = kNow + std::chrono::minutes(7);
  memory.attach(now);
  EXPECT_EQ(now.remembered->at, kNow) << "a driver that stays is no news";
  Snapshot gone = snapshot_of("boot", "6.8.0", "", kNow + std::chrono::minutes(8));
  memory.attach(gone);
  EXPECT_EQ(gone.remembered->at, kNow + std::chrono::minutes(7));
  EXPECT_TRUE(memory.unsaved());
}

TEST(MemoryTest, AnUnknownDriverErasesNothing) {
  Memory memory(sample());
  Snapshot now = snapshot_of("boot", "6.8.0", "", kNow);
  now.loaded_driver = Fact<DriverVersion>::unknown({ErrorCode::Denied, "not allowed"}, "module");
  memory.attach(now);
  EXPECT_EQ(now.remembered, sample());
}

TEST(MemoryTest, GpusThatFellOffTheBusAreRemembered) {
  Memory memory(std::nullopt);
  Snapshot now = snapshot_of("boot", "6.8.0", "550.90.07", kNow, 8);
  memory.attach(now);
  Snapshot none = snapshot_of("boot", "6.8.0", "550.90.07", kNow + std::chrono::minutes(1), 0);
  memory.attach(none);
  EXPECT_EQ(none.remembered->gpu_count, 8u);
}

TEST(MemoryTest, AClockThatWasSetBackLeavesNoMomentOfTheFuture) {
  Memory memory(sample());
  Snapshot now = snapshot_of(sample().boot_id.c_str(), "5.15.0-119-generic", "550.90.07", kNow - std::chrono::hours(9));
  memory.attach(now);
  EXPECT_EQ(now.remembered->at, kNow - std::chrono::hours(9));
}

// ---- what the log says

TEST(BootComparisonTest, SaysBothBootsInOneSentence) {
  const Snapshot now = snapshot_of("new boot", "5.15.0-122-generic", "", kNow);
  EXPECT_EQ(boot_comparison(sample(), now),
            "before: 550.90.07 on 5.15.0-119-generic; now: nothing on 5.15.0-122-generic");
}

TEST(BootComparisonTest, SaysNothingInTheSameBoot) {
  EXPECT_EQ(boot_comparison(sample(), snapshot_of(sample().boot_id.c_str(), "5.15.0-119-generic", "", kNow)),
            std::nullopt);
}

TEST(BootComparisonTest, TheKernelTellsWhereABootIdIsUnknown) {
  LastGood before = sample();
  before.boot_id.clear();
  EXPECT_EQ(boot_comparison(before, snapshot_of("boot", "5.15.0-119-generic", "", kNow)), std::nullopt);
  Snapshot now = snapshot_of("boot", "6.8.0", "", kNow);
  now.loaded_driver = Fact<DriverVersion>::unknown({ErrorCode::Denied, "not allowed"}, "module");
  EXPECT_EQ(boot_comparison(before, now), "before: 550.90.07 on 5.15.0-119-generic; now: an unknown driver on 6.8.0");
}

TEST(DriverSummaryTest, UnknownIsNotNone) {
  EXPECT_EQ(driver_summary(snapshot_of("b", "6.8.0", "550.90.07", kNow)), "driver 550.90.07 on 6.8.0");
  EXPECT_EQ(driver_summary(snapshot_of("b", "6.8.0", "", kNow)), "no driver on 6.8.0");
  EXPECT_EQ(driver_summary(Snapshot{}), "an unknown driver on an unknown kernel");
}

}  // namespace
}  // namespace gpuskew
