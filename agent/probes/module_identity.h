#pragma once

// What a module file on disk says of itself. Compressed files are unpacked in a child process with limits and a
// deadline: their decoders read what any package may have put there.

#include <chrono>
#include <string>

#include "agent/host_root.h"
#include "agent/probes/modinfo.h"

namespace gpuskew {

/// Unpacking the largest nvidia.ko.xz takes about a second of CPU.
inline constexpr std::chrono::seconds kDecompressDeadline{10};

/// From the file's .modinfo. Errors: those of HostRoot; Malformed (no module, no such entry in it), TooLarge, Timeout
/// past kDecompressDeadline. They do not name the file.
ModuleIdentity read_module_identity(const HostFile& module);

}  // namespace gpuskew
