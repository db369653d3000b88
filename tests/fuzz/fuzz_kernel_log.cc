// The kernel's log: any program may write lines into it, and the records of /dev/kmsg are taken apart by hand.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/kernel_log/kmsg.h"
#include "core/kernel_log.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

void feed(KernelLogScanner& scanner, std::string_view text) {
  Time at{};
  for (const LogSource source : {LogSource::Kernel, LogSource::FabricManager}) {
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      scanner.feed(at, source, line);
      at += std::chrono::milliseconds(1);
    }
  }
  scanner.feed(at, LogSource::Kernel, text);
}

void try_record(std::string_view record) {
  const auto parsed = parse_kmsg(record);
  require(parsed || !parsed.error().what.empty());
  require(!parsed || parsed->text.size() <= record.size());
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  gpuskew::KernelLogScanner scanner;
  gpuskew::fuzz::feed(scanner, text);
  gpuskew::fuzz::require(scanner.events().size() <= gpuskew::kMaxKernelLogEvents);
  for (const gpuskew::KernelLogEvent& event : scanner.events()) {
    gpuskew::fuzz::require(event.count > 0 && event.text.size() <= gpuskew::KernelLogEvent::kMaxText);
    gpuskew::fuzz::require(event.first_at <= event.last_at);
  }
  gpuskew::fuzz::try_record(text);
  return 0;
}
