#include "agent/kernel_log/store.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "agent/sealed_text.h"
#include "core/kernel_log_line.h"
#include "runtime/file.h"

namespace gpuskew {
namespace {

constexpr std::string_view kName = "kernel-log";
constexpr std::string_view kFormatVersion = "1";
constexpr std::size_t kMaxCursor = 512;
constexpr std::size_t kEventFields = 9;

/// Up to `end`, which is taken, too.
std::string_view take_until(std::string_view& text, char end) {
  const std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool parse_time(std::string_view text, Time& time) {
  std::int64_t ms = 0;
  if (!parse_number(text, ms)) {
    return false;
  }
  time = from_unix_ms(ms);
  return true;
}

// What KernelLogScanner makes holds no tab and no line end.
std::string encode_event(const KernelLogEvent& event) {
  std::string line(to_string(event.kind));
  for (const std::string& field :
       {event.gpu, std::to_string(event.xid), event.ours, event.theirs, std::to_string(to_unix_ms(event.first_at)),
        std::to_string(to_unix_ms(event.last_at)), std::to_string(event.count), event.text}) {
    line.append("\t").append(field);
  }
  return line + "\n";
}

bool decode_event(std::string_view line, KernelLogEvent& event) {
  std::array<std::string_view, kEventFields> fields{};
  for (std::string_view& field : fields) {
    field = take_until(line, '\t');
  }
  const auto kind = kernel_log_kind_from(fields[0]);
  if (!kind || !line.empty() || fields[8].size() > KernelLogEvent::kMaxText) {
    return false;
  }
  event.kind = *kind;
  event.gpu = fields[1];
  event.ours = fields[3];
  event.theirs = fields[4];
  event.text = fields[8];
  return parse_number(fields[2], event.xid) && parse_time(fields[5], event.first_at) &&
         parse_time(fields[6], event.last_at) && parse_number(fields[7], event.count) && event.count > 0 &&
         event.first_at <= event.last_at;
}

}  // namespace

std::string encode_kernel_log(const KernelLogState& state) {
  std::string body = state.boot_id + "\n" + std::to_string(to_unix_ms(state.boot_time)) + "\n" +
                     std::to_string(state.newest.count()) + "\n" + state.cursor + "\n";
  for (const KernelLogEvent& event : state.events) {
    body += encode_event(event);
  }
  return sealed(kName, kFormatVersion, body);
}

Result<KernelLogState> decode_kernel_log(std::string_view text) {
  const auto body = unsealed(text, kName, kFormatVersion);
  if (!body) {
    return tl::unexpected(body.error());
  }
  std::string_view rest = *body;
  KernelLogState state;
  state.boot_id = take_until(rest, '\n');
  std::int64_t newest = 0;
  bool is_good = parse_time(take_until(rest, '\n'), state.boot_time) && parse_number(take_until(rest, '\n'), newest);
  state.newest = std::chrono::microseconds(newest);
  state.cursor = take_until(rest, '\n');
  is_good = is_good && state.cursor.size() <= kMaxCursor && newest >= 0;
  while (is_good && !rest.empty()) {
    KernelLogEvent event;
    is_good = state.events.size() < kMaxKernelLogEvents && decode_event(take_until(rest, '\n'), event);
    state.events.push_back(std::move(event));
  }
  if (!is_good) {
    return fail(ErrorCode::Malformed, "its content does not read");
  }
  return state;
}

Result<KernelLogState> KernelLogStore::load() const {
  const auto text = read_file(path_, kMaxBytes);
  if (!text) {
    return tl::unexpected(text.error());
  }
  auto state = decode_kernel_log(*text);
  return state ? state : fail("reading " + path_.string(), state.error());
}

Result<void> KernelLogStore::save(const KernelLogState& state) const {
  return write_file_atomically(path_, encode_kernel_log(state));
}

}  // namespace gpuskew
