#include "aggregator/sqlite.h"

#include <sys/resource.h>

#include <csignal>

#include <gtest/gtest.h>

#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

class SqliteTest : public testing::Test {
 protected:
  TempDir directory;
  std::filesystem::path path = directory.path() / "a.db";
  Database database = Database::open(path, Database::Mode::CreateOrOpen).value();
};

TEST_F(SqliteTest, BindsTextBlobsIntegersAndNull) {
  ASSERT_TRUE(database.execute("CREATE TABLE t (i INTEGER, t TEXT, b BLOB, n TEXT) STRICT"));
  Statement insert = database.prepare("INSERT INTO t VALUES (?1, ?2, ?3, ?4)").value();
  const std::string blob("a\0b", 3);
  ASSERT_TRUE(insert.bind(1, std::int64_t{-7}).bind(2, std::string_view()).bind_blob(3, blob).bind_null(4).run());
  Statement select = database.prepare("SELECT i, t, b, n FROM t").value();
  ASSERT_TRUE(select.step().value());
  EXPECT_EQ(select.integer(0), -7);
  EXPECT_FALSE(select.is_null(1)) << "the empty text is no NULL";
  EXPECT_EQ(select.bytes(2), blob);
  EXPECT_TRUE(select.is_null(3));
  EXPECT_FALSE(select.step().value());
}

TEST_F(SqliteTest, AnUncommittedTransactionLeavesNothing) {
  ASSERT_TRUE(database.execute("CREATE TABLE t (i INTEGER)"));
  {
    Result<Transaction> transaction = Transaction::begin(database);
    ASSERT_TRUE(transaction);
    ASSERT_TRUE(database.execute("INSERT INTO t VALUES (1)"));
  }
  EXPECT_EQ(database.query_integer("SELECT count(*) FROM t").value(), 0);
}

TEST_F(SqliteTest, ReportsABindThatFailedWhenTheStatementRuns) {
  Statement select = database.prepare("SELECT ?1").value();
  EXPECT_FALSE(select.bind(2, std::int64_t{1}).run());
  EXPECT_TRUE(select.bind(1, std::int64_t{1}).run()) << "and only once";
}

TEST_F(SqliteTest, SaysWhatIsWrongWithAStatement) {
  const Result<Statement> statement = database.prepare("SELEKT");
  ASSERT_FALSE(statement);
  EXPECT_NE(statement.error().what.find("SELEKT"), std::string::npos);
}

TEST_F(SqliteTest, ADatabaseInNoDirectoryIsDenied) {
  const Result<Database> other = Database::open(directory.path() / "no" / "b.db", Database::Mode::CreateOrOpen);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::Denied);
}

TEST_F(SqliteTest, AFullDiskIsAnErrorThatPasses) {
  ASSERT_TRUE(database.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (b BLOB)"));
  // The closest to a full disk that needs no file system of its own: no file of this process may grow further.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 64 << 10;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Result<void> full = database.execute("INSERT INTO t VALUES (zeroblob(1000000))");
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::Internal);
  EXPECT_TRUE(database.execute("INSERT INTO t VALUES (zeroblob(1000000))"));
}

}  // namespace
}  // namespace gpuskew
