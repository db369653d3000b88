#pragma once

// The little of SQLite's file format that a package list needs: tables by name, their rows in order, one row by its
// number. libsqlite3 would want to write beside the file (locks, shared memory) or could not see what a write-ahead log
// still holds.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/probes/byte_order.h"
#include "core/result.h"

namespace gpuskew {

/// A row's bytes: those in its cell, and where the rest is.
struct SqliteRow {
  std::int64_t number = 0;
  std::uint64_t size = 0;
  std::string local;
  std::uint32_t overflow = 0;  ///< the first page of the rest; 0 for none
};

/// Where a column is in its row's bytes, and what it is.
struct SqliteColumn {
  std::uint64_t type = 0;  ///< SQLite's serial type
  std::uint64_t offset = 0;
  std::uint64_t size = 0;

  bool is_text_or_blob() const { return type >= 12; }
};

/// A database as it stood at its last commit. `database` and `log` must outlive the object. The caller makes sure that
/// nobody wrote in between: there are no locks.
class SqliteFile {
 public:
  static constexpr std::uint64_t kMaxLogBytes = 64u << 20;
  static constexpr std::size_t kMaxPages = 64u << 10;  ///< read in an object's life
  static constexpr int kMaxDepth = 24;
  static constexpr std::size_t kMaxColumns = 16;

  /// `log`: the write-ahead log beside it, nullptr for none. Errors: those of the readers, Malformed, TooLarge.
  static Result<SqliteFile> open(const ReadAt& database, const ReadAt* log);

  /// A table's first page. NotFound: there is no such table.
  Result<std::uint32_t> table(std::string_view name);
  using Visit = std::function<Result<void>(const SqliteRow&)>;
  Result<void> for_each_row(std::uint32_t table, const Visit& visit);
  /// NotFound: no row of this number.
  Result<SqliteRow> row(std::uint32_t table, std::int64_t number);
  /// At most `size` bytes of a row from `offset`; fewer at its end.
  Result<std::string> bytes(const SqliteRow& row, std::uint64_t offset, std::uint64_t size);

 private:
  SqliteFile(const ReadAt& database, const ReadAt* log) : database_(&database), log_(log) {}
  Result<void> read_log();
  Result<std::string> page(std::uint32_t number);
  Result<void> walk(std::uint32_t number, int depth, const Visit& visit);
  Result<SqliteRow> leaf_row(std::string_view page, std::size_t at) const;

  const ReadAt* database_;
  const ReadAt* log_;
  std::size_t page_size_ = 0;
  std::size_t usable_ = 0;  ///< a page without what extensions reserve at its end
  std::size_t pages_read_ = 0;
  std::map<std::uint32_t, std::uint64_t> logged_;  ///< pages that are newer in the log, and where
};

/// The columns of a row, told by what its bytes begin with. Malformed; TooLarge past kMaxColumns.
Result<std::vector<SqliteColumn>> sqlite_columns(std::string_view row);
/// A whole number in a column. nullopt: none.
std::optional<std::int64_t> sqlite_integer(std::string_view row, const SqliteColumn& column);

}  // namespace gpuskew
