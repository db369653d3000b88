#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/read_cache.h"
#include "agent/state_file.h"
#include "core/snapshot.h"
#include "core/time.h"

namespace gpuskew {

class HostRoot;
class KernelLogReader;
class Log;

/// Reads the node, remembers across boots, and says what changed: to the log, and to whoever delivers snapshots.
class Reporter {
 public:
  using Deliver = std::function<void(std::shared_ptr<const Snapshot>)>;

  /// Loads the state file. `root` and `log` must outlive the object. `deliver` must not block.
  Reporter(const HostRoot& root, const Log& log, std::string node, StateFile state, Time now, Deliver deliver);

  /// Where snapshots have their kernel log from; without one it stays unknown. `reader` must outlive the object.
  void set_kernel_log(KernelLogReader& reader) { kernel_log_ = &reader; }
  /// The operator's word on the number of GPUs, from the next read on.
  void set_expected_gpus(std::optional<std::uint32_t> number) { expected_gpus_ = number; }

  /// Reads every fact, a few milliseconds. A snapshot that says something new is delivered.
  void read(Time now);

  /// The search for those who hold a device is not at its end: search_on() would know more.
  bool is_searching() const { return cache_.holders.is_searching(); }
  /// The next piece of that search, some 5 ms; all other facts are as the last read() found them.
  void search_on(Time now);

  /// The newest snapshot; nullptr before the first read().
  const std::shared_ptr<const Snapshot>& latest() const { return latest_; }

 private:
  void log_changes(const Snapshot& snapshot) const;
  void save();
  void deliver_news(Snapshot snapshot);
  void attach_kernel_log(Snapshot& snapshot, Time now) const;

  const HostRoot& root_;
  const Log& log_;
  std::string node_;
  StateFile state_;
  Memory memory_;
  Deliver deliver_;
  ReadCache cache_;
  KernelLogReader* kernel_log_ = nullptr;
  std::optional<std::uint32_t> expected_gpus_;
  std::shared_ptr<const Snapshot> latest_;
  bool is_saving_broken_ = false;
};

}  // namespace gpuskew
