#include "agent/kernel_log/kernel_log_reader.h"

#include <algorithm>
#include <utility>

#include "agent/host_root.h"
#include "agent/kernel_log/journal_reader.h"
#include "agent/paths.h"
#include "agent/probes/kernel.h"

namespace gpuskew {
namespace {

using std::chrono::microseconds;

/// btime moves by a second now and then; more, and the clock was set.
constexpr Duration kSameBootTime = std::chrono::minutes(1);
/// A storm of kernel lines must not keep the agent from everything else.
constexpr int kMaxKmsgTurns = 4;
constexpr int kMaxOneShotReads = 5;

bool has_passed(const std::optional<Time>& since, Duration gap, Time now) {
  return !since || now < *since || now - *since >= gap;
}

}  // namespace

KernelLogReader::KernelLogReader(const HostRoot& root, std::optional<KernelLogStore> store)
    : root_(root), store_(std::move(store)) {
  if (!store_) {
    return;
  }
  auto loaded = store_->load();
  if (loaded) {
    begin_with(std::move(*loaded));
  } else if (loaded.error().code != ErrorCode::NotFound) {
    warning_ = "the kernel log is read anew: " + loaded.error().what;
  }
}

void KernelLogReader::begin_with(KernelLogState state) {
  scanner_ = KernelLogScanner(std::exchange(state.events, {}));
  kmsg_skip_ = state.newest;
  state_ = std::move(state);
  kmsg_.reset();
  journal_tried_.reset();
  has_lost_lines_ = false;
  has_news_ = true;
}

// False while the boot is not known: a line without a boot is no fact about this one.
bool KernelLogReader::begin_boot() {
  const auto boot_id = read_boot_id(root_);
  const auto boot_time = read_boot_time(root_);
  boot_error_.reset();
  if (!boot_id.is_known()) {
    boot_error_ = boot_id.is_unknown() ? boot_id.why() : Error{ErrorCode::NotFound, boot_id.source() + " is not there"};
  } else if (!boot_time.is_known()) {
    boot_error_ =
        boot_time.is_unknown() ? boot_time.why() : Error{ErrorCode::NotFound, boot_time.source() + " is not there"};
  }
  if (boot_error_) {
    return false;
  }
  if (state_.boot_id != *boot_id) {
    begin_with(KernelLogState{*boot_id, *boot_time, {}, {}, {}});
  }
  const Duration moved = *boot_time > state_.boot_time ? *boot_time - state_.boot_time : state_.boot_time - *boot_time;
  state_.boot_time = moved > kSameBootTime ? *boot_time : state_.boot_time;
  if (!kmsg_) {
    auto opened = Kmsg::open(root_);
    if (opened) {
      kmsg_.emplace(std::move(*opened));
    } else {
      kmsg_error_ = opened.error();
    }
  }
  return true;
}

Duration KernelLogReader::until_journal_read(Time now) const {
  if (recent_journal_reads_.size() < kJournalBurst || now < recent_journal_reads_.back()) {
    return {};
  }
  constexpr Duration kWindow = kJournalGap * static_cast<int>(kJournalBurst);
  return std::max(Duration{}, recent_journal_reads_.front() + kWindow - now);
}

void KernelLogReader::take_token(Time now) {
  if (recent_journal_reads_.size() == kJournalBurst) {
    recent_journal_reads_.erase(recent_journal_reads_.begin());
  }
  recent_journal_reads_.push_back(now);
}

bool KernelLogReader::is_journal_due(Time now) const {
  if (!journal_tried_ || is_behind_) {
    return true;
  }
  const bool is_only_source = !kmsg_;
  if (is_only_source && has_journal_changed_) {
    return until_journal_read(now) == Duration{};
  }
  const bool is_told = !is_only_source || (is_journal_watched_ && !journal_error_);
  return has_passed(journal_tried_, is_told ? kJournalGapBesideKmsg : kJournalGap, now);
}

Time KernelLogReader::time_of(microseconds since_boot) const {
  return state_.boot_time + std::chrono::duration_cast<Duration>(since_boot);
}

bool KernelLogReader::read_journal(Time now) {
  journal_tried_ = now;
  has_journal_changed_ = false;
  take_token(now);
  // Its first read begins with the boot, whatever /dev/kmsg has told before, which then is read again behind it.
  const bool is_first = state_.cursor.empty();
  const microseconds skip = is_first ? microseconds{-1} : state_.newest;
  KernelLogScanner scanner = is_first ? KernelLogScanner() : scanner_;
  bool is_news = false;
  const auto read =
      gpuskew::read_journal(root_, {state_.boot_id, state_.boot_time, state_.cursor}, [&](const JournalLine& line) {
        if (line.source == LogSource::FabricManager || line.since_boot > skip) {
          is_news = scanner.feed(time_of(line.since_boot), line.source, line.text) || is_news;
        }
      });
  if (!read) {
    journal_error_ = read.error();
    is_behind_ = false;
    return false;
  }
  journal_error_.reset();
  scanner_ = std::move(scanner);
  is_behind_ = read->more;
  has_lost_lines_ = false;
  state_.cursor = read->cursor;
  state_.newest = is_first ? read->newest : std::max(state_.newest, read->newest);
  kmsg_skip_ = state_.newest;
  if (is_first && kmsg_) {
    kmsg_->rewind();
  }
  return is_news;
}

bool KernelLogReader::read_kmsg(Time now) {
  bool is_news = false;
  // What the journal still has to tell of comes first.
  for (int turn = 0; kmsg_ && !is_behind_ && turn < kMaxKmsgTurns; ++turn) {
    const auto drained = kmsg_->drain([&](const KmsgRecord& record) {
      if (record.since_boot <= kmsg_skip_) {
        return;
      }
      state_.newest = std::max(state_.newest, record.since_boot);
      is_news = scanner_.feed(time_of(record.since_boot), LogSource::Kernel, record.text) || is_news;
    });
    if (!drained) {
      kmsg_error_ = drained.error();
      kmsg_.reset();
      break;
    }
    if (drained->lost) {
      has_lost_lines_ = true;
      is_news = read_journal(now) || is_news;  // which may have them
    } else if (!drained->more) {
      break;
    }
  }
  return is_news;
}

bool KernelLogReader::update(Time now) {
  if (!begin_boot()) {
    return false;
  }
  bool is_news = is_journal_due(now) && read_journal(now);
  is_news = read_kmsg(now) || is_news;
  has_news_ = has_news_ || is_news;
  save(now, is_news);
  return is_news;
}

bool KernelLogReader::follow(Time now) {
  if (boot_error_ || state_.boot_id.empty()) {
    return false;
  }
  bool is_news = has_journal_changed_ && is_journal_due(now) && read_journal(now);
  is_news = read_kmsg(now) || is_news;
  has_news_ = has_news_ || is_news;
  save(now, is_news);
  return is_news;
}

void KernelLogReader::save(Time now, bool is_news) {
  if (!store_ || (!is_news && !has_passed(saved_at_, kSaveGap, now))) {
    return;
  }
  saved_at_ = now;
  KernelLogState state = state_;
  state.events = scanner_.events();
  if (const auto saved = store_->save(state); !saved) {
    warning_ = "the kernel log is read anew after a restart: " + saved.error().what;
    store_.reset();  // one warning is enough
  }
}

Fact<std::vector<KernelLogEvent>> KernelLogReader::fact(Time now) {
  using Log = Fact<std::vector<KernelLogEvent>>;
  if (boot_error_) {
    return Log::unknown(*boot_error_, "kernel log");
  }
  if (journal_error_ && !kmsg_) {
    const bool is_denied = journal_error_->code == ErrorCode::Denied || kmsg_error_.code == ErrorCode::Denied;
    return Log::unknown(
        Error{is_denied ? ErrorCode::Denied : journal_error_->code, journal_error_->what + "; " + kmsg_error_.what},
        "kernel log");
  }
  if (is_behind_) {
    return Log::unknown(Error{ErrorCode::Timeout, "the journal of this boot is not read to its end yet"}, "journal");
  }
  if (has_news_ || has_passed(published_at_, kRepetitionGap, now)) {
    published_ = scanner_.events();
    published_at_ = now;
    has_news_ = false;
  }
  return Log::known(published_, source());
}

std::optional<int> KernelLogReader::kmsg_descriptor() const {
  return kmsg_ ? std::optional(kmsg_->descriptor()) : std::nullopt;
}

std::string KernelLogReader::source() const {
  std::string text = journal_error_ ? "" : "journal";
  if (!kmsg_) {
    return text;
  }
  text += (text.empty() ? "" : ", ") + std::string(kKmsg);
  const bool has_no_beginning = journal_error_ && kmsg_->first_sequence().value_or(0) > 0 && state_.cursor.empty();
  return has_no_beginning || has_lost_lines_ ? text + " (lines of this boot are overwritten)" : text;
}

std::string KernelLogReader::sources() const {
  if (boot_error_) {
    return boot_error_->what;
  }
  std::string text = source();
  if (journal_error_) {
    text += (text.empty() ? "" : "; ") + std::string("no journal: ") + journal_error_->what;
  }
  if (!kmsg_) {
    text += "; no " + std::string(kKmsg) + ": " + kmsg_error_.what;
  }
  return text;
}

Fact<std::vector<KernelLogEvent>> read_kernel_log(const HostRoot& root, Time now) {
  KernelLogReader reader(root);
  for (int reads = 0; reads == 0 || (reader.is_behind() && reads < kMaxOneShotReads); ++reads) {
    reader.update(now);
  }
  return reader.fact(now);
}

}  // namespace gpuskew
