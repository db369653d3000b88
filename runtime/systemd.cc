#include "runtime/systemd.h"

#include <dlfcn.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#define SD_JOURNAL_SUPPRESS_LOCATION  // else sd_journal_sendv is a macro that adds our own file and line
#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>

#include "runtime/file.h"

namespace gpuskew {

struct SystemdLibrary::Functions {
  decltype(&::sd_notify) notify = nullptr;
  decltype(&::sd_watchdog_enabled) watchdog_enabled = nullptr;
  decltype(&::sd_journal_sendv) journal_sendv = nullptr;
};

namespace {

constexpr const char* kLibrary = "libsystemd.so.0";

template <class Function>
bool find(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  return into != nullptr;
}

}  // namespace

SystemdLibrary::SystemdLibrary() : functions_(std::make_unique<Functions>()) {}
SystemdLibrary::~SystemdLibrary() = default;

Result<std::shared_ptr<const SystemdLibrary>> SystemdLibrary::load() {
  void* const library = ::dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    return fail(ErrorCode::Unsupported, std::string("loading ") + kLibrary + ": " + (why != nullptr ? why : "failed"));
  }
  std::shared_ptr<SystemdLibrary> loaded(new SystemdLibrary());
  if (!find(library, "sd_notify", loaded->functions_->notify) ||
      !find(library, "sd_watchdog_enabled", loaded->functions_->watchdog_enabled) ||
      !find(library, "sd_journal_sendv", loaded->functions_->journal_sendv)) {
    return fail(ErrorCode::Unsupported, std::string(kLibrary) + " lacks a function this program needs");
  }
  return std::shared_ptr<const SystemdLibrary>(std::move(loaded));
}

Result<void> SystemdLibrary::notify(const std::string& state) const {
  const int sent = functions_->notify(0, state.c_str());
  if (sent < 0) {
    return tl::unexpected(errno_error("telling systemd", -sent));
  }
  if (sent == 0) {
    return fail(ErrorCode::NotFound, "telling systemd: NOTIFY_SOCKET is not set");
  }
  return {};
}

Result<std::optional<std::chrono::microseconds>> SystemdLibrary::watchdog_interval() const {
  std::uint64_t microseconds = 0;
  const int enabled = functions_->watchdog_enabled(0, &microseconds);
  if (enabled < 0) {
    return tl::unexpected(errno_error("reading WATCHDOG_USEC and WATCHDOG_PID", -enabled));
  }
  if (enabled == 0) {
    return std::optional<std::chrono::microseconds>();
  }
  return std::optional(std::chrono::microseconds(microseconds));
}

Result<void> SystemdLibrary::send_to_journal(std::vector<std::string>& fields) const {
  std::vector<iovec> parts;
  parts.reserve(fields.size());
  for (std::string& field : fields) {
    parts.push_back(iovec{field.data(), field.size()});
  }
  const int sent = functions_->journal_sendv(parts.data(), static_cast<int>(parts.size()));
  if (sent < 0) {
    return tl::unexpected(errno_error("writing to the journal", -sent));
  }
  return {};
}

Result<ServiceManager> ServiceManager::from_environment() {
  ServiceManager manager;
  const char* const socket = std::getenv("NOTIFY_SOCKET");
  if (socket == nullptr || *socket == '\0') {
    return manager;
  }
  auto library = SystemdLibrary::load();
  if (!library) {
    return fail("NOTIFY_SOCKET is set", library.error());
  }
  manager.library_ = std::move(*library);
  auto interval = manager.library_->watchdog_interval();
  if (!interval) {
    return tl::unexpected(interval.error());
  }
  manager.watchdog_interval_ = *interval;
  return manager;
}

Result<void> ServiceManager::notify(const std::string& state) const {
  return library_ ? library_->notify(state) : Result<void>();
}

Result<void> ServiceManager::ready(std::string_view status) const {
  std::string state = "READY=1";
  if (!status.empty()) {
    state += "\nSTATUS=";
    state += status;
    std::replace(state.begin() + static_cast<std::ptrdiff_t>(state.size() - status.size()), state.end(), '\n', ' ');
  }
  return notify(state);
}

Result<void> ServiceManager::status(std::string_view text) const {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  return notify("STATUS=" + line);
}

Result<void> ServiceManager::reloading() const {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto since_boot = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(since_boot).count();
  return notify("RELOADING=1\nMONOTONIC_USEC=" + std::to_string(microseconds));
}

Result<void> ServiceManager::stopping() const {
  return notify("STOPPING=1");
}

Result<void> ServiceManager::keep_alive() const {
  return notify("WATCHDOG=1");
}

}  // namespace gpuskew
