#include "aggregator/history_store.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "aggregator/history_schema.h"
#include "aggregator/stored_text.h"
#include "proto/convert.h"

namespace gpuskew {

namespace {

namespace fs = std::filesystem;

// Another connection (a backup, `sqlite3` at a prompt) may hold the lock this long before a write fails and is retried.
constexpr int kBusyMs = 200;
// Larger files are read through only as they are used: the check costs about a second per gigabyte.
constexpr std::uintmax_t kMaxCheckedBytes = 256u << 20;

Result<void> check_integrity(Database& database, const fs::path& path) {
  std::error_code error;
  std::uintmax_t size = fs::file_size(path, error);
  if (error || size > kMaxCheckedBytes) {
    return {};
  }
  Result<Statement> check = database.prepare("PRAGMA quick_check(1)");
  if (!check) {
    return tl::unexpected(check.error());
  }
  Result<bool> row = check->step();
  if (!row) {
    return tl::unexpected(row.error());
  }
  if (!*row || check->bytes(0) != "ok") {
    return fail(ErrorCode::Malformed, std::string(*row ? check->bytes(0) : "it can not be checked"));
  }
  return {};
}

Result<std::int64_t> accept(Database& database, const fs::path& path) {
  Result<void> waits = database.execute(fmt::format("PRAGMA busy_timeout = {}", kBusyMs));
  if (!waits) {
    return tl::unexpected(waits.error());
  }
  Result<std::int64_t> version = history_schema_version(database);
  if (!version) {
    return version;
  }
  Result<void> sound = check_integrity(database, path);
  if (!sound) {
    return tl::unexpected(sound.error());
  }
  return version;
}

tl::unexpected<Error> refuse(const fs::path& path, const Error& why) {
  std::string what = fmt::format("history database {}: {}", path.string(), why.what);
  if (why.code == ErrorCode::Malformed) {
    what += "; it was left as it is: move it away to start a new one, or restore a backup";
  }
  return fail(why.code, std::move(what));
}

Result<void> check_directory(const fs::path& path) {
  fs::path directory = path.parent_path().empty() ? fs::path(".") : path.parent_path();
  if (::access(directory.c_str(), W_OK | X_OK) != 0) {
    int error = errno;
    return fail(error == ENOENT ? ErrorCode::NotFound : ErrorCode::Denied,
                fmt::format("history database {}: its directory can not be written: {}", path.string(),
                            std::generic_category().message(error)));
  }
  return {};
}

Result<StoredNode> node_of(const Statement& row) {
  StoredNode node;
  node.snapshot_wire = std::string(row.bytes(1));
  if (!row.is_null(2)) {
    Result<LastGood> good = decode_last_good(row.bytes(2));
    if (!good) {
      return fail("last_good", good.error());
    }
    node.history.last_good = std::move(*good);
  }
  node.history.boot_id = std::string(row.bytes(3));
  node.history.boot_first_seen = from_unix_ms(row.integer(4));
  node.first_seen = from_unix_ms(row.integer(5));
  Result<std::map<FindingCode, Time>> open = open_since_from(row.bytes(6));
  if (!open) {
    return fail("open_since", open.error());
  }
  node.history.open_since = std::move(*open);
  node.last_heard = from_unix_ms(row.integer(7));
  if (node.history.last_good && !row.is_null(8)) {
    node.history.last_good->at = from_unix_ms(row.integer(8));
  }
  return node;
}

void bind_last_good(Statement& statement, int parameter, const std::optional<LastGood>& good) {
  if (good) {
    statement.bind_blob(parameter, encode(*good));
  } else {
    statement.bind_null(parameter);
  }
}

}  // namespace

Heard heard_of(Time last_heard, const NodeHistory& history) {
  Heard heard{last_heard, std::nullopt};
  if (history.last_good) {
    heard.good_at = history.last_good->at;
  }
  return heard;
}

Result<HistoryStore> HistoryStore::open(const fs::path& path) {
  Result<FileLock> lock = FileLock::acquire(path.string() + ".lock");
  if (!lock) {
    return refuse(path, lock.error());
  }
  Result<Database> database = Database::open(path, Database::Mode::CreateOrOpen);
  if (!database) {
    return refuse(path, database.error());
  }
  database->checkpoint_on_close(false);
  Result<std::int64_t> version = accept(*database, path);
  if (!version) {
    return refuse(path, version.error());
  }
  database->checkpoint_on_close(true);
  Result<void> tuned = database->execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
  if (!tuned) {
    return refuse(path, tuned.error());
  }
  Result<void> migrated = migrate_history(*database, *version);
  if (!migrated) {
    return refuse(path, migrated.error());
  }
  Result<Statements> statements = prepare(*database);
  if (!statements) {
    return refuse(path, statements.error());
  }
  return HistoryStore(std::move(*lock), std::move(*database), std::move(*statements));
}

Result<void> HistoryStore::check(const fs::path& path) {
  Result<void> directory = check_directory(path);
  if (!directory) {
    return directory;
  }
  std::error_code error;
  if (!fs::exists(path, error)) {
    return {};
  }
  Result<Database> database = Database::open(path, Database::Mode::OpenExisting);
  if (!database) {
    return refuse(path, database.error());
  }
  database->checkpoint_on_close(false);
  Result<std::int64_t> version = accept(*database, path);
  if (!version) {
    return refuse(path, version.error());
  }
  return {};
}

Result<HistoryStore::Statements> HistoryStore::prepare(Database& database) {
  constexpr std::array kSql = {
      "INSERT INTO nodes (name, last_good, boot_id, boot_first_seen, first_seen, open_since, snapshot)"
      " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (name) DO UPDATE SET last_good = ?2, boot_id = ?3,"
      " boot_first_seen = ?4, first_seen = ?5, open_since = ?6, snapshot = ?7",
      "UPDATE nodes SET last_good = ?2, boot_id = ?3, boot_first_seen = ?4, first_seen = ?5, open_since = ?6"
      " WHERE name = ?1",
      "INSERT INTO heard (node, at, good_at) VALUES (?1, ?2, ?3)"
      " ON CONFLICT (node) DO UPDATE SET at = ?2, good_at = ?3",
      "INSERT INTO transitions (node, at, kind, from_text, to_text, detail) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
      "DELETE FROM transitions WHERE node = ?1 AND id <="
      " (SELECT id FROM transitions WHERE node = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
      "SELECT node, at, kind, from_text, to_text, detail FROM transitions WHERE node = ?1 ORDER BY id DESC LIMIT ?2",
      "DELETE FROM transitions WHERE id IN (SELECT id FROM transitions WHERE at < ?1 ORDER BY at LIMIT ?2)",
  };
  std::vector<Statement> made;
  for (const char* sql : kSql) {
    Result<Statement> statement = database.prepare(sql);
    if (!statement) {
      return tl::unexpected(statement.error());
    }
    made.push_back(std::move(*statement));
  }
  return Statements{std::move(made[0]), std::move(made[1]), std::move(made[2]), std::move(made[3]),
                    std::move(made[4]), std::move(made[5]), std::move(made[6])};
}

Result<void> HistoryStore::write(const HistoryBatch& batch) {
  Result<Transaction> transaction = Transaction::begin(database_);
  if (!transaction) {
    return tl::unexpected(transaction.error());
  }
  for (const auto& [name, node] : batch.nodes) {
    Result<void> written = write_node(name, node);
    if (!written) {
      return written;
    }
  }
  for (const Transition& transition : batch.transitions) {
    Result<void> written = write_transition(transition);
    if (!written) {
      return written;
    }
  }
  for (const auto& [name, heard] : batch.heard) {
    Result<void> written = write_heard(name, heard);
    if (!written) {
      return written;
    }
  }
  return transaction->commit();
}

Result<void> HistoryStore::write_node(const std::string& name, const StoredNode& node) {
  Statement& statement = node.snapshot_wire ? statements_.put_node : statements_.put_history;
  statement.bind(1, name);
  bind_last_good(statement, 2, node.history.last_good);
  statement.bind(3, node.history.boot_id)
      .bind(4, to_unix_ms(node.history.boot_first_seen))
      .bind(5, to_unix_ms(node.first_seen))
      .bind(6, open_since_text(node.history.open_since));
  if (node.snapshot_wire) {
    statement.bind_blob(7, *node.snapshot_wire);
  }
  Result<void> written = statement.run();
  if (!written) {
    return written;
  }
  return write_heard(name, heard_of(node.last_heard, node.history));
}

Result<void> HistoryStore::write_heard(const std::string& name, const Heard& heard) {
  Statement& statement = statements_.put_heard;
  statement.bind(1, name).bind(2, to_unix_ms(heard.at));
  if (heard.good_at) {
    statement.bind(3, to_unix_ms(*heard.good_at));
  } else {
    statement.bind_null(3);
  }
  return statement.run();
}

Result<void> HistoryStore::write_transition(const Transition& transition) {
  Result<void> written = statements_.put_transition.bind(1, transition.node)
                             .bind(2, to_unix_ms(transition.at))
                             .bind(3, to_string(transition.kind))
                             .bind(4, transition.from)
                             .bind(5, transition.to)
                             .bind(6, transition.detail)
                             .run();
  std::int64_t& untrimmed = untrimmed_[transition.node];
  if (!written || ++untrimmed < kTrimEvery) {
    return written;
  }
  untrimmed = 0;
  return statements_.trim.bind(1, transition.node).bind(2, kMaxTransitionsPerNode).run();
}

Result<void> HistoryStore::for_each_node(const std::function<void(std::string name, StoredNode node)>& take) {
  Result<Statement> rows = database_.prepare(
      "SELECT name, snapshot, last_good, boot_id, boot_first_seen, first_seen, open_since, at, good_at"
      " FROM nodes JOIN heard ON node = name ORDER BY name");
  if (!rows) {
    return tl::unexpected(rows.error());
  }
  for (;;) {
    Result<bool> row = rows->step();
    if (!row) {
      return tl::unexpected(row.error());
    }
    if (!*row) {
      return {};
    }
    std::string name(rows->bytes(0));
    Result<StoredNode> node = node_of(*rows);
    if (!node) {
      return fail(fmt::format("stored node {}", name), node.error());
    }
    take(std::move(name), std::move(*node));
  }
}

Result<std::vector<Transition>> HistoryStore::history(std::string_view node, std::size_t limit) {
  Statement& rows = statements_.history;
  rows.reset();
  rows.bind(1, node).bind(2, static_cast<std::int64_t>(limit));
  std::vector<Transition> found;
  for (;;) {
    Result<bool> row = rows.step();
    if (!row || !*row) {
      rows.reset();
      if (!row) {
        return tl::unexpected(row.error());
      }
      return found;
    }
    std::optional<TransitionKind> kind = transition_kind_from(rows.bytes(2));
    if (!kind) {
      continue;  // a later version's kind, after a downgrade
    }
    found.push_back(Transition{std::string(rows.bytes(0)), from_unix_ms(rows.integer(1)), *kind,
                               std::string(rows.bytes(3)), std::string(rows.bytes(4)), std::string(rows.bytes(5))});
  }
}

Result<std::int64_t> HistoryStore::prune(Time cutoff) {
  Result<void> deleted = statements_.prune.bind(1, to_unix_ms(cutoff)).bind(2, kPruneRows).run();
  if (!deleted) {
    return tl::unexpected(deleted.error());
  }
  return database_.changes();
}

Result<std::int64_t> HistoryStore::forget_nodes(Time cutoff) {
  Result<Transaction> transaction = Transaction::begin(database_);
  if (!transaction) {
    return tl::unexpected(transaction.error());
  }
  std::int64_t forgotten = 0;
  for (const char* sql :
       {"DELETE FROM nodes WHERE name IN (SELECT node FROM heard WHERE at < ?1)", "DELETE FROM heard WHERE at < ?1"}) {
    Result<Statement> forget = database_.prepare(sql);
    if (!forget) {
      return tl::unexpected(forget.error());
    }
    Result<void> deleted = forget->bind(1, to_unix_ms(cutoff)).run();
    if (!deleted) {
      return tl::unexpected(deleted.error());
    }
    forgotten = database_.changes();
  }
  Result<void> committed = transaction->commit();
  if (!committed) {
    return tl::unexpected(committed.error());
  }
  return forgotten;
}

}  // namespace gpuskew
