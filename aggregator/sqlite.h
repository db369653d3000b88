#pragma once

// SQLite's C API as three small owners. Everything that can fail returns Result; the error carries SQLite's own
// words. Not thread-safe: one thread, as everywhere in the daemon.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace gpuskew {

/// A prepared statement. Must not outlive its Database. Parameters and columns count from 1 and 0, as SQLite's do.
/// A bound text or blob is copied.
class Statement {
 public:
  Statement& bind(int parameter, std::int64_t value);
  Statement& bind(int parameter, std::string_view text);
  Statement& bind_blob(int parameter, std::string_view bytes);
  Statement& bind_null(int parameter);

  /// true: a row is there. false: done. The first failed bind is reported here.
  Result<bool> step();
  /// For statements without rows: step to the end and make ready for the next use.
  Result<void> run();
  /// Ready for new parameters.
  void reset();

  std::int64_t integer(int column) const;
  /// Text or blob; valid until the next step, reset or bind. "" for NULL.
  std::string_view bytes(int column) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* statement) : statement_(statement) {}
  void note(int code);

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bind_error_ = 0;
};

class Database {
 public:
  enum class Mode : std::uint8_t { CreateOrOpen, OpenExisting };

  /// Errors: NotFound, Denied, Internal. SQLite opens lazily: a file that is no database fails at the first read.
  static Result<Database> open(const std::filesystem::path& path, Mode mode);

  Result<Statement> prepare(std::string_view sql);
  /// One or more statements whose rows nobody reads.
  Result<void> execute(const std::string& sql);
  /// The single integer of a query such as a PRAGMA.
  Result<std::int64_t> query_integer(std::string_view sql);
  /// Rows changed by the last statement.
  std::int64_t changes() const;
  /// Whether closing the last connection folds the write-ahead log into the file. Off: the file stays as it is.
  void checkpoint_on_close(bool enabled);

  /// Errors: Malformed (corrupt, no database), Denied (permissions, read-only), Timeout (locked), Internal (disk full,
  /// IO).
  static Error error_of(int code, std::string_view text);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* database) : database_(database) {}
  Error last_error() const;

  std::unique_ptr<sqlite3, Close> database_;
};

/// BEGIN IMMEDIATE ... COMMIT; rolled back when it goes out of scope uncommitted.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(other.database_) { other.database_ = nullptr; }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace gpuskew
