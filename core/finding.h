#pragma once

// What is told to on-call: a code, since when, one sentence why, the evidence, whether a reboot helps,
// and the next command.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace gpuskew {

enum class FindingCode : std::uint8_t {
  GpuGoneAfterKernelBump,
  DriverNotLoaded,
  DriverLibraryMismatch,
  WrongDriverBound,
  WrongModuleFlavour,
  GpuCountDrop,
  GpuFailed,
  ModuleRejected,
  ModuleWedged,
  FabricManagerMismatch,
  InstallConflict,
  ModuleMissingNextKernel,
  ImageMissing,
  ImageMissingNextKernel,
  RuntimeHandlerMissing,
  RuntimeRestartNeeded,
  RuntimeConfigConflict,
  AgentSilent,
};
/// "gpu-gone-after-kernel-bump": stable, used in the API, metrics and the database.
std::string_view to_string(FindingCode code);
std::optional<FindingCode> finding_code_from(std::string_view text);

enum class Severity : std::uint8_t { Info, Warning, Critical };
std::string_view to_string(Severity severity);

enum class RebootHelps : std::uint8_t { No, Yes, Unknown };
std::string_view to_string(RebootHelps answer);

struct Evidence {
  std::string text;    ///< "no nvidia module for 5.15.0-122-generic"
  std::string source;  ///< "/lib/modules/5.15.0-122-generic"
  Time at{};           ///< when it was observed

  bool operator==(const Evidence&) const = default;
};

struct Finding {
  FindingCode code{};
  Severity severity{};
  std::string node;
  Time since{};
  std::string cause;  ///< one sentence
  std::vector<Evidence> evidence;
  RebootHelps reboot_helps = RebootHelps::Unknown;
  std::string reboot_why;                  ///< one clause: "no module file exists for the running kernel"
  std::string next_step;                   ///< a command to type
  std::vector<std::string> affected_gpus;  ///< PCI addresses; empty when they are not known
  std::vector<std::string> consequences;   ///< the higher layers this breaks

  bool operator==(const Finding&) const = default;
};

}  // namespace gpuskew
