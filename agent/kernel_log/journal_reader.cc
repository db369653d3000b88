#include "agent/kernel_log/journal_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "agent/host_root.h"
#include "agent/kernel_log/journal_files.h"
#include "agent/limited_child.h"
#include "runtime/journal.h"

namespace gpuskew {
namespace {

using std::chrono::microseconds;

// 64 windows of 8 MiB is what libsystemd maps at most.
constexpr ChildLimits kLimits{kJournalDeadline, 4, std::uint64_t{2} << 30, kMaxJournalAnswer};
constexpr std::string_view kFabricManager = "nv-fabricmanager";

// The child's answer is a sequence of frames: a type, the length of its payload in four bytes, the payload.
enum class FrameType : char { Line = 'L', Error = 'E', Done = 'D' };
constexpr std::size_t kFrameHeader = 5;
constexpr std::size_t kMaxPayload = Journal::kMaxFieldBytes + 1024;

template <class Number>
void put(std::string& into, Number number) {
  std::array<char, sizeof(number)> bytes{};
  std::memcpy(bytes.data(), &number, sizeof(number));
  into.append(bytes.data(), bytes.size());
}

template <class Number>
Number take_number(std::string_view& from) {
  Number number{};
  if (from.size() >= sizeof(number)) {
    std::memcpy(&number, from.data(), sizeof(number));
    from.remove_prefix(sizeof(number));
  }
  return number;
}

std::string frame(FrameType type, const std::string& payload) {
  std::string bytes(1, static_cast<char>(type));
  put(bytes, static_cast<std::uint32_t>(payload.size()));
  return bytes + payload;
}

std::string error_frame(const Error& error) {
  return frame(FrameType::Error, static_cast<char>(error.code) + error.what.substr(0, kMaxPayload - 1));
}

std::string line_frame(LogSource source, std::uint64_t since_boot, std::string_view text) {
  std::string payload(1, static_cast<char>(source));
  put(payload, since_boot);
  payload.append(text.substr(0, Journal::kMaxFieldBytes));
  return frame(FrameType::Line, payload);
}

std::string done_frame(const JournalRead& read) {
  std::string payload;
  put(payload, read.kernel_lines);
  put(payload, static_cast<std::uint64_t>(read.newest.count()));
  payload += read.more ? '\1' : '\0';
  return frame(FrameType::Done, payload + read.cursor);
}

// ---- in the child

std::uint64_t since_boot_of(const Journal& journal) {
  // What the kernel stamped; journald takes the lines of the early boot later. "" for what is not the kernel's.
  const auto stamped = journal.field("_SOURCE_MONOTONIC_TIMESTAMP");
  std::uint64_t number = 0;
  if (stamped && std::from_chars(stamped->data(), stamped->data() + stamped->size(), number).ec == std::errc()) {
    return number;
  }
  return journal.monotonic_microseconds().value_or(0);
}

/// The line as /dev/kmsg has it: what a program wrote there is stored without the "name: " before it.
std::string kernel_text(const Journal& journal) {
  const auto identifier = journal.field("SYSLOG_IDENTIFIER");
  std::string text = identifier && *identifier != "kernel" ? std::string(*identifier) + ": " : std::string();
  text += journal.field("MESSAGE").value_or(std::string_view());
  return text;
}

/// Answers the entry when it is of interest. false: nobody listens any more.
bool answer_entry(const Journal& journal, JournalRead& read, const ChildAnswer& answer) {
  if (journal.field("_TRANSPORT") != "kernel") {
    const std::string_view text = journal.field("MESSAGE").value_or(std::string_view());
    return !is_of_interest(LogSource::FabricManager, text) ||
           answer(line_frame(LogSource::FabricManager, journal.monotonic_microseconds().value_or(0), text));
  }
  ++read.kernel_lines;
  const std::uint64_t since_boot = since_boot_of(journal);
  read.newest = std::max(read.newest, microseconds(since_boot));
  const std::string text = kernel_text(journal);
  return !is_of_interest(LogSource::Kernel, text) || answer(line_frame(LogSource::Kernel, since_boot, text));
}

Result<JournalRead> read_in_child(const std::vector<HostFile>& files, const JournalQuery& query,
                                  const ChildAnswer& answer) {
  std::vector<int> descriptors;
  for (const HostFile& file : files) {
    descriptors.push_back(file.descriptor());
  }
  auto journal = Journal::open(std::move(descriptors));
  if (!journal) {
    return tl::unexpected(journal.error());
  }
  std::string boot = "_BOOT_ID=" + query.boot_id;
  boot.erase(std::remove(boot.begin(), boot.end(), '-'), boot.end());
  const std::string name(kFabricManager);
  auto ready = journal->match_any_of(
      {{boot, "_TRANSPORT=kernel"}, {boot, "SYSLOG_IDENTIFIER=" + name}, {boot, "_COMM=" + name.substr(0, 15)}});
  if (ready) {
    ready = journal->seek(query.cursor);
  }
  if (!ready) {
    return tl::unexpected(ready.error());
  }
  const auto end = std::chrono::steady_clock::now() + kJournalWork;
  JournalRead read{query.cursor};
  constexpr std::uint64_t kBetweenLooksAtTheClock = 256;
  for (std::uint64_t entries = 0;; ++entries) {
    const auto moved = journal->next();
    if (!moved) {
      return tl::unexpected(moved.error());
    }
    if (!*moved || !answer_entry(*journal, read, answer)) {
      return read;
    }
    const bool is_late = entries % kBetweenLooksAtTheClock == 0 && std::chrono::steady_clock::now() >= end;
    read.more = is_late || entries + 1 >= kMaxJournalEntries;
    // The last entry that was read is known only now: keep its place as long as the position is there.
    if (auto cursor = journal->cursor(); cursor) {
      read.cursor = std::move(*cursor);
    }
    if (read.more) {
      return read;
    }
  }
}

// ---- in the parent

/// Puts the frames together from the pieces a pipe gives.
class AnswerReader {
 public:
  explicit AnswerReader(const std::function<void(const JournalLine&)>& take) : take_(take) {}

  void feed(std::string_view piece) {
    buffer_.append(piece);
    std::string_view rest = buffer_;
    while (rest.size() >= kFrameHeader && !result_broken_) {
      std::string_view header = rest.substr(1);
      const auto size = take_number<std::uint32_t>(header);
      result_broken_ = size > kMaxPayload;
      if (result_broken_ || header.size() < size) {
        break;
      }
      handle(static_cast<FrameType>(rest.front()), header.substr(0, size));
      rest.remove_prefix(kFrameHeader + size);
    }
    buffer_.erase(0, buffer_.size() - rest.size());
  }

  Result<JournalRead> result() {
    if (!result_ || result_broken_) {
      return fail(ErrorCode::Internal, "reading the journal: its process gave no sensible answer");
    }
    return std::move(*result_);
  }

 private:
  void handle(FrameType type, std::string_view payload) {
    if (type == FrameType::Line) {
      const auto source = take_number<char>(payload) == static_cast<char>(LogSource::Kernel) ? LogSource::Kernel
                                                                                             : LogSource::FabricManager;
      const auto since_boot = microseconds(take_number<std::uint64_t>(payload));
      take_(JournalLine{source, since_boot, payload});
    } else if (type == FrameType::Done) {
      JournalRead read;
      read.kernel_lines = take_number<std::uint64_t>(payload);
      read.newest = microseconds(take_number<std::uint64_t>(payload));
      read.more = take_number<char>(payload) != 0;
      read.cursor = payload;
      result_ = std::move(read);
    } else if (type == FrameType::Error && !payload.empty()) {
      const auto code = static_cast<unsigned char>(payload.front());
      const bool is_code = code <= static_cast<unsigned char>(ErrorCode::Internal);
      result_ = tl::unexpected(
          Error{is_code ? static_cast<ErrorCode>(code) : ErrorCode::Internal, std::string(payload.substr(1))});
    } else {
      result_broken_ = true;
    }
  }

  const std::function<void(const JournalLine&)>& take_;
  std::string buffer_;
  std::optional<Result<JournalRead>> result_;
  bool result_broken_ = false;
};

}  // namespace

Result<JournalRead> read_journal(const HostRoot& root, const JournalQuery& query,
                                 const std::function<void(const JournalLine&)>& take) {
  const auto files = open_journal_files(root, query.boot_time, kMaxJournalFiles);
  if (!files) {
    return tl::unexpected(files.error());
  }
  AnswerReader reader(take);
  const auto ran = run_limited_child(
      "reading the journal", kLimits,
      [&files, &query](const ChildAnswer& answer) {
        const auto read = read_in_child(*files, query, answer);
        answer(read ? done_frame(*read) : error_frame(read.error()));
      },
      [&reader](std::string_view piece) { reader.feed(piece); });
  if (!ran) {
    return tl::unexpected(ran.error());
  }
  auto read = reader.result();
  if (read && read->kernel_lines == 0 && query.cursor.empty()) {
    return fail(ErrorCode::NotFound, "the journal has no kernel lines of this boot");
  }
  return read;
}

}  // namespace gpuskew
