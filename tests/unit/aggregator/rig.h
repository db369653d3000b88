#pragma once

// What the aggregator's tests share: a directory, a log that can be read, snapshots, and the real parts put together.

#include <filesystem>
#include <string>
#include <string_view>

#include "aggregator/fleet_recorder.h"
#include "aggregator/history_store.h"
#include "aggregator/history_writer.h"
#include "core/fleet.h"
#include "core/snapshot.h"
#include "core/time.h"
#include "runtime/log.h"

namespace gpuskew {

class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Writes a file beneath it and returns its path.
  std::filesystem::path write(const std::string& name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

/// A Log into a file without a name.
class CapturedLog {
 public:
  CapturedLog();
  ~CapturedLog();
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  Log& log() { return log_; }
  std::string text() const;
  /// How many lines contain `part`.
  std::size_t count(std::string_view part) const;

 private:
  int fd_;
  Log log_;
};

inline constexpr Time kNow = from_unix_ms(1'796'054'737'123);  // 2026-11-30T16:05:37.123Z

std::string read_text(const std::filesystem::path& file);

/// A healthy node with two GPUs, all facts known.
Snapshot healthy_snapshot(const std::string& node);
/// The same node after a kernel bump that lost the driver, in another boot.
Snapshot bumped_snapshot(const std::string& node);
/// Neither GPU nor driver.
Snapshot plain_snapshot(const std::string& node);

/// The payload of a frame that carries it.
std::string snapshot_message(const Snapshot& snapshot, std::uint64_t sequence);
std::string hello_message(const std::string& node, std::uint32_t min_version = 1, std::uint32_t max_version = 1);
std::string heartbeat_message(std::uint64_t sequence);
/// The gpuskew.v1.Snapshot alone.
std::string snapshot_wire(const Snapshot& snapshot);

/// Store, fleet and recorder on a database in a directory of its own.
struct Rig {
  explicit Rig(JudgePolicy policy = {});

  TempDir directory;
  CapturedLog captured;
  HistoryStore store;
  Fleet fleet;
  HistoryWriter writer{store, captured.log()};
  FleetRecorder recorder{fleet, writer, captured.log()};

  std::filesystem::path database() const { return directory.path() / "history.db"; }
  /// Takes a report as if an agent had sent it, and stores it.
  void report(const Snapshot& snapshot, Time now = kNow);
};

}  // namespace gpuskew
