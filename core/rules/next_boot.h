#pragma once

// What the two halves of the forecast share: the outcome (next_boot.cc) and what is told of a loss (next_boot_loss.cc).

#include <optional>
#include <string>

#include "core/rules/rules.h"

namespace gpuskew::rules {

/// What stands between the next boot and a GPU.
enum class Obstacle : std::uint8_t {
  None,
  NoModule,      ///< no module file for that kernel
  BuildFailed,   ///< none, because dkms could not build it
  OtherKernel,   ///< the file was built for another kernel
  OtherVersion,  ///< its version is not the libraries'
  NoImage,       ///< the driver container has no image for that kernel
};

struct Forecast {
  NextBootGpu gpu = NextBootGpu::CannotTell;
  std::string why;
  std::optional<KernelRelease> kernel;  ///< the one it was made for
  Obstacle obstacle = Obstacle::None;
  std::string image;  ///< the tag that is missing, for NoImage
};

Forecast forecast(const Scene& scene);

/// nullptr: not among the installed ones, or those are not known.
const InstalledKernel* installed(const Scene& scene, const KernelRelease& release);
/// dkms's entry of the driver for a kernel, the worst one; nullptr: none, or not known.
const DkmsEntry* dkms_entry(const Scene& scene, const KernelRelease& release);
/// The driver comes out of the operator's driver container, not from the host.
bool is_from_container(const Scene& scene);

}  // namespace gpuskew::rules
