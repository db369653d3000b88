#pragma once

// How a module is made for a kernel on this kind of system: what the next steps of several rules have in common.

#include <cstdint>
#include <string>

#include "core/rules/rules.h"

namespace gpuskew::rules {

enum class SystemFamily : std::uint8_t {
  Debian,
  RedHat,
  Suse,
  Arch,
  Image,  ///< an image with its drivers in it: Talos, Bottlerocket, COS, Flatcar; nothing is built on the node
  Other,  ///< not known, or none of these
};
/// By os-release's ID; where that is not known, by the kernel's name.
SystemFamily system_family(const Scene& scene);

/// "sudo update-initramfs -u", "sudo dracut -f", "sudo mkinitcpio -P"
std::string initramfs_command(const Scene& scene);

/// The whole next step that gives `kernel` a module: read the log of a build that failed, install headers, build with
/// what this node builds with. `then`: what follows on the node when it worked ("sudo modprobe nvidia"); "" for
/// nothing.
std::string module_step(const Scene& scene, const KernelRelease& kernel, const std::string& then);

/// Builds and installs what dkms believes to be installed already, which autoinstall passes over, with --force too.
/// `kernel` is a word of the shell.
std::string forced_install(const DkmsEntry& entry, const std::string& kernel);

/// dkms tried to build for `kernel` and could not, or its tree is broken: why, in one clause; "" else.
std::string failed_build(const Scene& scene, const KernelRelease& kernel);

}  // namespace gpuskew::rules
