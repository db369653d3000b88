#include "core/finding.h"

#include <array>
#include <utility>

namespace gpuskew {
namespace {

constexpr std::array<std::pair<FindingCode, std::string_view>, 7> kCodes{{
    {FindingCode::GpuGoneAfterKernelBump, "gpu-gone-after-kernel-bump"},
    {FindingCode::DriverNotLoaded, "driver-not-loaded"},
    {FindingCode::DriverLibraryMismatch, "driver-library-mismatch"},
    {FindingCode::WrongDriverBound, "wrong-driver-bound"},
    {FindingCode::GpuCountDrop, "gpu-count-drop"},
    {FindingCode::ImageMissing, "image-missing"},
    {FindingCode::AgentSilent, "agent-silent"},
}};

}  // namespace

std::string_view to_string(FindingCode code) {
  for (const auto& [value, text] : kCodes) {
    if (value == code) {
      return text;
    }
  }
  return "unknown";
}

std::optional<FindingCode> finding_code_from(std::string_view text) {
  for (const auto& [value, name] : kCodes) {
    if (name == text) {
      return value;
    }
  }
  return std::nullopt;
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
