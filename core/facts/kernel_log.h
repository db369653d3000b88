#pragma once

// The lines of the kernel's log that name a cause.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"

namespace gpuskew {

enum class KernelLogKind : std::uint8_t {
  DriverLoaded,        ///< "NVRM: loading NVIDIA UNIX ...": faults before it belong to the load before
  ApiMismatch,         ///< a client of another version; both wordings
  KeyRejected,         ///< the module's signature: "Key was rejected", "module verification failed", "Required key not
                       ///< available"
  Lockdown,            ///< "Lockdown: modprobe: unsigned module loading is restricted"
  VersionMagic,        ///< "version magic '...' should be '...'"
  UnknownSymbol,       ///< "nvidia: Unknown symbol ..."; "disagrees about version of symbol"
  UnsignedTaint,       ///< loaded in spite of a missing signature: "tainting kernel". No fault by itself
  OtherDriver,         ///< "NVRM: The NVIDIA probe routine was not called for N device(s)": another driver holds them
  ProbeFailed,         ///< "nvidia: probe of 0000:af:00.0 failed with error -1"
  NotSupported,        ///< "... not supported by the NVIDIA 550.90.07 driver release"
  NotSupportedByOpen,  ///< "... not supported by open nvidia.ko because it does not include the required GPU System
                       ///< Processor"
  NeedsOpen,           ///< the driver says that this GPU needs the open modules
  InitFailed,          ///< RmInitAdapter failed
  GspFailed,           ///< the GPU System Processor did not start, or does not answer
  FellOffBus,          ///< Xid 79, "GPU has fallen off the bus"
  Xid,                 ///< any other Xid; `xid` is its number
  SXid,                ///< the same of an NVSwitch
  FabricManagerVersion,  ///< nv-fabricmanager: "interface version X don't match with driver version Y"
  KernelTrace,           ///< a call trace or a hung task in an nvidia module
};
/// "driver-loaded", "api-mismatch", "xid"
std::string_view to_string(KernelLogKind kind);
std::optional<KernelLogKind> kernel_log_kind_from(std::string_view text);

/// One cause, however often it was said in this boot: equal kind, gpu and xid are one event.
struct KernelLogEvent {
  static constexpr std::size_t kMaxText = 512;

  KernelLogKind kind{};
  std::string gpu;        ///< PCI address, "0000:98:00.0"; "" where the line names none
  std::uint32_t xid = 0;  ///< of Xid, SXid and FellOffBus
  std::string ours;       ///< the loaded module's version where the line tells it; VersionMagic: what the kernel wants
  std::string theirs;     ///< the client's, fabric manager's or module file's version; NotSupported: the driver release
  std::string text;       ///< the newest such message, its lines joined by a blank, at most kMaxText bytes
  Time first_at{};
  Time last_at{};
  std::uint32_t count = 0;

  bool operator==(const KernelLogEvent&) const = default;
};

/// More kinds of causes than this in one boot: the oldest are left out.
inline constexpr std::size_t kMaxKernelLogEvents = 64;

}  // namespace gpuskew
