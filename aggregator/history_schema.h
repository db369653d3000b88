#pragma once

// The history database's tables, by schema version (PRAGMA user_version). A version, once released, never changes: a
// later one is a migration appended to the list.

#include <cstdint>

#include "aggregator/sqlite.h"

namespace gpuskew {

inline constexpr std::int64_t kHistorySchemaVersion = 1;

/// The version of an opened database; 0: empty. Reads the file, so a file that is no database is noticed here.
/// Errors: Malformed (corrupt or no database), Unsupported (made by a newer gpuskew, or not by gpuskew at all).
Result<std::int64_t> history_schema_version(Database& database);

/// Brings the tables from `version` to kHistorySchemaVersion, each step in a transaction of its own.
Result<void> migrate_history(Database& database, std::int64_t version);

}  // namespace gpuskew
