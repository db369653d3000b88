#include "aggregator/sqlite.h"

#include <sqlite3.h>

#include <fmt/format.h>

namespace gpuskew {

namespace {

ErrorCode code_of(int code) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorCode::Malformed;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return ErrorCode::Denied;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::Timeout;
    default:
      return ErrorCode::Internal;
  }
}

}  // namespace

Error Database::error_of(int code, std::string_view text) {
  return Error{code_of(code), fmt::format("{} (SQLite {})", text, code)};
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Statement::note(int code) {
  if (code != SQLITE_OK && bind_error_ == SQLITE_OK) {
    bind_error_ = code;
  }
}

Statement& Statement::bind(int parameter, std::int64_t value) {
  note(sqlite3_bind_int64(statement_.get(), parameter, value));
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view text) {
  // A null data pointer would bind NULL where the empty text is meant.
  const char* data = text.data() == nullptr ? "" : text.data();
  note(sqlite3_bind_text64(statement_.get(), parameter, data, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_blob(int parameter, std::string_view bytes) {
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  note(sqlite3_bind_blob64(statement_.get(), parameter, data, bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

Statement& Statement::bind_null(int parameter) {
  note(sqlite3_bind_null(statement_.get(), parameter));
  return *this;
}

Result<bool> Statement::step() {
  if (bind_error_ != SQLITE_OK) {
    return tl::unexpected(Database::error_of(bind_error_, sqlite3_errstr(bind_error_)));
  }
  int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) {
    return true;
  }
  if (code == SQLITE_DONE) {
    return false;
  }
  sqlite3* database = sqlite3_db_handle(statement_.get());
  return tl::unexpected(Database::error_of(sqlite3_extended_errcode(database), sqlite3_errmsg(database)));
}

Result<void> Statement::run() {
  for (;;) {
    Result<bool> row = step();
    if (!row) {
      reset();
      return tl::unexpected(row.error());
    }
    if (!*row) {
      reset();
      return {};
    }
  }
}

void Statement::reset() {
  // Its result repeats the error the last step already reported.
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  bind_error_ = SQLITE_OK;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view Statement::bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_.get(), column);
  int size = sqlite3_column_bytes(statement_.get(), column);
  if (data == nullptr || size <= 0) {
    return {};
  }
  return {static_cast<const char*>(data), static_cast<std::size_t>(size)};
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void Database::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

Result<Database> Database::open(const std::filesystem::path& path, Mode mode) {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE;
  if (mode == Mode::CreateOrOpen) {
    flags |= SQLITE_OPEN_CREATE;
  }
  sqlite3* raw = nullptr;
  int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database database(raw);
  if (code != SQLITE_OK) {
    return tl::unexpected(error_of(code, raw == nullptr ? "out of memory" : sqlite3_errmsg(raw)));
  }
  return database;
}

Error Database::last_error() const {
  return error_of(sqlite3_extended_errcode(database_.get()), sqlite3_errmsg(database_.get()));
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                &raw, nullptr);
  if (code != SQLITE_OK) {
    return tl::unexpected(last_error());
  }
  return Statement(raw);
}

Result<void> Database::execute(const std::string& sql) {
  if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return tl::unexpected(last_error());
  }
  return {};
}

Result<std::int64_t> Database::query_integer(std::string_view sql) {
  Result<Statement> statement = prepare(sql);
  if (!statement) {
    return tl::unexpected(statement.error());
  }
  Result<bool> row = statement->step();
  if (!row) {
    return tl::unexpected(row.error());
  }
  return *row ? statement->integer(0) : 0;
}

std::int64_t Database::changes() const {
  return sqlite3_changes64(database_.get());
}

void Database::checkpoint_on_close(bool enabled) {
  sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, enabled ? 0 : 1, nullptr);
}

Result<Transaction> Transaction::begin(Database& database) {
  Result<void> begun = database.execute("BEGIN IMMEDIATE");
  if (!begun) {
    return tl::unexpected(begun.error());
  }
  return Transaction(database);
}

Transaction::~Transaction() {
  if (database_ != nullptr) {
    // SQLite may have rolled back by itself (disk full); then this fails and nothing is left to do.
    static_cast<void>(database_->execute("ROLLBACK").has_value());
  }
}

Result<void> Transaction::commit() {
  Result<void> committed = database_->execute("COMMIT");
  if (committed) {
    database_ = nullptr;
  }
  return committed;
}

}  // namespace gpuskew
