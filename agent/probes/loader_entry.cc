#include "agent/probes/loader_entry.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "agent/probes/version_order.h"

namespace gpuskew {
namespace {

constexpr std::size_t kMaxEntryFile = 16u << 10;
constexpr std::string_view kSuffix = ".conf";

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// "name-version-release" by the last two dashes; parts that are not there are empty.
std::array<std::string_view, 3> name_version_release(std::string_view id) {
  const std::size_t release = id.rfind('-');
  if (release == std::string_view::npos || release == 0) {
    return {id, {}, {}};
  }
  const std::size_t version = id.rfind('-', release - 1);
  if (version == std::string_view::npos) {
    return {id.substr(0, release), id.substr(release + 1), {}};
  }
  return {id.substr(0, version), id.substr(version + 1, release - version - 1), id.substr(release + 1)};
}

bool is_newer_for_blscfg(const LoaderEntry& a, const LoaderEntry& b) {
  const auto parts_a = name_version_release(without_conf(a.file));
  const auto parts_b = name_version_release(without_conf(b.file));
  for (std::size_t part = 0; part < parts_a.size(); ++part) {
    if (const int order = rpm_order(parts_a.at(part), parts_b.at(part)); order != 0) {
      return order > 0;
    }
  }
  return false;
}

}  // namespace

std::string_view without_conf(std::string_view file) {
  return file.ends_with(kSuffix) ? file.substr(0, file.size() - kSuffix.size()) : file;
}

LoaderEntry parse_loader_entry(std::string_view file, std::string_view text) {
  LoaderEntry entry;
  entry.file = file;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t blank = line.find_first_of(" \t");
    if (line.starts_with('#') || blank == std::string_view::npos) {
      continue;
    }
    const std::string_view key = line.substr(0, blank);
    const std::string_view value = trimmed(line.substr(blank));
    if (key == "options") {
      entry.options += (entry.options.empty() ? "" : " ") + std::string(value);
      continue;
    }
    const std::array<std::pair<std::string_view, std::string*>, 8> fields{{{"title", &entry.title},
                                                                           {"version", &entry.version},
                                                                           {"machine-id", &entry.machine_id},
                                                                           {"sort-key", &entry.sort_key},
                                                                           {"architecture", &entry.architecture},
                                                                           {"linux", &entry.kernel},
                                                                           {"efi", &entry.kernel},
                                                                           {"uki", &entry.kernel}}};
    for (const auto& [name, field] : fields) {
      if (name == key) {
        *field = value;
      }
    }
  }
  return entry;
}

Result<std::vector<LoaderEntry>> read_loader_entries(const HostRoot& root, const std::string& partition) {
  const std::string directory = partition + "/loader/entries";
  const auto listed = root.list(directory);
  if (!listed) {
    return tl::unexpected(listed.error());
  }
  std::vector<LoaderEntry> entries;
  for (const auto& found : *listed) {
    if (!found.name.ends_with(kSuffix) || found.name.starts_with('.')) {
      continue;
    }
    const auto text = root.read(directory + "/" + found.name, kMaxEntryFile);
    if (!text && text.error().code == ErrorCode::NotFound) {
      continue;  // the boot loaders skip it, too
    }
    if (!text) {
      return tl::unexpected(text.error());
    }
    if (entries.size() == kMaxLoaderEntries) {
      return fail(ErrorCode::TooLarge,
                  directory + " holds more than " + std::to_string(kMaxLoaderEntries) + " entries");
    }
    entries.push_back(parse_loader_entry(found.name, *text));
  }
  return entries;
}

void sort_as_blscfg(std::vector<LoaderEntry>& entries) {
  std::stable_sort(entries.begin(), entries.end(), is_newer_for_blscfg);
}

}  // namespace gpuskew
