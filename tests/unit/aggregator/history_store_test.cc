#include "aggregator/history_store.h"

#include <vector>

#include <gtest/gtest.h>

#include "aggregator/history_schema.h"
#include "core/finding.h"
#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

using std::chrono::hours;

Transition transition(const std::string& node, Time at, const std::string& to = "ok") {
  return Transition{node, at, TransitionKind::StateChanged, "unknown", to, "a reason"};
}

StoredNode stored_node() {
  StoredNode node;
  node.snapshot_wire = std::string("bytes\0of any kind\xff", 18);
  node.history.last_good = LastGood{
      kNow, "boot-1", KernelRelease::parse("5.15.0-119-generic").value(), DriverVersion::parse("550.90.07").value(),
      2,    false};
  node.history.boot_id = "boot-1";
  node.history.boot_first_seen = kNow - hours(2);
  node.history.open_since = {{FindingCode::DriverNotLoaded, kNow - hours(1)}};
  node.first_seen = kNow - hours(3);
  node.last_heard = kNow;
  return node;
}

class HistoryStoreTest : public testing::Test {
 protected:
  HistoryStore open() const {
    Result<HistoryStore> store = HistoryStore::open(path);
    EXPECT_TRUE(store) << store.error().what;
    return std::move(*store);
  }

  static std::map<std::string, StoredNode> nodes_of(HistoryStore& store) {
    std::map<std::string, StoredNode> nodes;
    const Result<void> read =
        store.for_each_node([&nodes](std::string name, StoredNode node) { nodes[name] = std::move(node); });
    EXPECT_TRUE(read) << read.error().what;
    return nodes;
  }

  static void write(HistoryStore& store, const HistoryBatch& batch) {
    const Result<void> written = store.write(batch);
    ASSERT_TRUE(written) << written.error().what;
  }

  TempDir directory;
  std::filesystem::path path = directory.path() / "history.db";
};

TEST_F(HistoryStoreTest, GivesBackAWholeNodeAfterReopening) {
  HistoryBatch batch;
  batch.nodes["gpu-1"] = stored_node();
  {
    HistoryStore store = open();
    write(store, batch);
  }
  HistoryStore store = open();
  EXPECT_EQ(nodes_of(store), (std::map<std::string, StoredNode>{{"gpu-1", stored_node()}}));
}

TEST_F(HistoryStoreTest, KeepsWhatWasCommittedWhenTheProcessIsKilled) {
  HistoryStore store = open();
  HistoryBatch batch;
  batch.nodes["gpu-1"] = stored_node();
  batch.transitions = {transition("gpu-1", kNow)};
  write(store, batch);
  // What kill -9 leaves: the database and its log as they are now, nobody having closed them.
  const std::filesystem::path left = directory.path() / "left.db";
  std::filesystem::copy_file(path, left);
  std::filesystem::copy_file(path.string() + "-wal", left.string() + "-wal");
  Result<HistoryStore> reopened = HistoryStore::open(left);
  ASSERT_TRUE(reopened) << reopened.error().what;
  EXPECT_EQ(nodes_of(*reopened).at("gpu-1"), stored_node());
  EXPECT_EQ(reopened->history("gpu-1", 10).value(), batch.transitions);
}

TEST_F(HistoryStoreTest, LeavesTheStoredSnapshotWhenAWriteBringsNone) {
  HistoryStore store = open();
  HistoryBatch batch;
  batch.nodes["gpu-1"] = stored_node();
  write(store, batch);
  StoredNode changed = stored_node();
  changed.snapshot_wire = std::nullopt;
  changed.history.open_since.clear();
  batch.nodes["gpu-1"] = changed;
  write(store, batch);
  changed.snapshot_wire = stored_node().snapshot_wire;
  EXPECT_EQ(nodes_of(store).at("gpu-1"), changed);
}

TEST_F(HistoryStoreTest, AHeartbeatMovesTheLastWordAndTheLastGoodTime) {
  HistoryStore store = open();
  HistoryBatch batch;
  batch.nodes["gpu-1"] = stored_node();
  write(store, batch);
  HistoryBatch heartbeat;
  heartbeat.heard["gpu-1"] = Heard{kNow + hours(1), kNow + hours(1)};
  write(store, heartbeat);
  const StoredNode node = nodes_of(store).at("gpu-1");
  EXPECT_EQ(node.last_heard, kNow + hours(1));
  EXPECT_EQ(node.history.last_good->at, kNow + hours(1));
}

TEST_F(HistoryStoreTest, HistoryIsNewestFirstAndLimited) {
  HistoryStore store = open();
  HistoryBatch batch;
  batch.transitions = {transition("a", kNow, "1"), transition("b", kNow, "x"), transition("a", kNow, "2"),
                       transition("a", kNow, "3")};
  write(store, batch);
  const std::vector<Transition> history = store.history("a", 2).value();
  ASSERT_EQ(history.size(), 2u);
  EXPECT_EQ(history[0].to, "3");
  EXPECT_EQ(history[1].to, "2");
  EXPECT_TRUE(store.history("nobody", 2).value().empty());
}

TEST_F(HistoryStoreTest, PruneDeletesTheOldInSmallBatches) {
  HistoryStore store = open();
  HistoryBatch batch;
  for (int i = 0; i < HistoryStore::kPruneRows + 20; ++i) {
    batch.transitions.push_back(transition("node-" + std::to_string(i % 7), kNow - hours(100)));
  }
  batch.transitions.push_back(transition("a", kNow));
  write(store, batch);
  EXPECT_EQ(store.prune(kNow - hours(1)).value(), HistoryStore::kPruneRows);
  EXPECT_EQ(store.prune(kNow - hours(1)).value(), 20);
  EXPECT_EQ(store.prune(kNow - hours(1)).value(), 0);
  EXPECT_EQ(store.history("a", 10).value().size(), 1u);
}

TEST_F(HistoryStoreTest, ANodeThatFlapsKeepsOnlyItsNewestTransitions) {
  HistoryStore store = open();
  HistoryBatch batch;
  const auto count = static_cast<int>(HistoryStore::kMaxTransitionsPerNode + HistoryStore::kTrimEvery);
  for (int i = 1; i <= count; ++i) {
    batch.transitions.push_back(transition("flapping", kNow, std::to_string(i)));
  }
  batch.transitions.push_back(transition("quiet", kNow));
  write(store, batch);
  const std::vector<Transition> kept = store.history("flapping", 100'000).value();
  EXPECT_EQ(kept.size(), static_cast<std::size_t>(HistoryStore::kMaxTransitionsPerNode));
  EXPECT_EQ(kept.front().to, std::to_string(count));
  EXPECT_EQ(store.history("quiet", 10).value().size(), 1u);
}

TEST_F(HistoryStoreTest, ForgetsNodesThatWereSilentForTooLong) {
  HistoryStore store = open();
  HistoryBatch batch;
  batch.nodes["new"] = stored_node();
  batch.nodes["old"] = stored_node();
  batch.nodes["old"].last_heard = kNow - hours(1000);
  write(store, batch);
  EXPECT_EQ(store.forget_nodes(kNow - hours(100)).value(), 1);
  EXPECT_EQ(nodes_of(store).size(), 1u);
  EXPECT_EQ(nodes_of(store).count("new"), 1u);
}

TEST_F(HistoryStoreTest, RefusesACorruptFileAndLeavesItAsItIs) {
  {
    HistoryStore store = open();
    HistoryBatch batch;
    for (int i = 0; i < 500; ++i) {
      batch.nodes["node-" + std::to_string(i)] = stored_node();
    }
    write(store, batch);
  }
  std::string bytes = read_text(path);
  ASSERT_GT(bytes.size(), 3 * 4096u);
  bytes.replace(4096, 8192, 8192, 'x');
  directory.write("history.db", bytes);
  const Result<HistoryStore> store = HistoryStore::open(path);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::Malformed);
  EXPECT_NE(store.error().what.find(path.string()), std::string::npos) << store.error().what;
  EXPECT_EQ(read_text(path), bytes);
}

TEST_F(HistoryStoreTest, RefusesAFileThatIsNoDatabaseAndLeavesItAsItIs) {
  directory.write("history.db", "this is not a database, but it is long enough to be looked at as one");
  const Result<HistoryStore> store = HistoryStore::open(path);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::Malformed);
  EXPECT_EQ(read_text(path).find("this is not"), 0u);
}

TEST_F(HistoryStoreTest, RefusesANewerSchemaAndLeavesTheFileAsItIs) {
  { HistoryStore store = open(); }
  {
    Database database = Database::open(path, Database::Mode::OpenExisting).value();
    ASSERT_TRUE(database.execute("PRAGMA user_version = 99"));
  }
  const std::string before = read_text(path);
  const Result<HistoryStore> store = HistoryStore::open(path);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::Unsupported);
  EXPECT_NE(store.error().what.find("version 99"), std::string::npos) << store.error().what;
  EXPECT_EQ(read_text(path), before);
}

TEST_F(HistoryStoreTest, RefusesAnotherProgramsDatabase) {
  {
    Database database = Database::open(path, Database::Mode::CreateOrOpen).value();
    ASSERT_TRUE(database.execute("CREATE TABLE things (x)"));
  }
  const Result<HistoryStore> store = HistoryStore::open(path);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, ErrorCode::Unsupported);
}

TEST_F(HistoryStoreTest, RefusesASecondAggregatorOnOneDatabase) {
  HistoryStore first = open();
  const Result<HistoryStore> second = HistoryStore::open(path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::Timeout);
  EXPECT_TRUE(HistoryStore::check(path)) << "a check beside a running aggregator is fine";
}

TEST_F(HistoryStoreTest, CheckNamesADirectoryThatIsNotThere) {
  const Result<void> checked = HistoryStore::check(directory.path() / "no" / "history.db");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, ErrorCode::NotFound);
}

TEST_F(HistoryStoreTest, NamesTheNodeWhoseRowDoesNotRead) {
  HistoryStore store = open();
  HistoryBatch batch;
  batch.nodes["gpu-1"] = stored_node();
  write(store, batch);
  Database database = Database::open(path, Database::Mode::OpenExisting).value();
  ASSERT_TRUE(database.execute("UPDATE nodes SET open_since = 'nonsense'"));
  const Result<void> read = store.for_each_node([](const std::string&, const StoredNode&) {});
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().what.find("gpu-1"), std::string::npos) << read.error().what;
}

TEST(HistorySchema, AnEmptyDatabaseIsMigratedToTheNewestVersion) {
  TempDir directory;
  Database database = Database::open(directory.path() / "a.db", Database::Mode::CreateOrOpen).value();
  EXPECT_EQ(history_schema_version(database).value(), 0);
  ASSERT_TRUE(migrate_history(database, 0));
  EXPECT_EQ(history_schema_version(database).value(), kHistorySchemaVersion);
  ASSERT_TRUE(migrate_history(database, kHistorySchemaVersion)) << "nothing is left to do";
}

}  // namespace
}  // namespace gpuskew
