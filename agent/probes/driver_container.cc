#include "agent/probes/driver_container.h"

#include <string>

namespace gpuskew {
namespace {

constexpr const char* kRun = "/run";
constexpr const char* kDriverRoot = "/run/nvidia/driver";
constexpr const char* kMountedMark = "/run/nvidia/driver/usr";
constexpr const char* kPidFile = "/run/nvidia/nvidia-driver.pid";

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
  if (at_work) {
    return Fact<DriverContainer>::known({kDriverRoot, false}, kPidFile);
  }
  if (at_work.error().code != ErrorCode::NotFound) {
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
