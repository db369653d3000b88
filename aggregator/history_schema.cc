#include "aggregator/history_schema.h"

#include <array>
#include <string>

#include <fmt/format.h>

namespace gpuskew {

namespace {

// "gpsk": tells our database from any other SQLite file that a wrong path may name.
constexpr std::int64_t kApplicationId = 0x6770736b;

// kMigrations[n] brings version n to n + 1.
constexpr std::array<const char*, kHistorySchemaVersion> kMigrations = {R"sql(
CREATE TABLE nodes (
  name            TEXT PRIMARY KEY,
  snapshot        BLOB NOT NULL,     -- gpuskew.v1.Snapshot as received, fields of later versions included
  last_good       BLOB,              -- gpuskew.v1.LastGood
  boot_id         TEXT NOT NULL,     -- '' when unknown
  boot_first_seen INTEGER NOT NULL,  -- this and every time: Unix milliseconds, UTC, by the aggregator's clock
  first_seen      INTEGER NOT NULL,
  open_since      TEXT NOT NULL      -- JSON object: finding code to time
) STRICT;
-- What every heartbeat moves, apart from the wide rows: 5,000 nodes' worth is 300 KB, not 5 MB, each half minute.
CREATE TABLE heard (
  node    TEXT PRIMARY KEY,
  at      INTEGER NOT NULL,          -- the agent's last word of any kind
  good_at INTEGER                    -- when the driver was last known to be loaded; NULL: never
) STRICT, WITHOUT ROWID;
CREATE TABLE transitions (
  id        INTEGER PRIMARY KEY,     -- in order of arrival
  node      TEXT NOT NULL,
  at        INTEGER NOT NULL,
  kind      TEXT NOT NULL,
  from_text TEXT NOT NULL,
  to_text   TEXT NOT NULL,
  detail    TEXT NOT NULL
) STRICT;
CREATE INDEX transitions_by_node ON transitions (node);
CREATE INDEX transitions_by_time ON transitions (at);
)sql"};

}  // namespace

Result<std::int64_t> history_schema_version(Database& database) {
  Result<std::int64_t> version = database.query_integer("PRAGMA user_version");
  if (!version) {
    return version;
  }
  Result<std::int64_t> tables = database.query_integer("SELECT count(*) FROM sqlite_master");
  if (!tables) {
    return tables;
  }
  if (*tables == 0 && *version == 0) {
    return 0;
  }
  Result<std::int64_t> application = database.query_integer("PRAGMA application_id");
  if (!application) {
    return application;
  }
  if (*application != kApplicationId) {
    return fail(ErrorCode::Unsupported, "it is a database of another program, not gpuskew's history");
  }
  if (*version > kHistorySchemaVersion || *version < 1) {
    return fail(ErrorCode::Unsupported,
                fmt::format("its schema is version {}, this gpuskew-aggregator {} knows up to {}: install the version "
                            "that made it, or name another history.path",
                            *version, GPUSKEW_VERSION, kHistorySchemaVersion));
  }
  return version;
}

Result<void> migrate_history(Database& database, std::int64_t version) {
  for (std::int64_t from = version; from < kHistorySchemaVersion; ++from) {
    Result<Transaction> transaction = Transaction::begin(database);
    if (!transaction) {
      return tl::unexpected(transaction.error());
    }
    std::string sql = kMigrations[static_cast<std::size_t>(from)];
    sql += fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId, from + 1);
    Result<void> stepped = database.execute(sql);
    if (!stepped) {
      return fail(fmt::format("migrating from schema {} to {}", from, from + 1), stepped.error());
    }
    Result<void> committed = transaction->commit();
    if (!committed) {
      return fail(fmt::format("migrating from schema {} to {}", from, from + 1), committed.error());
    }
  }
  return {};
}

}  // namespace gpuskew
