#include "core/kernel_log.h"

#include <algorithm>
#include <optional>

#include "core/printable.h"
#include "core/xid.h"

namespace gpuskew {
namespace {

constexpr std::size_t kMaxMessageLines = 8;
constexpr Duration kNoteGap = std::chrono::seconds(5);

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// As an event keeps it.
std::string event_text(std::string_view text) {
  std::string shown = ascii_only(std::string(text.substr(0, KernelLogEvent::kMaxText)));
  while (shown.ends_with(' ')) {
    shown.pop_back();
  }
  return shown;
}

/// What follows "NVRM: " or, in branch 520, "NVRM ".
std::optional<std::string_view> nvrm_text(std::string_view line) {
  for (const std::string_view prefix : {std::string_view("NVRM: "), std::string_view("NVRM ")}) {
    if (line.starts_with(prefix)) {
      return without_indent(line.substr(prefix.size()));
    }
  }
  return std::nullopt;
}

/// A line that goes on with a sentence, and not one of the driver's own reports ("GPU0 kgspWait_TU102: ...").
bool goes_on(std::string_view text) {
  const std::string_view word = text.substr(0, text.find(' '));
  return !word.empty() && word.find_first_of(":_") == std::string_view::npos && !word.starts_with("GPU") &&
         !contains(text, "the NVIDIA devices were") && !text.starts_with("The NVIDIA") &&
         !text.starts_with("No NVIDIA");
}

/// Between two texts; "" when either is missing.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t end = text.find(after);
  const std::size_t start = text.substr(0, end).rfind(before);
  if (end == std::string_view::npos || start == std::string_view::npos) {
    return {};
  }
  return text.substr(start + before.size(), end - start - before.size());
}

std::string version_behind(std::string_view text, std::string_view before) {
  const std::size_t at = text.find(before);
  return at == std::string_view::npos ? std::string() : version_at(text.substr(at + before.size()));
}

// "the client has the version A, but this kernel module has the version B", "the client 'x' (pid 1) has the version A,
// but this kernel module has the version B". A process may be called "has the version": the last one counts.
std::optional<LogLine> api_mismatch(std::string_view text) {
  constexpr std::string_view kModule = ", but this kernel module has the version ";
  LogLine line{KernelLogKind::ApiMismatch};
  line.theirs = version_at(between(text, "has the version ", kModule));
  line.ours = version_behind(text, kModule);
  return line.theirs.empty() || line.ours.empty() ? std::nullopt : std::optional(std::move(line));
}

// "The NVIDIA GPU 0000:af:00.0 (PCI ID: 10de:1db5) installed in this system ..."
std::optional<LogLine> gpu_message(std::string_view text, const std::string& gpu) {
  if (contains(text, "fallen off the bus")) {
    return LogLine{KernelLogKind::FellOffBus, gpu, kFellOffBusXid};
  }
  if (contains(text, "requires use of the NVIDIA open kernel modules")) {
    return LogLine{KernelLogKind::NeedsOpen, gpu};
  }
  if (contains(text, "not supported by open")) {
    return LogLine{KernelLogKind::NotSupportedByOpen, gpu};
  }
  if (contains(text, "not supported by the")) {
    LogLine line{KernelLogKind::NotSupported, gpu};
    line.theirs = version_behind(text, "not supported by the NVIDIA ");
    return line;
  }
  if (contains(text, "Legacy drivers")) {
    LogLine line{KernelLogKind::NotSupported, gpu};
    line.theirs = version_behind(text, "information.  The ");
    return line;
  }
  return std::nullopt;
}

/// "  uvm_global_exit+0x68/0xe8 [nvidia_uvm]"
bool is_trace_line(std::string_view line) {
  return contains(line, "+0x") && contains(line, "/0x") && contains(line, "[nvidia");
}

// "Modules linked in: ipt_REJECT nvidia_uvm(OE-) nvidia(OE)": the kernel breaks a long list into several records, of
// which only the first has these words.
constexpr std::string_view kModuleList = "Modules linked in:";
constexpr std::size_t kMaxModulesText = 256;

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!(text = without_indent(text)).empty()) {
    words.push_back(text.substr(0, text.find(' ')));
    text.remove_prefix(words.back().size());
  }
  return words;
}

/// "nvidia_uvm", "nvidia_uvm(OE-)"
bool is_module_word(std::string_view word) {
  constexpr std::string_view kNameBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  constexpr std::string_view kFlagBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZ+-";
  const std::size_t open = std::min(word.find('('), word.size());
  const std::string_view flags = word.substr(open);
  return open > 0 && word.substr(0, open).find_first_not_of(kNameBytes) == std::string_view::npos &&
         (flags.empty() ||
          (flags.size() > 2 && flags.find_first_not_of(kFlagBytes, 1) == flags.size() - 1 && flags.back() == ')'));
}

/// The kernel's mark of a module that was being loaded (+) or unloaded (-) when it wrote the list.
bool is_marked(std::string_view word) {
  return word.ends_with("-)") || word.ends_with("+)");
}

struct ModuleList {
  std::string text;  ///< what it says of nvidia modules, the marked ones first; "" for no list or none of them
  bool is_marked = false;
};

ModuleList module_list(std::string_view line) {
  const bool has_head = line.starts_with(kModuleList);
  const auto words = words_of(has_head ? line.substr(kModuleList.size()) : line);
  const bool is_list = has_head || std::all_of(words.begin(), words.end(), is_module_word);
  ModuleList list;
  for (const bool wants_marked : {true, false}) {
    for (const std::string_view word : words) {
      const bool is_wanted = word.starts_with("nvidia") && is_module_word(word) && is_marked(word) == wants_marked;
      if (is_list && is_wanted && list.text.size() + word.size() < kMaxModulesText) {
        list.text.append(" ").append(word);
        list.is_marked = list.is_marked || wants_marked;
      }
    }
  }
  if (!has_head && !list.is_marked) {
    return {};  // any text of one such word would be a list
  }
  if (!list.text.empty()) {
    list.text.insert(0, kModuleList);
  }
  return list;
}

/// At most kMaxText bytes, at the cost of the end of `text`.
std::string joined(std::string_view text, std::string_view last) {
  const std::size_t room = KernelLogEvent::kMaxText - std::min(KernelLogEvent::kMaxText, last.size() + 1);
  return std::string(text.substr(0, room)).append(" ").append(last);
}

/// The list in a trace's text, when it has a marked module; "" else.
std::string marked_modules(std::string_view text) {
  const std::size_t at = text.find(kModuleList);
  ModuleList list = at == std::string_view::npos ? ModuleList() : module_list(text.substr(at));
  return list.is_marked ? std::move(list.text) : std::string();
}

bool is_note(std::string_view line) {
  return contains(line, "BUG: ") || contains(line, "WARNING: ") || contains(line, "Oops: ") ||
         contains(line, " blocked for more than ");
}

// "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:0b:00.0)": why the probe that fails next does so.
bool is_probe_note(std::string_view line) {
  return line.starts_with("NVRM: BAR") && contains(line, "(PCI:");
}

bool is_noise(const KernelLogEvent& event) {
  return event.kind == KernelLogKind::Xid && xid_meaning(event.xid).weight == XidWeight::Application;
}

Time newest_load(const std::vector<KernelLogEvent>& events) {
  Time newest{};
  for (const KernelLogEvent& event : events) {
    if (event.kind == KernelLogKind::DriverLoaded) {
      newest = std::max(newest, event.last_at);
    }
  }
  return newest;
}

}  // namespace

KernelLogScanner::KernelLogScanner(std::vector<KernelLogEvent> events) : events_(std::move(events)) {
  if (events_.size() > kMaxKernelLogEvents) {
    events_.erase(events_.begin(), events_.end() - static_cast<std::ptrdiff_t>(kMaxKernelLogEvents));
  }
}

bool KernelLogScanner::feed(Time at, LogSource source, std::string_view record) {
  bool is_news = false;
  while (!record.empty()) {
    const std::string_view line = record.substr(0, record.find('\n'));
    record.remove_prefix(std::min(record.size(), line.size() + 1));
    is_news = feed_line(at, source, line.substr(0, kMaxLogLineBytes)) || is_news;
  }
  return is_news;
}

bool KernelLogScanner::feed_line(Time at, LogSource source, std::string_view line) {
  if (!is_of_interest(source, line)) {
    return false;
  }
  if (source == LogSource::Kernel) {
    return feed_kernel_line(at, without_indent(line));
  }
  const auto said = classify_line(source, line);
  return said && add(at, *said, line);
}

bool KernelLogScanner::feed_kernel_line(Time at, std::string_view line) {
  if (message_.kind != Message::Kind::None && (at - message_.at > kMessageGap || at < message_.at)) {
    message_ = {};
  }
  if (contains(line, "Nvlink Core is being initialized")) {
    load_began_ = at;
    return false;
  }
  if (is_note(line) || is_probe_note(line)) {
    note_ = std::string(line);
    note_at_ = at;
  }
  if (is_trace_line(line)) {
    return feed_trace(at, line);
  }
  if (const ModuleList modules = module_list(line); !modules.text.empty()) {
    return feed_modules(at, modules.text, modules.is_marked);
  }
  if (start_message(at, line)) {
    return judge_message();
  }
  auto said = classify_line(LogSource::Kernel, line);
  if (!said) {
    return feed_message(at, line);
  }
  std::string text(line);
  if (said->kind == KernelLogKind::ProbeFailed && is_probe_note(note_) && at - note_at_ <= kNoteGap &&
      contains(note_, said->gpu)) {
    text = note_ + "; " + text;
  }
  // The GPUs are probed before the driver says that it is loaded: what it says of them belongs to this load.
  if (said->kind == KernelLogKind::KernelTrace) {
    message_ = {};
    message_.kind = Message::Kind::Trace;  // the stack of the hung task comes behind
    message_.at = at;
  }
  const bool load_is_known =
      said->kind == KernelLogKind::DriverLoaded && load_began_ <= at && at - load_began_ <= kMaxLoad;
  return add(load_is_known ? load_began_ : at, *said, text);
}

bool KernelLogScanner::start_message(Time at, std::string_view line) {
  const auto text = nvrm_text(line);
  if (!text) {
    return false;
  }
  const bool is_gpu = text->starts_with("The NVIDIA ") && contains(*text, "GPU");
  if (!is_gpu && !text->starts_with("API mismatch: ")) {
    return false;
  }
  message_ = {};
  message_.kind = is_gpu ? Message::Kind::Gpu : Message::Kind::ApiMismatch;
  message_.text = std::string(*text);
  message_.at = at;
  message_.lines = 1;
  constexpr std::string_view kNamed = "The NVIDIA GPU ";
  if (text->starts_with(kNamed)) {
    message_.gpu = pci_address(text->substr(kNamed.size()));
  }
  return true;
}

bool KernelLogScanner::feed_message(Time at, std::string_view line) {
  const auto text = nvrm_text(line);
  const bool is_open = message_.kind == Message::Kind::ApiMismatch || message_.kind == Message::Kind::Gpu;
  if (!text || !is_open || message_.lines >= kMaxMessageLines || !goes_on(*text)) {
    return false;
  }
  message_.text.append(" ").append(*text);
  message_.at = at;
  ++message_.lines;
  return judge_message();
}

bool KernelLogScanner::judge_message() {
  const auto said = message_.kind == Message::Kind::ApiMismatch ? api_mismatch(message_.text)
                                                                : gpu_message(message_.text, message_.gpu);
  if (!said) {
    return false;
  }
  if (!message_.told) {
    message_.told = true;
    return add(message_.at, *said, message_.text);
  }
  if (KernelLogEvent* event = find(*said)) {
    event->text = event_text(message_.text);
    event->ours = said->ours;
    event->theirs = said->theirs;
  }
  return false;
}

bool KernelLogScanner::feed_trace(Time at, std::string_view line) {
  const LogLine trace{KernelLogKind::KernelTrace};
  if (message_.kind == Message::Kind::Trace) {
    message_.at = at;
    if (KernelLogEvent* event = find(trace); event != nullptr && event->text.size() < KernelLogEvent::kMaxText) {
      event->text = event_text(event->text + " " + std::string(line));
    }
    return false;
  }
  message_ = {};
  message_.kind = Message::Kind::Trace;
  message_.at = at;
  const bool has_note = is_note(note_) && at >= note_at_ && at - note_at_ <= kNoteGap;
  return add(at, trace, has_note ? joined(note_, line.substr(0, KernelLogEvent::kMaxText - 1)) : std::string(line));
}

// Before an oops's trace (arm64), or in the midst of it or behind it (x86).
bool KernelLogScanner::feed_modules(Time at, std::string_view modules, bool is_marked) {
  KernelLogEvent* event = message_.kind == Message::Kind::Trace ? find(LogLine{KernelLogKind::KernelTrace}) : nullptr;
  if (event != nullptr) {
    message_.at = at;
    const bool is_new = !contains(event->text, modules);
    if (is_new && (is_marked || event->text.size() + modules.size() < KernelLogEvent::kMaxText)) {
      event->text = event_text(joined(event->text, modules));
    }
    return is_new && is_marked;
  }
  if (is_marked) {
    return feed_trace(at, modules);
  }
  if (is_note(note_) && at >= note_at_ && at - note_at_ <= kNoteGap && !contains(note_, kModuleList)) {
    note_.append(" ").append(modules);
  }
  return false;
}

KernelLogEvent* KernelLogScanner::find(const LogLine& line) {
  const auto known = std::find_if(events_.begin(), events_.end(), [&line](const KernelLogEvent& event) {
    return event.kind == line.kind && event.gpu == line.gpu && event.xid == line.xid;
  });
  return known == events_.end() ? nullptr : &*known;
}

bool KernelLogScanner::add(Time at, const LogLine& line, std::string_view text) {
  KernelLogEvent* event = find(line);
  // A recovery says each time what is needed now.
  const bool is_news = event == nullptr || line.kind == KernelLogKind::DriverLoaded || line.xid == kRecoveryXid ||
                       event->last_at < newest_load(events_);
  // What the trace of an oops said of a module counts until the driver is loaded anew, whatever hangs on it since.
  const bool keeps = event != nullptr && line.kind == KernelLogKind::KernelTrace && marked_modules(text).empty() &&
                     event->last_at >= newest_load(events_);
  const std::string kept = keeps ? marked_modules(event->text) : std::string();
  if (event == nullptr) {
    make_room();
    events_.push_back(KernelLogEvent{line.kind, line.gpu, line.xid, "", "", "", at, at, 0});
    event = &events_.back();
  }
  event->ours = event_text(line.ours);
  event->theirs = event_text(line.theirs);
  event->text = event_text(kept.empty() ? std::string(text) : joined(text, kept));
  event->last_at = std::max(event->last_at, at);
  event->count += event->count < UINT32_MAX ? 1 : 0;
  return is_news;
}

void KernelLogScanner::make_room() {
  if (events_.size() < kMaxKernelLogEvents) {
    return;
  }
  const auto goes_first = [](const KernelLogEvent& a, const KernelLogEvent& b) {
    return is_noise(a) != is_noise(b) ? is_noise(a) : a.last_at < b.last_at;
  };
  events_.erase(std::min_element(events_.begin(), events_.end(), goes_first));
}

}  // namespace gpuskew
