#include "agent/probes/driver_container.h"

#include <charconv>
#include <cstdint>
#include <string>

namespace gpuskew {
namespace {

constexpr const char* kRun = "/run";
constexpr const char* kDriverRoot = "/run/nvidia/driver";
constexpr const char* kMountedMark = "/run/nvidia/driver/usr";
constexpr const char* kPidFile = "/run/nvidia/nvidia-driver.pid";
constexpr const char* kProcesses = "/proc/stat";  // there wherever proc is mounted

// A container that was killed leaves its file behind. The agent sees the host's processes, as the file means them. Only
// where their directory shows others, one that is missing has ended.
bool has_ended(const HostRoot& root) {
  const auto line = root.read_line(kPidFile);
  if (!line) {
    return false;
  }
  std::uint32_t pid = 0;
  const char* const end = line->data() + line->size();
  const auto number = std::from_chars(line->data(), end, pid);
  const bool is_number =
      number.ec == std::errc() && pid > 0 &&
      line->find_first_not_of(" \t\r", static_cast<std::size_t>(number.ptr - line->data())) == std::string::npos;
  if (!is_number || !root.status(kProcesses)) {
    return false;
  }
  const auto process = root.status("/proc/" + std::to_string(pid));
  return !process && process.error().code == ErrorCode::NotFound;
}

}  // namespace

Fact<DriverContainer> read_driver_container(const HostRoot& root) {
  const auto mounted = root.status(kMountedMark);
  if (mounted) {
    return Fact<DriverContainer>::known({kDriverRoot, true}, kMountedMark);
  }
  if (mounted.error().code != ErrorCode::NotFound) {
    return Fact<DriverContainer>::unknown(mounted.error(), kMountedMark);
  }
  const auto at_work = root.status(kPidFile);
  if (at_work && !has_ended(root)) {
    return Fact<DriverContainer>::known({kDriverRoot, false}, kPidFile);
  }
  if (!at_work && at_work.error().code != ErrorCode::NotFound) {
    return Fact<DriverContainer>::unknown(at_work.error(), kPidFile);
  }
  // A mount of the host's / without what is mounted below it shows an empty /run.
  const auto run = root.list(kRun);
  if (!run || run->empty()) {
    return Fact<DriverContainer>::unknown(
        run ? Error{ErrorCode::NotFound, std::string(kRun) + " is empty, as where it is not mounted"} : run.error(),
        kRun);
  }
  return Fact<DriverContainer>::absent(kDriverRoot);
}

}  // namespace gpuskew
