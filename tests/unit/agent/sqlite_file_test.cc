// Databases as libsqlite3 writes them, read without it.

#include "agent/probes/sqlite_file.h"

#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

class Writer {
 public:
  explicit Writer(const std::filesystem::path& path) {
    if (sqlite3_open(path.c_str(), &database_) != SQLITE_OK) {
      throw std::runtime_error("opening " + path.string());
    }
  }
  ~Writer() { sqlite3_close(database_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void run(const std::string& sql) const {
    char* problem = nullptr;
    if (sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, &problem) != SQLITE_OK) {
      throw std::runtime_error(problem != nullptr ? problem : "sqlite");
    }
  }

 private:
  sqlite3* database_ = nullptr;
};

std::string content_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

ReadAt reader_of(const std::string& bytes) {
  return [&bytes](std::uint64_t offset, std::size_t size) -> Result<std::string> {
    return offset < bytes.size() ? bytes.substr(offset, size) : std::string();
  };
}

// Text column 0 of every row, in order.
Result<std::vector<std::string>> texts(SqliteFile& file, std::string_view table) {
  const auto root = file.table(table);
  if (!root) {
    return tl::unexpected(root.error());
  }
  std::vector<std::string> found;
  const auto read = file.for_each_row(*root, [&](const SqliteRow& row) -> Result<void> {
    const auto columns = sqlite_columns(row.local);
    if (!columns || columns->empty()) {
      return fail(ErrorCode::Malformed, "no columns");
    }
    auto text = file.bytes(row, columns->front().offset, columns->front().size);
    if (!text) {
      return tl::unexpected(text.error());
    }
    found.push_back(*text);
    return {};
  });
  return read ? Result<std::vector<std::string>>(found) : tl::unexpected(read.error());
}

struct Written {
  std::string database;
  std::string log;

  Result<std::vector<std::string>> texts_of(std::string_view table) const {
    const ReadAt bytes = reader_of(database);
    const ReadAt log_bytes = reader_of(log);
    auto file = SqliteFile::open(bytes, log.empty() ? nullptr : &log_bytes);
    return file ? texts(*file, table) : tl::unexpected(file.error());
  }
};

TEST(SqliteFile, ReadsRowsOfDeepTablesInOrder) {
  for (const char* page_size : {"512", "1024", "4096", "65536"}) {
    const ScratchTree tree;
    const auto path = tree.path() / "t.sqlite";
    const Writer writer(path);
    writer.run(std::string("pragma page_size=") + page_size +
               "; create table first(x); create table t(x text, n integer); begin;"
               "with recursive c(i) as (select 1 union all select i+1 from c where i<20000)"
               " insert into t select 'row ' || i, i from c; commit;");
    const Written written{content_of(path), ""};
    const auto rows = written.texts_of("t");
    ASSERT_TRUE(rows.has_value()) << rows.error().what;
    ASSERT_EQ(rows->size(), 20'000U) << page_size;
    EXPECT_EQ(rows->front(), "row 1");
    EXPECT_EQ(rows->back(), "row 20000");
    EXPECT_EQ(written.texts_of("none").error().code, ErrorCode::NotFound);
  }
}

TEST(SqliteFile, FindsOneRowAndReadsItAcrossOverflowPages) {
  const ScratchTree tree;
  const auto path = tree.path() / "t.sqlite";
  const Writer writer(path);
  writer.run(
      "create table p(hnum integer primary key, b blob); begin;"
      "with recursive c(i) as (select 1 union all select i+7 from c where i<9000)"
      " insert into p select i, zeroblob(i) || 'end of ' || i from c; commit;");
  const std::string bytes = content_of(path);
  const ReadAt reader = reader_of(bytes);
  auto file = SqliteFile::open(reader, nullptr);
  const auto table = file->table("p");
  for (const std::int64_t number : {1, 8, 4061, 4068, 8996}) {
    const std::int64_t there = number - (number - 1) % 7;
    const auto row = file->row(*table, there);
    ASSERT_TRUE(row.has_value()) << row.error().what;
    const auto columns = sqlite_columns(row->local);
    const std::string expected = std::string(static_cast<std::size_t>(there), '\0') + "end of " + std::to_string(there);
    EXPECT_EQ(*file->bytes(*row, columns->at(1).offset, columns->at(1).size), expected);
  }
  EXPECT_EQ(file->row(*table, 2).error().code, ErrorCode::NotFound);
}

TEST(SqliteFile, TakesWhatTheLogCommittedAndNothingElse) {
  const ScratchTree tree;
  const auto path = tree.path() / "t.sqlite";
  const Writer writer(path);
  writer.run(
      "pragma journal_mode=wal; pragma wal_autocheckpoint=0; pragma cache_spill=1; pragma cache_size=10;"
      "create table t(x text); insert into t values('old');");
  writer.run("pragma wal_checkpoint(truncate)");
  writer.run("insert into t values('new'); update t set x='newer' where x='old'");
  Written written{content_of(path), content_of(path.string() + "-wal")};
  EXPECT_EQ(*written.texts_of("t"), (std::vector<std::string>{"newer", "new"}));
  EXPECT_EQ((*Written{written.database, ""}.texts_of("t")), (std::vector<std::string>{"old"}));
  // A transaction that spilled into the log and is not committed.
  writer.run(
      "begin; with recursive c(i) as (select 1 union all select i+1 from c where i<5000)"
      " insert into t select 'uncommitted ' || i from c");
  const std::string spilled = content_of(path.string() + "-wal");
  EXPECT_GT(spilled.size(), written.log.size());
  EXPECT_EQ((*Written{written.database, spilled}.texts_of("t")), (std::vector<std::string>{"newer", "new"}));
  // A frame whose bytes never arrived whole ends the log.
  std::string torn = written.log;
  torn.back() = static_cast<char>(torn.back() ^ 1);
  EXPECT_EQ(Written({written.database, torn}).texts_of("t")->size(), 2U);
  writer.run("rollback");
}

TEST(SqliteFile, SkipsFramesOfAnOlderRound) {
  const ScratchTree tree;
  const auto path = tree.path() / "t.sqlite";
  const Writer writer(path);
  writer.run(
      "pragma journal_mode=wal; pragma wal_autocheckpoint=0; create table t(x text);"
      "insert into t values('a'); insert into t values('b'); insert into t values('c');");
  writer.run("pragma wal_checkpoint(restart)");
  writer.run("insert into t values('d')");  // over the log's beginning; behind it are the old frames
  const Written written{content_of(path), content_of(path.string() + "-wal")};
  EXPECT_EQ(*written.texts_of("t"), (std::vector<std::string>{"a", "b", "c", "d"}));
}

TEST(SqliteFile, RefusesWhatIsNoDatabase) {
  for (const std::string& bytes : {std::string(), std::string("SQLite format 3"), std::string(4096, 'x'),
                                   "SQLite format 3" + std::string(4096, '\0')}) {
    const ReadAt reader = reader_of(bytes);
    EXPECT_EQ(SqliteFile::open(reader, nullptr).error().code, ErrorCode::Malformed);
  }
}

TEST(SqliteFile, EndsOnTreesThatPointAtThemselves) {
  const ScratchTree tree;
  const auto path = tree.path() / "t.sqlite";
  const Writer writer(path);
  writer.run(
      "pragma page_size=512; create table t(x text); begin;"
      "with recursive c(i) as (select 1 union all select i+1 from c where i<200)"
      " insert into t select 'row ' || i from c; commit;");
  const std::string good = content_of(path);
  for (std::size_t at = 0; at < good.size(); at += at < 1024 ? 1 : 11) {
    for (const char wrong : {'\0', '\x02', '\xff'}) {
      Written written{good, ""};
      written.database[at] = wrong;
      const auto rows = written.texts_of("t");
      EXPECT_TRUE(rows || !rows.error().what.empty());
    }
  }
}

TEST(SqliteFile, ReadsIntegersOfEverySize) {
  const ScratchTree tree;
  const auto path = tree.path() / "t.sqlite";
  const Writer writer(path);
  writer.run(
      "create table t(x); insert into t values(0),(1),(-1),(127),(-129),(70000),(-3000000000),(1125899906842624)");
  const std::string bytes = content_of(path);
  const ReadAt reader = reader_of(bytes);
  auto file = SqliteFile::open(reader, nullptr);
  std::vector<std::int64_t> numbers;
  ASSERT_TRUE(file->for_each_row(*file->table("t"), [&](const SqliteRow& row) -> Result<void> {
    numbers.push_back(sqlite_integer(row.local, sqlite_columns(row.local)->front()).value());
    return {};
  }));
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{0, 1, -1, 127, -129, 70'000, -3'000'000'000, 1'125'899'906'842'624}));
}

}  // namespace
}  // namespace gpuskew
