#include "agent/kernel_log/journal_files.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "agent/host_root.h"
#include "agent/paths.h"

namespace gpuskew {
namespace {

constexpr std::size_t kMaxMachines = 64;
constexpr std::size_t kMaxListed = 4096;
/// A clock that was set after the boot dates the boot's first files wrong.
constexpr Duration kClockSlack = std::chrono::hours(24);

bool is_machine_id(std::string_view name) {
  constexpr std::size_t kIdDigits = 32;
  return name.size() == kIdDigits && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// "system.journal", "system@<ids>.journal", and "...journal~" of one that was not closed well.
bool is_system_journal(std::string_view name) {
  return name == "system.journal" ||
         (name.starts_with("system@") && (name.ends_with(".journal") || name.ends_with(".journal~")));
}

struct Candidate {
  std::string path;
  std::int64_t modified_ns = 0;
};

Result<void> add_candidates(const HostRoot& root, const std::string& directory, std::vector<Candidate>& candidates) {
  const auto entries = root.list(directory, kMaxListed);
  if (!entries) {
    return tl::unexpected(entries.error());
  }
  for (const DirectoryEntry& entry : *entries) {
    if (!is_system_journal(entry.name)) {
      continue;
    }
    const std::string path = directory + "/" + entry.name;
    const auto status = root.status(path);
    if (status && status->kind == FileKind::Regular) {
      candidates.push_back({path, status->modified_ns});
    } else if (!status && status.error().code != ErrorCode::NotFound) {  // rotated away meanwhile
      return tl::unexpected(status.error());
    }
  }
  return {};
}

/// Both places with what is in them; the first error that is not "not there".
Result<std::vector<std::string>> list_directories(const HostRoot& root) {
  std::vector<std::string> found;
  for (const std::string_view place : kJournalDirectories) {
    const auto entries = root.list(place, kMaxMachines);
    if (!entries && entries.error().code != ErrorCode::NotFound) {
      return tl::unexpected(entries.error());
    }
    for (const DirectoryEntry& entry : entries.value_or(std::vector<DirectoryEntry>())) {
      if (entry.kind == FileKind::Directory && is_machine_id(entry.name)) {
        found.push_back(std::string(place) + "/" + entry.name);
      }
    }
  }
  return found;
}

}  // namespace

std::vector<std::string> journal_directories(const HostRoot& root) {
  return list_directories(root).value_or(std::vector<std::string>());
}

Result<std::vector<HostFile>> open_journal_files(const HostRoot& root, Time boot_time, std::size_t limit) {
  const auto directories = list_directories(root);
  if (!directories) {
    return tl::unexpected(directories.error());
  }
  std::vector<Candidate> candidates;
  for (const std::string& directory : *directories) {
    if (auto added = add_candidates(root, directory, candidates); !added) {
      return tl::unexpected(added.error());
    }
  }
  constexpr std::int64_t kNsPerMs = 1'000'000;
  const std::int64_t oldest_ms = to_unix_ms(boot_time - kClockSlack);
  std::erase_if(candidates, [oldest_ms](const Candidate& each) { return each.modified_ns / kNsPerMs < oldest_ms; });
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.modified_ns > b.modified_ns; });
  candidates.resize(std::min(candidates.size(), limit));
  std::vector<HostFile> files;
  for (const Candidate& each : candidates) {
    auto file = root.open_file(each.path);
    if (file) {
      files.push_back(std::move(*file));
    } else if (file.error().code != ErrorCode::NotFound) {
      return tl::unexpected(file.error());
    }
  }
  if (files.empty()) {
    return fail(ErrorCode::NotFound, "no journal files of this boot in " + std::string(kJournalDirectories[0]) +
                                         " or " + std::string(kJournalDirectories[1]));
  }
  return files;
}

}  // namespace gpuskew
