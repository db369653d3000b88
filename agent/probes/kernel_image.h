#pragma once

// Kernel images on a boot partition, and the release each of them will call itself.

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/host_root.h"
#include "core/result.h"
#include "core/version.h"

namespace gpuskew {

/// Whether a file of boot/ is a kernel's image by its name: vmlinuz-<release> and its kin. Rescue images are none: they
/// are of the kernel that was installed first, whatever became of it.
bool is_image_name(std::string_view file_name);

/// Of a bzImage (x86) by its own header, which is what uname will say; of any other image by its file's name, where
/// lib/modules has that kernel. Links are followed. Errors: NotFound (no such file, or a name that is no installed
/// kernel's), Malformed (an empty file), and HostRoot's.
Result<KernelRelease> read_image_release(const HostRoot& root, const std::string& path);

/// The release in the header of a bzImage that begins at `offset` of the file. NotFound where none does.
Result<KernelRelease> read_bzimage_release(const HostFile& file, std::uint64_t offset);

/// A unified kernel image: a PE file with the kernel and its parts as sections.
struct UnifiedImage {
  KernelRelease release;
  std::string os_release;  ///< its .osrel section; "" without one
};
/// By its .uname section, else by the header of its .linux section. Errors: Malformed (no such image), NotFound (one
/// that does not say its release), TooLarge.
Result<UnifiedImage> read_unified_image(const HostFile& file);
Result<UnifiedImage> read_unified_image(const HostRoot& root, const std::string& path);

}  // namespace gpuskew
