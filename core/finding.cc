#include "core/finding.h"

#include "core/name_table.h"

namespace gpuskew {
namespace {

constexpr NameTable<FindingCode, 18> kCodes{{
    {FindingCode::GpuGoneAfterKernelBump, "gpu-gone-after-kernel-bump"},
    {FindingCode::DriverNotLoaded, "driver-not-loaded"},
    {FindingCode::DriverLibraryMismatch, "driver-library-mismatch"},
    {FindingCode::WrongDriverBound, "wrong-driver-bound"},
    {FindingCode::WrongModuleFlavour, "wrong-module-flavour"},
    {FindingCode::GpuCountDrop, "gpu-count-drop"},
    {FindingCode::GpuFailed, "gpu-failed"},
    {FindingCode::ModuleRejected, "module-rejected"},
    {FindingCode::ModuleWedged, "module-wedged"},
    {FindingCode::FabricManagerMismatch, "fabric-manager-mismatch"},
    {FindingCode::InstallConflict, "install-conflict"},
    {FindingCode::ModuleMissingNextKernel, "module-missing-next-kernel"},
    {FindingCode::ImageMissing, "image-missing"},
    {FindingCode::ImageMissingNextKernel, "image-missing-next-kernel"},
    {FindingCode::RuntimeHandlerMissing, "runtime-handler-missing"},
    {FindingCode::RuntimeRestartNeeded, "runtime-restart-needed"},
    {FindingCode::RuntimeConfigConflict, "runtime-config-conflict"},
    {FindingCode::AgentSilent, "agent-silent"},
}};

}  // namespace

std::string_view to_string(FindingCode code) {
  return name_of(kCodes, code);
}

std::optional<FindingCode> finding_code_from(std::string_view text) {
  return value_of(kCodes, text);
}

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::Info:
      return "info";
    case Severity::Warning:
      return "warning";
    case Severity::Critical:
      return "critical";
  }
  return "unknown";
}

std::string_view to_string(RebootHelps answer) {
  switch (answer) {
    case RebootHelps::No:
      return "no";
    case RebootHelps::Yes:
      return "yes";
    case RebootHelps::Unknown:
      return "unknown";
  }
  return "unknown";
}

}  // namespace gpuskew
