#include "core/facts/install.h"

#include <algorithm>

namespace gpuskew {
namespace {

// Below this are no drivers: a prebuilt module's package has the kernel's version.
constexpr std::uint32_t kFirstBranch = 100;

}  // namespace

std::optional<DriverVersion> driver_version(const InstallTrace& trace) {
  std::string_view text = trace.version;
  if (const std::size_t epoch = text.find(':'); epoch != std::string_view::npos) {
    text.remove_prefix(epoch + 1);
  }
  text = text.substr(0, text.find_first_not_of("0123456789."));
  const auto version = DriverVersion::parse(text);
  return version && version->branch_number() >= kFirstBranch ? std::optional(*version) : std::nullopt;
}

MarkAge mark_age(const ValidationMark& mark, const Fact<Time>& boot_time,
                 const Fact<std::vector<KernelLogEvent>>& kernel_log) {
  if (boot_time.is_known() && mark.written < boot_time.value()) {
    return MarkAge::Stale;
  }
  if (!kernel_log.is_known()) {
    return MarkAge::Unknown;
  }
  const auto loaded = std::find_if(kernel_log->begin(), kernel_log->end(), [](const KernelLogEvent& event) {
    return event.kind == KernelLogKind::DriverLoaded;
  });
  if (loaded == kernel_log->end()) {
    return MarkAge::Unknown;
  }
  return mark.written < loaded->last_at ? MarkAge::Stale : MarkAge::Fresh;
}

}  // namespace gpuskew
