// rpm's database: which of its three kinds is here, and that nobody wrote to it while it was read.

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "agent/probes/package_names.h"
#include "agent/probes/packages.h"
#include "agent/probes/rpm_bdb.h"
#include "agent/probes/rpm_ndb.h"
#include "agent/probes/rpm_sqlite.h"

namespace gpuskew {
namespace {

// Where distributions moved it to first: the older places are links then, or left over.
constexpr std::array kFolders = {"/usr/lib/sysimage/rpm", "/var/lib/rpm", "/usr/share/rpm"};
// The newer kind first: a conversion may leave the older file.
constexpr const char* kSqlite = "/rpmdb.sqlite";
constexpr const char* kNdb = "/Packages.db";
constexpr const char* kBdb = "/Packages";

// A transaction writes every few seconds, and a read takes milliseconds.
constexpr int kMaxTries = 3;

bool is_wanted(std::string_view name) {
  return rpm_role(name).has_value();
}

ReadAt reader_of(const HostFile& file) {
  return [&file](std::uint64_t offset, std::size_t size) { return file.read_at(offset, size); };
}

class RpmDatabase {
 public:
  /// NotFound: none of this kind in this folder.
  static Result<RpmDatabase> find(const HostRoot& root, const std::string& folder, const char* kind) {
    RpmDatabase database(root, folder + kind, kind);
    auto files = database.files();
    if (!files) {
      return tl::unexpected(files.error());
    }
    database.status_ = std::move(*files);
    return database;
  }

  const std::string& path() const { return path_; }
  const std::vector<FileStatus>& status() const { return status_; }

  Result<std::vector<RpmPackage>> packages() const {
    auto before = files();
    for (int tries = 0; tries < kMaxTries && before; ++tries) {
      auto packages = read(*before);
      auto after = files();
      if (after && *after == *before) {
        return packages ? packages : fail("reading " + path_, packages.error());
      }
      before = std::move(after);
    }
    return fail(ErrorCode::Internal, "reading " + path_ + ": it changed while it was read");
  }

 private:
  RpmDatabase(const HostRoot& root, std::string path, std::string_view kind)
      : root_(&root), path_(std::move(path)), is_sqlite_(kind == kSqlite), is_ndb_(kind == kNdb) {}

  // The database, and beside SQLite's its log and its journal.
  Result<std::vector<FileStatus>> files() const {
    std::vector<FileStatus> files;
    for (const char* suffix : {"", "-wal", "-journal"}) {
      const auto status = root_->status(path_ + suffix);
      if (!status && (files.empty() || status.error().code != ErrorCode::NotFound)) {
        return tl::unexpected(status.error());
      }
      // Who only reads makes an empty log and takes it away again: no change.
      const bool counts = status && (files.empty() || status->size > 0);
      files.push_back(counts ? *status : FileStatus{});
      if (!is_sqlite_) {
        break;
      }
    }
    return files;
  }

  Result<std::vector<RpmPackage>> read(const std::vector<FileStatus>& status) const {
    const auto file = root_->open_file(path_);
    if (!file) {
      return tl::unexpected(file.error());
    }
    const ReadAt bytes = reader_of(*file);
    if (!is_sqlite_) {
      return is_ndb_ ? read_rpm_ndb(bytes, is_wanted) : read_rpm_bdb(bytes, is_wanted);
    }
    constexpr std::size_t kLog = 1;
    constexpr std::size_t kJournal = 2;
    if (status[kJournal].size > 0) {
      return fail(ErrorCode::Internal, "a transaction is open, or was cut off and waits for rpm to undo it");
    }
    if (status[kLog].size == 0) {
      return read_rpm_sqlite(bytes, nullptr, is_wanted);
    }
    const auto log = root_->open_file(path_ + "-wal");
    if (!log) {
      return tl::unexpected(log.error());
    }
    const ReadAt log_bytes = reader_of(*log);
    return read_rpm_sqlite(bytes, &log_bytes, is_wanted);
  }

  const HostRoot* root_;
  std::string path_;
  bool is_sqlite_;
  bool is_ndb_;
  std::vector<FileStatus> status_;
};

Result<RpmDatabase> find_database(const HostRoot& root) {
  for (const char* folder : kFolders) {
    for (const char* kind : {kSqlite, kNdb, kBdb}) {
      auto database = RpmDatabase::find(root, folder, kind);
      if (database || database.error().code != ErrorCode::NotFound) {
        return database;
      }
    }
  }
  return fail(ErrorCode::NotFound, "no database of rpm");
}

}  // namespace

Result<InstallTraces> read_rpm_traces(const HostRoot& root, std::string_view prefix, PackageCache* cache) {
  const auto database = find_database(root);
  if (!database) {
    return tl::unexpected(database.error());
  }
  const std::string source = std::string(prefix) + database->path();
  const auto read = [&]() -> Result<InstallTraces> {
    auto packages = database->packages();
    if (!packages) {
      return tl::unexpected(packages.error());
    }
    InstallTraces traces;
    for (RpmPackage& package : *packages) {
      if (!is_plain_package_text(package.name) || !is_plain_package_text(package.version)) {
        return fail(ErrorCode::Malformed, "reading " + source + ": a package whose name or version is none");
      }
      auto trace = rpm_trace(std::move(package.name), std::move(package.version), source);
      if (trace && package.installed_at) {
        trace->changed_by = "rpm, " + to_rfc3339(*package.installed_at);
      }
      if (trace) {
        traces.push_back(std::move(*trace));
      }
    }
    return traces;
  };
  return cache != nullptr ? cache->get(source, database->status(), read) : read();
}

}  // namespace gpuskew
