#include "agent/probes/systemd_boot.h"

#include <fnmatch.h>

#include <algorithm>
#include <charconv>

#include "agent/paths.h"
#include "agent/probes/kernel_image.h"
#include "agent/probes/loader_entry.h"
#include "agent/probes/version_order.h"
#include "core/os_release.h"

namespace gpuskew {
namespace {

constexpr const char* kEfiVariables = "/sys/firmware/efi/efivars/";
constexpr const char* kLoaderVendor = "-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
constexpr std::size_t kMaxUnifiedImages = 64;
constexpr std::size_t kMaxVariable = 4096;
constexpr std::size_t kMaxLoaderFiles = 64;

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return lower;
}

// The number before `end`, or -1.
int number_of(std::string_view digits) {
  int number = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() && number >= 0 ? number : -1;
}

bool is_before(const SystemdBootEntry& a, const SystemdBootEntry& b) {
  if ((a.tries_left == 0) != (b.tries_left == 0)) {
    return b.tries_left == 0;
  }
  if (a.sort_key.empty() != b.sort_key.empty()) {
    return b.sort_key.empty();
  }
  if (!a.sort_key.empty()) {
    if (a.sort_key != b.sort_key) {
      return a.sort_key < b.sort_key;
    }
    if (a.machine_id != b.machine_id) {
      return a.machine_id < b.machine_id;
    }
    if (const int order = uapi_order(a.version, b.version); order != 0) {
      return order > 0;
    }
  }
  if (const int order = uapi_order(a.id, b.id); order != 0) {
    return order > 0;
  }
  if (a.tries_left < 0 || b.tries_left < 0) {
    return false;
  }
  return a.tries_left != b.tries_left ? a.tries_left > b.tries_left : a.tries_done < b.tries_done;
}

const SystemdBootEntry* matching(const std::vector<SystemdBootEntry>& entries, const std::string& pattern) {
  for (const SystemdBootEntry& entry : entries) {
    if (::fnmatch(pattern.c_str(), entry.id.c_str(), FNM_CASEFOLD | FNM_NOESCAPE) == 0) {
      return &entry;
    }
  }
  return nullptr;
}

// "default" of a loader.conf. NotFound becomes "".
Result<std::string> read_configured_default(const HostRoot& root, const std::string& partition) {
  const std::string path = partition + "/loader/loader.conf";
  const auto text = root.read(path);
  if (!text) {
    return text.error().code == ErrorCode::NotFound ? Result<std::string>("") : tl::unexpected(text.error());
  }
  std::string chosen;
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    constexpr std::string_view kBlanks = " \t\r";
    line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
    const std::size_t blank = std::min(line.find_first_of(kBlanks), line.size());
    const std::string_view key = line.substr(0, blank);
    std::string_view value = line.substr(blank);
    value.remove_prefix(std::min(value.find_first_not_of(kBlanks), value.size()));
    value = value.substr(0, value.find_last_not_of(kBlanks) + 1);
    if (key == "preferred") {
      return fail(ErrorCode::Unsupported, path + " has a 'preferred' entry, which only some versions look at");
    }
    if (key == "default" && !value.empty()) {
      chosen = value;
    }
  }
  return chosen;
}

Result<void> add_configured(const HostRoot& root, const std::string& partition,
                            std::vector<SystemdBootEntry>& entries) {
  const auto found = read_loader_entries(root, partition);
  if (!found) {
    return found.error().code == ErrorCode::NotFound ? Result<void>() : tl::unexpected(found.error());
  }
  for (const LoaderEntry& file : *found) {
    SystemdBootEntry entry;
    name_entry(entry, file.file);
    entry.sort_key = file.sort_key;
    entry.machine_id = file.machine_id;
    entry.version = file.version;
    entry.file = partition + "/loader/entries/" + file.file;
    entry.image = partition + (file.kernel.starts_with('/') ? "" : "/") + file.kernel;
    entry.is_unified = in_lower_case(file.kernel).ends_with(".efi");
    entry.options = file.options;
    // It leaves out entries whose kernel is not there.
    if (!file.kernel.empty() && root.status(entry.image)) {
      entries.push_back(std::move(entry));
    }
  }
  return {};
}

Result<void> add_unified(const HostRoot& root, const std::string& partition, std::vector<SystemdBootEntry>& entries) {
  const std::string directory = partition + "/EFI/Linux";
  const auto found = root.list(directory);
  if (!found) {
    return found.error().code == ErrorCode::NotFound ? Result<void>() : tl::unexpected(found.error());
  }
  std::size_t count = 0;
  for (const auto& file : *found) {
    if (!in_lower_case(file.name).ends_with(".efi") || file.kind == FileKind::Directory) {
      continue;
    }
    if (++count > kMaxUnifiedImages) {
      return fail(ErrorCode::TooLarge, directory + " holds more than " + std::to_string(kMaxUnifiedImages) + " images");
    }
    SystemdBootEntry entry;
    name_entry(entry, file.name);
    entry.image = directory + "/" + file.name;
    entry.file = entry.image;
    entry.is_unified = true;
    const auto image = read_unified_image(root, entry.image);
    if (!image) {
      if (image.error().code == ErrorCode::Malformed) {
        continue;  // no kernel: not in the menu
      }
      return tl::unexpected(image.error());
    }
    const OsRelease os = parse_os_release(image->os_release);
    const auto first_of = [&os](std::initializer_list<std::string_view> keys) {
      for (const std::string_view key : keys) {
        if (const auto value = os.get(key)) {
          return *value;
        }
      }
      return std::string();
    };
    entry.sort_key = first_of({"IMAGE_ID", "ID"});
    entry.version = first_of({"IMAGE_VERSION", "VERSION", "VERSION_ID", "BUILD_ID"});
    entries.push_back(std::move(entry));
  }
  return {};
}

std::string variable_or_none(const HostRoot& root, std::string_view name, std::optional<Error>& error) {
  const auto value = read_loader_variable(root, name);
  if (!value && value.error().code != ErrorCode::NotFound) {
    error = value.error();
  }
  return value.value_or("");
}

}  // namespace

void name_entry(SystemdBootEntry& entry, std::string_view file) {
  std::string id = in_lower_case(file);
  const std::size_t suffix = id.rfind('.');
  const std::size_t plus = id.rfind('+');
  if (suffix != std::string::npos && plus != std::string::npos && plus < suffix) {
    const std::string_view count = std::string_view(id).substr(plus + 1, suffix - plus - 1);
    const std::size_t dash = std::min(count.find('-'), count.size());
    const int left = number_of(count.substr(0, dash));
    const int done = dash == count.size() ? 0 : number_of(count.substr(dash + 1));
    if (left >= 0 && done >= 0) {
      entry.tries_left = left;
      entry.tries_done = done;
      id.erase(plus, suffix - plus);
    }
  }
  entry.id = std::move(id);
}

void sort_as_systemd_boot(std::vector<SystemdBootEntry>& entries) {
  std::stable_sort(entries.begin(), entries.end(), is_before);
}

Result<SystemdBootChoice> choose_entry(const std::vector<SystemdBootEntry>& entries, const SystemdBootWishes& wishes) {
  if (entries.empty()) {
    return fail(ErrorCode::NotFound, "systemd-boot has no entry");
  }
  const std::pair<const std::string*, const char*> in_turn[] = {{&wishes.once, "LoaderEntryOneShot"},
                                                                {&wishes.variable, "LoaderEntryDefault"},
                                                                {&wishes.configuration, "default of loader.conf"}};
  for (const auto& [wish, rule] : in_turn) {
    const std::string& pattern = *wish == "@saved" ? wishes.last_booted : *wish;
    if (pattern.empty()) {
      continue;
    }
    if (const SystemdBootEntry* entry = matching(entries, pattern)) {
      return SystemdBootChoice{entry, rule};
    }
    // Old versions have ids without ".conf"; "auto-*" are other systems and the firmware.
    if (pattern.starts_with("auto-") || matching(entries, pattern + ".conf") != nullptr) {
      return fail(ErrorCode::Unsupported, std::string(rule) + " is " + in_quotes(pattern) +
                                              ", which some versions of systemd-boot find and others do not");
    }
  }
  return SystemdBootChoice{&entries.front(), "newest entry of systemd-boot"};
}

Result<std::string> read_loader_variable(const HostRoot& root, std::string_view name) {
  const auto bytes = root.read(kEfiVariables + std::string(name) + kLoaderVendor, kMaxVariable);
  if (!bytes) {
    return bytes;
  }
  // Four bytes of attributes, then UTF-16. What is not ASCII is in no entry's name.
  constexpr std::size_t kAttributes = 4;
  std::string text;
  for (std::size_t at = kAttributes; at + 1 < bytes->size(); at += 2) {
    const char low = (*bytes)[at];
    if (low == '\0' && (*bytes)[at + 1] == '\0') {
      break;
    }
    text += (*bytes)[at + 1] == '\0' && static_cast<unsigned char>(low) < 0x80 ? low : '?';
  }
  return text;
}

bool has_systemd_boot(const HostRoot& root) {
  for (const std::string_view partition : kBootPartitions) {
    const auto files = root.list(std::string(partition) + "/EFI/systemd", kMaxLoaderFiles);
    if (!files) {
      continue;
    }
    for (const auto& file : *files) {
      if (in_lower_case(file.name).starts_with("systemd-boot")) {
        return true;
      }
    }
  }
  return false;
}

Result<SystemdBootEntry> read_systemd_boot_choice(const HostRoot& root, std::string& rule) {
  std::vector<SystemdBootEntry> entries;
  SystemdBootWishes wishes;
  std::optional<Error> error;
  wishes.once = variable_or_none(root, "LoaderEntryOneShot", error);
  wishes.variable = variable_or_none(root, "LoaderEntryDefault", error);
  wishes.last_booted = variable_or_none(root, "LoaderEntryLastBooted", error);
  for (const std::string_view partition : kBootPartitions) {
    const std::string place(partition);
    const auto chosen = read_configured_default(root, place);
    if (!chosen) {
      return tl::unexpected(chosen.error());
    }
    wishes.configuration = wishes.configuration.empty() ? *chosen : wishes.configuration;
    for (const auto& added : {add_configured(root, place, entries), add_unified(root, place, entries)}) {
      if (!added) {
        return tl::unexpected(added.error());
      }
    }
  }
  if (error) {
    return tl::unexpected(*error);
  }
  sort_as_systemd_boot(entries);
  const auto choice = choose_entry(entries, wishes);
  if (!choice) {
    return tl::unexpected(choice.error());
  }
  rule = choice->rule;
  return *choice->entry;
}

}  // namespace gpuskew
