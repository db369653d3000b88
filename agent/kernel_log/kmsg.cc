#include "agent/kernel_log/kmsg.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "agent/host_root.h"
#include "agent/paths.h"

namespace gpuskew {
namespace {

constexpr unsigned kMemoryDevices = 1;  // the major number of mem, null, kmsg, ...
constexpr unsigned kKmsgMinor = 11;

bool take_number(std::string_view& text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (error != std::errc() || text.empty() || (text.front() != ',' && text.front() != ';')) {
    return false;
  }
  return true;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::string unescaped(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape = text[i] == '\\' && i + 3 < text.size() && text[i + 1] == 'x' &&
                           hex_digit(text[i + 2]) >= 0 && hex_digit(text[i + 3]) >= 0;
    plain += is_escape ? static_cast<char>(hex_digit(text[i + 2]) * 16 + hex_digit(text[i + 3])) : text[i];
    i += is_escape ? 3 : 0;
  }
  return plain;
}

}  // namespace

Result<KmsgRecord> parse_kmsg(std::string_view record) {
  std::uint64_t priority = 0;
  std::uint64_t microseconds = 0;
  KmsgRecord parsed;
  bool is_well_formed = true;
  for (std::uint64_t* number : {&priority, &parsed.sequence, &microseconds}) {
    is_well_formed = is_well_formed && take_number(record, *number);
    record.remove_prefix(is_well_formed && number != &microseconds ? 1 : 0);
  }
  const std::size_t text = record.find(';');
  constexpr std::uint64_t kCentury = 3'155'760'000'000'000;
  if (!is_well_formed || text == std::string_view::npos || microseconds > kCentury) {
    return fail(ErrorCode::Malformed, "not a record of /dev/kmsg");
  }
  record.remove_prefix(text + 1);
  parsed.since_boot = std::chrono::microseconds(microseconds);
  parsed.text = unescaped(record.substr(0, record.find('\n')));
  return parsed;
}

Result<Kmsg> Kmsg::open(const HostRoot& root) {
  const auto place = root.open_path(kKmsg);
  if (!place) {
    return tl::unexpected(place.error());
  }
  struct stat status {};
  if (::fstat(place->descriptor(), &status) != 0) {
    return host_file_error("looking at", place->name(), errno);
  }
  if (!S_ISCHR(status.st_mode) || status.st_rdev != makedev(kMemoryDevices, kKmsgMinor)) {
    return fail(ErrorCode::Malformed, "reading " + place->name() + ": not the kernel's log device");
  }
  const int descriptor = ::open(place->watch_path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    return host_file_error("reading", place->name(), errno);
  }
  return Kmsg(HostFile(descriptor, place->name()));
}

void Kmsg::rewind() {
  ::lseek(device_.descriptor(), 0, SEEK_SET);
}

Result<Kmsg::Drained> Kmsg::drain(const std::function<void(const KmsgRecord&)>& take) {
  Drained drained;
  std::array<char, kMaxRecordBytes> buffer{};
  for (std::size_t records = 0; records < kMaxRecords; ++records) {
    const ssize_t size = ::read(device_.descriptor(), buffer.data(), buffer.size());
    if (size == 0 || (size < 0 && errno == EAGAIN)) {
      return drained;
    }
    if (size < 0 && errno == EINTR) {
      continue;
    }
    // EPIPE: overwritten, the next read gives the oldest that is left. EINVAL: longer than any may be, and skipped.
    if (size < 0 && (errno == EPIPE || errno == EINVAL)) {
      drained.lost = true;
      return drained;
    }
    if (size < 0) {
      return host_file_error("reading", device_.name(), errno);
    }
    const auto record = parse_kmsg({buffer.data(), static_cast<std::size_t>(size)});
    if (record) {
      first_ = first_.value_or(record->sequence);
      take(*record);
    }
  }
  drained.more = true;
  return drained;
}

}  // namespace gpuskew
