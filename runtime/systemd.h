#pragma once

// libsystemd, loaded only where systemd started us: the library costs 0.8 MB that a container does not have to pay.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

/// The functions of libsystemd that we call, found by dlopen. The library stays loaded until the process ends.
class SystemdLibrary {
 public:
  /// Unsupported when libsystemd.so.0 or one of the functions is not there.
  static Result<std::shared_ptr<const SystemdLibrary>> load();
  ~SystemdLibrary();
  SystemdLibrary(const SystemdLibrary&) = delete;
  SystemdLibrary& operator=(const SystemdLibrary&) = delete;

  /// sd_notify(3), `state` as "READY=1\nSTATUS=...". An error when it was not sent.
  Result<void> notify(const std::string& state) const;
  /// sd_watchdog_enabled(3): nothing when no watchdog is set for this process.
  Result<std::optional<std::chrono::microseconds>> watchdog_interval() const;
  /// sd_journal_sendv(3), each field as "KEY=value".
  Result<void> send_to_journal(std::vector<std::string>& fields) const;

 private:
  struct Functions;
  SystemdLibrary();
  std::unique_ptr<Functions> functions_;
};

/// Tells systemd how the service stands (sd_notify(3), Type=notify or notify-reload). Without $NOTIFY_SOCKET every
/// call succeeds and does nothing. An error means systemd was not told; the caller logs it.
class ServiceManager {
 public:
  /// Unsupported when $NOTIFY_SOCKET is set and libsystemd can not be loaded: systemd would wait for READY in vain.
  static Result<ServiceManager> from_environment();

  /// Whether systemd listens at all.
  bool is_active() const { return library_ != nullptr; }

  /// READY=1, also the end of a reload. An empty status leaves the last one.
  Result<void> ready(std::string_view status = {}) const;
  /// One line for `systemctl status`; line ends become blanks.
  Result<void> status(std::string_view text) const;
  /// RELOADING=1 with MONOTONIC_USEC, which Type=notify-reload needs; follow it with ready().
  Result<void> reloading() const;
  Result<void> stopping() const;
  /// WATCHDOG=1.
  Result<void> keep_alive() const;
  /// After this long without keep_alive() systemd kills the service; nothing when no watchdog is set for this process.
  std::optional<std::chrono::microseconds> watchdog_interval() const { return watchdog_interval_; }

 private:
  Result<void> notify(const std::string& state) const;

  std::shared_ptr<const SystemdLibrary> library_;
  std::optional<std::chrono::microseconds> watchdog_interval_;
};

}  // namespace gpuskew
