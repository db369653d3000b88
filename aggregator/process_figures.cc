#include "aggregator/process_figures.h"

#include <unistd.h>

#include <charconv>
#include <string_view>

#include "runtime/file.h"

namespace gpuskew {

std::optional<std::uint64_t> resident_bytes() {
  // proc_pid_statm(5): total and resident size in pages. Our own process, no fact of a node.
  const Result<std::string> statm = read_file("/proc/self/statm", 4096);
  if (!statm) {
    return std::nullopt;
  }
  const std::size_t blank = statm->find(' ');
  if (blank == std::string::npos) {
    return std::nullopt;
  }
  std::uint64_t pages = 0;
  const char* first = statm->data() + blank + 1;
  const auto [end, error] = std::from_chars(first, statm->data() + statm->size(), pages);
  if (error != std::errc()) {
    return std::nullopt;
  }
  return pages * static_cast<std::uint64_t>(::getpagesize());
}

}  // namespace gpuskew
