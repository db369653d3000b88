#pragma once

// What the next boot will bring: kernels, boot loader, dkms, reboot marks.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fact.h"
#include "core/facts/modules.h"
#include "core/version.h"

namespace gpuskew {

/// How far dkms got with one version of a module for one kernel, read from its tree and not from `dkms status`.
enum class DkmsStage : std::uint8_t {
  Added,      ///< source only; no kernel
  Built,      ///< built, not installed in the kernel's module tree
  Installed,  ///< installed there
  Failed,     ///< a build for this kernel left its log and no module
  Broken,     ///< the entry's own files are missing or half written: dkms itself fails on it
};
std::string_view to_string(DkmsStage stage);
std::optional<DkmsStage> dkms_stage_from(std::string_view text);

struct DkmsEntry {
  std::string module;        ///< "nvidia", "nvidia-open": the directory's name
  std::string version;       ///< as dkms names it
  std::string kernel;        ///< "" where the entry belongs to no kernel
  std::string architecture;  ///< "" with it
  DkmsStage stage = DkmsStage::Added;
  std::string note;  ///< why it failed or is broken, or which log says so; else ""

  bool operator==(const DkmsEntry&) const = default;
};

/// A kernel that is installed on this node.
struct InstalledKernel {
  KernelRelease release;
  bool has_image = false;        ///< boot/vmlinuz-<release> or its like: without one it can not be booted
  bool has_headers = false;      ///< lib/modules/<release>/build leads somewhere: a module can be built
  Fact<ModuleFile> module_file;  ///< absent: no nvidia module file for it

  bool operator==(const InstalledKernel&) const = default;
};

/// The kernel the boot loader takes when nobody touches it.
struct NextKernel {
  KernelRelease release;
  std::string
      rule;  ///< how that was decided: "saved_entry of grubenv", "first entry of grub.cfg", "default of loader.conf"

  bool operator==(const NextKernel&) const = default;
};

/// A mark that a reboot is wanted: run/reboot-required and its kin.
struct RebootRequired {
  static constexpr std::size_t kMaxPackages = 64;
  std::vector<std::string> packages;  ///< those that asked for it, at most kMaxPackages; may be empty

  bool operator==(const RebootRequired&) const = default;
};

/// A service that builds missing modules while the node boots ("dkms", "akmods"): enabled in the host's systemd.
struct BootBuilder {
  std::string name;
  std::string source;  ///< the unit's link

  bool operator==(const BootBuilder&) const = default;
};

}  // namespace gpuskew
