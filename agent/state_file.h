#pragma once

// What the agent remembers across boots: the last state in which the nvidia module was loaded. It makes "before:
// 550.90.07 on 5.15.0-119-generic; now: nothing on 5.15.0-122-generic" provable on the node alone.

#include <filesystem>
#include <optional>
#include <string>

#include "core/result.h"
#include "core/snapshot.h"
#include "core/time.h"

namespace gpuskew {

/// <directory>/last-good: a header line (format version, length, checksum), then LastGood's wire bytes.
class StateFile {
 public:
  /// The real size is about 150 bytes.
  static constexpr std::size_t kMaxBytes = 16u << 10;

  explicit StateFile(std::filesystem::path directory) : directory_(std::move(directory)) {}

  /// Whether files can be written in the directory, or it can be made in its parent. Changes nothing. Errors name it.
  Result<void> check() const;
  /// Makes the directory where its parent is there, then check().
  Result<void> prepare() const;

  /// nullopt: there is no file. Changes nothing. Errors: those of reading it; Malformed, Unsupported (not ours).
  Result<std::optional<LastGood>> read() const;

  struct Loaded {
    std::optional<LastGood> good;
    std::string warning;  ///< what is ignored and where it went; "" when all is well
  };
  /// A file that does not read as ours is moved aside as last-good.corrupt-<unix seconds>, of which only the newest is
  /// kept. Never fails: without a good file the agent begins with nothing.
  Loaded load(Time now) const;

  /// The old content stays on any error.
  Result<void> save(const LastGood& good) const;

  std::filesystem::path path() const { return directory_ / "last-good"; }

 private:
  std::string move_aside(Time now) const;

  std::filesystem::path directory_;
};

/// The rule for Snapshot::remembered. While a module is loaded, this boot's state is the last good one; while none is,
/// the newest state that was ever good stays, so that a boot without a driver never erases the boot before it.
class Memory {
 public:
  /// While nothing else changes, `at` moves on this often: each move is a report and a write to disk.
  static constexpr Duration kRefreshInterval = std::chrono::hours(1);

  explicit Memory(std::optional<LastGood> loaded) : remembered_(loaded), stored_(std::move(loaded)) {}

  /// Learns from the snapshot and sets its `remembered`.
  void attach(Snapshot& snapshot);

  /// What the state file should hold and does not yet; nullopt when it does.
  std::optional<LastGood> unsaved() const;
  void set_saved(const LastGood& good) { stored_ = good; }

  const std::optional<LastGood>& remembered() const { return remembered_; }

 private:
  std::optional<LastGood> remembered_;
  std::optional<LastGood> stored_;
  /// The last snapshot's good state with its exact time; nullopt when no module was loaded in it.
  std::optional<LastGood> latest_;
};

/// "driver 550.90.07 on 5.15.0-119-generic", "no driver on ...", "unknown driver on an unknown kernel".
std::string driver_summary(const Snapshot& snapshot);

/// "before: 550.90.07 on 5.15.0-119-generic; now: nothing on 5.15.0-122-generic" when `now` is another boot than the
/// remembered one (by boot id; by kernel where a boot id is not known); nullopt in the same boot.
std::optional<std::string> boot_comparison(const LastGood& before, const Snapshot& now);

}  // namespace gpuskew
