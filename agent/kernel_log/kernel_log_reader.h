#pragma once

// This boot's kernel log, from the journal and from /dev/kmsg, whichever can be read. The journal has the whole boot
// and nv-fabricmanager's lines; /dev/kmsg tells at once and for nothing, and forgets. Kernel lines carry the time since
// the boot in both, so each is counted once.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/kernel_log/kmsg.h"
#include "agent/kernel_log/store.h"
#include "core/fact.h"
#include "core/kernel_log.h"
#include "core/time.h"

namespace gpuskew {

class HostRoot;

class KernelLogReader {
 public:
  /// Where /dev/kmsg tells of new lines, the journal is read again for the few that are not the kernel's.
  static constexpr Duration kJournalGapBesideKmsg = std::chrono::minutes(10);
  /// Where only the journal can be read: so often on the average (a read is 2 ms of CPU), so many at once.
  static constexpr Duration kJournalGap = std::chrono::seconds(15);
  static constexpr std::size_t kJournalBurst = 4;
  /// Mere repetition changes the fact this often, so that a storm of one message is no storm of snapshots.
  static constexpr Duration kRepetitionGap = std::chrono::minutes(1);
  /// Repetition and the place in the journal are saved this often; news at once.
  static constexpr Duration kSaveGap = std::chrono::minutes(5);

  /// `root` must outlive the object. Without a store nothing is kept over a restart.
  explicit KernelLogReader(const HostRoot& root, std::optional<KernelLogStore> store = std::nullopt);

  /// Reads what is there and not yet read: all of it, or a part so large that it takes kJournalDeadline. True when it
  /// says something new.
  bool update(Time now);
  /// The same between two updates, cheaper: called when a source tells that there are new lines.
  bool follow(Time now);

  /// What is known; unknown while no source can be read, or the boot's log is not read to its end.
  Fact<std::vector<KernelLogEvent>> fact(Time now);
  /// The log of this boot is not read to its end yet: call update() again.
  bool is_behind() const { return is_behind_; }

  /// /dev/kmsg, to wait on; nullopt: it can not be read here. Known after the first update().
  std::optional<int> kmsg_descriptor() const;
  /// Somebody watches the journal's files and calls journal_changed(): update() alone then reads them seldom.
  void set_journal_watched(bool watched) { is_journal_watched_ = watched; }
  void journal_changed() { has_journal_changed_ = true; }
  /// How long follow() will not read the journal, however often it changes.
  Duration until_journal_read(Time now) const;

  /// "journal, /dev/kmsg"; with the reason for what can not be read.
  std::string sources() const;
  /// Why the state file was not used or not written, once; "" when all is well.
  std::string take_warning() { return std::exchange(warning_, {}); }

 private:
  bool begin_boot();
  void begin_with(KernelLogState state);
  bool is_journal_due(Time now) const;
  void take_token(Time now);
  bool read_journal(Time now);
  bool read_kmsg(Time now);
  Time time_of(std::chrono::microseconds since_boot) const;
  void save(Time now, bool is_news);
  std::string source() const;

  const HostRoot& root_;
  std::optional<KernelLogStore> store_;
  KernelLogState state_;  ///< its events lie in scanner_
  KernelLogScanner scanner_;
  std::optional<Kmsg> kmsg_;
  Error kmsg_error_{ErrorCode::Unsupported, "not read yet"};
  std::optional<Error> journal_error_ = Error{ErrorCode::Unsupported, "not read yet"};
  std::optional<Error> boot_error_;
  std::chrono::microseconds kmsg_skip_{};  ///< kmsg's lines up to here came from the journal
  bool is_behind_ = false;
  bool has_lost_lines_ = false;  ///< and no journal to make up for it
  bool is_journal_watched_ = false;
  bool has_journal_changed_ = false;
  std::optional<Time> journal_tried_;
  std::vector<Time> recent_journal_reads_;  ///< at most kJournalBurst
  std::vector<KernelLogEvent> published_;
  std::optional<Time> published_at_;
  bool has_news_ = true;
  std::optional<Time> saved_at_;
  std::string warning_;
};

/// For one question: everything there is, read now.
Fact<std::vector<KernelLogEvent>> read_kernel_log(const HostRoot& root, Time now);

}  // namespace gpuskew
