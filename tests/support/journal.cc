#include "tests/support/journal.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <stdexcept>

#include "tests/support/process.h"

namespace gpuskew {
namespace {

constexpr std::uint64_t kBootRealtime = 1'790'000'000'000'000;

std::string length_of(std::size_t size) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) {
    bytes += static_cast<char>(size >> (8 * i) & 0xff);
  }
  return bytes;
}

// The journal export format: a field a line; one with a line end in it is given with its length.
std::string exported(const JournalEntry& entry) {
  std::string boot = entry.boot_id;
  boot.erase(std::remove(boot.begin(), boot.end(), '-'), boot.end());
  const std::string at = std::to_string(entry.since_boot_us);
  std::string text = "__REALTIME_TIMESTAMP=" + std::to_string(kBootRealtime + entry.since_boot_us) +
                     "\n__MONOTONIC_TIMESTAMP=" + at + "\n_BOOT_ID=" + boot + "\n_TRANSPORT=" + entry.transport +
                     "\nSYSLOG_IDENTIFIER=" + entry.identifier + "\n";
  if (entry.transport == "kernel") {
    text += "_SOURCE_MONOTONIC_TIMESTAMP=" + at + "\n";
  }
  return text + "MESSAGE\n" + length_of(entry.message.size()) + entry.message + "\n\n";
}

}  // namespace

void append_to_journal(const std::filesystem::path& file, const std::vector<JournalEntry>& entries) {
  std::filesystem::create_directories(file.parent_path());
  // systemd-journal-remote gives the files it rotates names of its own, so the export stands elsewhere.
  const std::filesystem::path input = file.parent_path().parent_path() / "entries.export";
  {
    std::ofstream out(input, std::ios::binary);
    for (const JournalEntry& entry : entries) {
      out << exported(entry);
    }
  }
  const Outcome written =
      run({"/lib/systemd/systemd-journal-remote", "--split-mode=none", "--output=" + file.string(), input.string()});
  std::filesystem::remove(input);
  if (written.code != 0) {
    throw std::runtime_error("systemd-journal-remote failed: " + written.err);
  }
}

}  // namespace gpuskew
