#pragma once

// /dev/kmsg: the kernel's own buffer of its log, record by record. It can be waited on, costs no memory, and forgets
// the oldest when it is full.

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "agent/host_file.h"
#include "core/result.h"

namespace gpuskew {

class HostRoot;

struct KmsgRecord {
  std::uint64_t sequence = 0;
  std::chrono::microseconds since_boot{};
  std::string text;  ///< may hold several lines

  bool operator==(const KmsgRecord&) const = default;
};

/// One read(2) of the device: "6,339,5140900,-;NVRM: ...\n SUBSYSTEM=pci\n", with "\x0a" for a byte that is not
/// printable. Malformed.
Result<KmsgRecord> parse_kmsg(std::string_view record);

class Kmsg {
 public:
  /// As Linux recommends: no record is longer.
  static constexpr std::size_t kMaxRecordBytes = 8192;
  /// In one call of drain().
  static constexpr std::size_t kMaxRecords = 20'000;

  /// The host's device, from the oldest record on. NotFound, Denied (needs CAP_SYSLOG where dmesg is restricted, and a
  /// privileged container), Malformed (something else lies there).
  static Result<Kmsg> open(const HostRoot& root);
  /// Anything that gives one record a read and is not waited for.
  explicit Kmsg(HostFile device) : device_(std::move(device)) {}

  int descriptor() const { return device_.descriptor(); }

  struct Drained {
    bool lost = false;  ///< records were overwritten before they were read; the next call goes on behind them
    bool more = false;  ///< kMaxRecords were read, and there may be others
  };
  /// Every record that is there. Never waits.
  Result<Drained> drain(const std::function<void(const KmsgRecord&)>& take);

  /// To the oldest record that is left.
  void rewind();

  /// The first record that was read; nullopt before that. Not 0: the beginning of the boot was overwritten.
  std::optional<std::uint64_t> first_sequence() const { return first_; }

 private:
  HostFile device_;
  std::optional<std::uint64_t> first_;
};

}  // namespace gpuskew
