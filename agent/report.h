#pragma once

#include <functional>
#include <memory>
#include <string>

#include "agent/read_cache.h"
#include "agent/state_file.h"
#include "core/snapshot.h"
#include "core/time.h"

namespace gpuskew {

class HostRoot;
class Log;

/// Reads the node, remembers across boots, and says what changed: to the log, and to whoever delivers snapshots.
class Reporter {
 public:
  using Deliver = std::function<void(std::shared_ptr<const Snapshot>)>;

  /// Loads the state file. `root` and `log` must outlive the object. `deliver` must not block.
  Reporter(const HostRoot& root, const Log& log, std::string node, StateFile state, Time now, Deliver deliver);

  /// Reads every fact, a few milliseconds. A snapshot that says something new is delivered.
  void read(Time now);

  /// Another read soon would know more: the search for those who hold a device is not at its end.
  bool is_searching() const { return cache_.holders.is_searching(); }

  /// The newest snapshot; nullptr before the first read().
  const std::shared_ptr<const Snapshot>& latest() const { return latest_; }

 private:
  void log_changes(const Snapshot& snapshot) const;
  void save();

  const HostRoot& root_;
  const Log& log_;
  std::string node_;
  StateFile state_;
  Memory memory_;
  Deliver deliver_;
  ReadCache cache_;
  std::shared_ptr<const Snapshot> latest_;
  bool is_saving_broken_ = false;
};

}  // namespace gpuskew
