#include "agent/uevents.h"

#include <fcntl.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace gpuskew {

bool is_relevant_uevent(std::string_view message) {
  constexpr std::string_view kSubsystem = "SUBSYSTEM=";
  while (!message.empty()) {
    const std::string_view field = message.substr(0, message.find('\0'));
    message.remove_prefix(std::min(message.size(), field.size() + 1));
    if (field.starts_with(kSubsystem)) {
      const std::string_view subsystem = field.substr(kSubsystem.size());
      return subsystem == "module" || subsystem == "pci" || subsystem == "drivers";
    }
  }
  return false;
}

std::string uevents_doubt() {
  constexpr ino_t kInitialUserNamespace = 0xEFFFFFFDu;  // PROC_USER_INIT_INO, a fixed number
  const int network = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  const int owner = network < 0 ? -1 : ::ioctl(network, NS_GET_USERNS);
  struct stat status {};
  const bool is_known = owner >= 0 && ::fstat(owner, &status) == 0;
  for (const int descriptor : {network, owner}) {
    if (descriptor >= 0) {
      ::close(descriptor);
    }
  }
  if (!is_known) {
    return "not confirmed before the first one comes (whose network namespace this is can not be seen)";
  }
  return status.st_ino == kInitialUserNamespace
             ? ""
             : "none come here, because this network namespace belongs to a user namespace of its own";
}

}  // namespace gpuskew
