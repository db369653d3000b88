#pragma once

// How the driver got onto the node: every trace of an installer, not a guess at the one that won.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fact.h"
#include "core/facts/kernel_log.h"
#include "core/time.h"
#include "core/version.h"

namespace gpuskew {

enum class InstallKind : std::uint8_t {
  Runfile,    ///< NVIDIA's .run installer
  Deb,        ///< a package in dpkg's database
  Rpm,        ///< a package in rpm's database
  Dkms,       ///< a module in dkms's tree
  Prebuilt,   ///< linux-modules-nvidia-*: one package a kernel, signed by the distribution
  Akmod,      ///< akmod-nvidia: built at boot
  Kmod,       ///< kmod-nvidia*, nvidia-*-kmp: a module built by the packager
  Container,  ///< the gpu-operator's driver container
  OsImage,    ///< comes with the OS image: Container-Optimized OS, Flatcar, Bottlerocket, Talos, ...
};
/// "runfile", "deb", "rpm", "dkms", "prebuilt", "akmod", "kmod", "container", "os-image"
std::string_view to_string(InstallKind kind);
std::optional<InstallKind> install_kind_from(std::string_view text);

enum class InstallPart : std::uint8_t { KernelModule, UserSpace, FabricManager };
/// "kernel-module", "user-space", "fabric-manager"
std::string_view to_string(InstallPart part);
std::optional<InstallPart> install_part_from(std::string_view text);

/// One installed package, tree or file that brought a part of the driver.
struct InstallTrace {
  InstallKind kind{};
  InstallPart part{};
  std::string name;     ///< "nvidia-driver-550", "/usr/bin/nvidia-uninstall", "/var/lib/dkms/nvidia"
  std::string version;  ///< as the packager writes it ("550.107.02-0ubuntu0.24.04.1"); "" when not told
  std::string source;   ///< the database or file it was read from
  /// Which command brought this version, and when, by the package manager's own log:
  /// "/usr/bin/unattended-upgrade, 2021-04-24 06:50:54 by the node's clock"; "" when not told.
  std::string changed_by{};

  bool operator==(const InstallTrace&) const = default;
};

inline constexpr std::size_t kMaxInstallTraces = 64;

/// The driver's version in what the packager wrote: without epoch, revision and kernel ("3:550.90.07-1.el9" is
/// 550.90.07). nullopt: none, or that of a kernel (linux-modules-nvidia-*).
std::optional<DriverVersion> driver_version(const InstallTrace& trace);

/// A mark of the gpu-operator's validator, run/nvidia/validations/<name>. toolkit-ready outlives a driver's restart.
struct ValidationMark {
  std::string name;  ///< "driver-ready", ".driver-ctr-ready"
  Time written{};
  bool host_driver = false;  ///< driver-ready says IS_HOST_DRIVER=true

  bool operator==(const ValidationMark&) const = default;
};

inline constexpr std::size_t kMaxValidationMarks = 16;

enum class MarkAge : std::uint8_t {
  Fresh,    ///< written after the driver that runs now was loaded
  Stale,    ///< older than the boot, or than the newest load of the driver
  Unknown,  ///< when the driver was loaded is not known
};

/// Whether a mark speaks of the driver that runs now.
MarkAge mark_age(const ValidationMark& mark, const Fact<Time>& boot_time,
                 const Fact<std::vector<KernelLogEvent>>& kernel_log);

}  // namespace gpuskew
