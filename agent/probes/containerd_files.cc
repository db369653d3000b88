#include "agent/probes/containerd_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <set>
#include <utility>

namespace gpuskew {
namespace {

constexpr std::size_t kMaxMatches = 256;
constexpr std::size_t kMaxDirectoryEntries = 4096;
constexpr std::ptrdiff_t kMaxStars = 8;  // in one part of a pattern
constexpr std::int64_t kMaxVersion = 100;

bool is_pattern(std::string_view part) {
  return part.find_first_of("*?[") != std::string_view::npos;
}

Error at_setting(const ContainerdFile& file, const TomlSetting& setting, const char* wanted) {
  return {ErrorCode::Malformed,
          file.path + ":" + std::to_string(setting.line) + ": " + to_text(setting.path) + " is not " + wanted};
}

Result<void> take(ContainerdFile& file, const TomlSetting& setting) {
  const std::string& key = setting.path.front();
  if (setting.path.size() > 1) {
    return {};
  }
  if (key == "version") {
    const auto* number = std::get_if<std::int64_t>(&setting.value);
    if (number == nullptr || *number < 0 || *number > kMaxVersion) {
      return tl::unexpected(at_setting(file, setting, "a version number"));
    }
    file.version = static_cast<std::uint32_t>(*number);
  }
  if (key == "imports" || key == "disabled_plugins") {
    const auto* texts = std::get_if<std::vector<std::string>>(&setting.value);
    if (texts == nullptr) {
      return tl::unexpected(at_setting(file, setting, "a list of texts"));
    }
    (key == "imports" ? file.imports : file.disabled_plugins) = *texts;
  }
  if (key == "plugins" && !setting.is_table()) {
    return tl::unexpected(at_setting(file, setting, "a table"));
  }
  return {};
}

// Every path in `bases` with `part` behind it, a pattern or a plain name.
Result<std::vector<std::string>> extend(const HostRoot& root, const std::vector<std::string>& bases,
                                        const std::string& part, SeenFiles& seen) {
  if (std::count(part.begin(), part.end(), '*') > kMaxStars) {
    return fail(ErrorCode::TooLarge, "a pattern of more than " + std::to_string(kMaxStars) + " stars");
  }
  std::vector<std::string> found;
  for (const std::string& base : bases) {
    if (!is_pattern(part)) {
      found.push_back(base + "/" + part);
      continue;
    }
    const auto entries = seen.list(root, base.empty() ? "/" : base, kMaxDirectoryEntries);
    if (!entries) {
      const auto status = root.status(base.empty() ? "/" : base);
      const bool no_directory =
          entries.error().code == ErrorCode::NotFound || (status && status->kind != FileKind::Directory);
      if (no_directory) {
        continue;
      }
      return tl::unexpected(entries.error());
    }
    for (const DirectoryEntry& entry : *entries) {
      if (::fnmatch(part.c_str(), entry.name.c_str(), 0) == 0) {
        found.push_back(base + "/" + entry.name);
      }
    }
    if (found.size() > kMaxMatches) {
      return fail(ErrorCode::TooLarge, "more than " + std::to_string(kMaxMatches) + " files");
    }
  }
  return found;
}

// As containerd resolves them, for one importing file.
Result<std::vector<std::string>> imported_paths(const HostRoot& root, const ContainerdFile& file, ContainerdRules rules,
                                                SeenFiles& seen) {
  std::vector<std::string> paths;
  for (const std::string& import : file.imports) {
    std::filesystem::path path(import);
    if (path.is_relative()) {
      const bool from_root = rules == ContainerdRules::ReplaceAnyVersion && import.find('*') != std::string::npos;
      path = (from_root ? std::filesystem::path("/") : std::filesystem::path(file.path).parent_path()) / path;
    }
    std::string clean = path.lexically_normal().string();
    if (clean.find('*') == std::string::npos) {
      paths.push_back(std::move(clean));
      continue;
    }
    auto matches = matching_paths(root, clean, seen);
    if (!matches) {
      return fail(file.path + " imports " + in_quotes(import), matches.error());
    }
    paths.insert(paths.end(), matches->begin(), matches->end());
  }
  return paths;
}

}  // namespace

Result<ContainerdFile> read_containerd_file(const HostRoot& root, const std::string& path, SeenFiles& seen) {
  const auto text = seen.read(root, path, kMaxTomlBytes);
  return text ? parse_containerd_file(path, *text) : tl::unexpected(text.error());
}

Result<ContainerdFile> parse_containerd_file(const std::string& path, std::string_view text) {
  auto settings = parse_toml(path, text);
  if (!settings) {
    return tl::unexpected(settings.error());
  }
  ContainerdFile file;
  file.path = path;
  file.settings = std::move(*settings);
  for (const TomlSetting& setting : file.settings) {
    if (auto taken = take(file, setting); !taken) {
      return tl::unexpected(taken.error());
    }
  }
  return file;
}

Result<std::vector<std::string>> matching_paths(const HostRoot& root, std::string_view pattern, SeenFiles& seen) {
  std::vector<std::string> found{""};
  while (!pattern.empty()) {
    const std::size_t slash = std::min(pattern.find('/'), pattern.size());
    const std::string part(pattern.substr(0, slash));
    pattern.remove_prefix(std::min(slash + 1, pattern.size()));
    if (part.empty()) {
      continue;
    }
    auto longer = extend(root, found, part, seen);
    if (!longer) {
      return longer;
    }
    found = std::move(*longer);
  }
  std::erase_if(found, [&root](const std::string& path) {
    const auto status = root.status(path);
    return !status && status.error().code == ErrorCode::NotFound;
  });
  return found;
}

Result<std::vector<ContainerdFile>> read_containerd_files(const HostRoot& root, const std::string& main_file,
                                                          ContainerdRules rules, SeenFiles& seen) {
  std::vector<ContainerdFile> files;
  std::set<std::string> loaded;
  std::deque<std::pair<std::string, std::string>> pending{{main_file, ""}};
  while (!pending.empty()) {
    const auto [path, importer] = pending.front();
    pending.pop_front();
    if (!loaded.insert(path).second) {
      continue;
    }
    if (files.size() == kMaxContainerdFiles) {
      return fail(ErrorCode::TooLarge,
                  main_file + " imports more than " + std::to_string(kMaxContainerdFiles) + " files");
    }
    auto file = read_containerd_file(root, path, seen);
    if (!file && importer.empty()) {
      return tl::unexpected(file.error());
    }
    if (!file) {
      // Malformed: containerd does not start with such a configuration. NotFound would read as "no configuration".
      const ErrorCode code = file.error().code == ErrorCode::NotFound ? ErrorCode::Malformed : file.error().code;
      return fail(code, importer + " imports " + in_quotes(path) + ": " + file.error().what);
    }
    const auto imports = imported_paths(root, *file, rules, seen);
    if (!imports) {
      return tl::unexpected(imports.error());
    }
    for (const std::string& import : *imports) {
      pending.emplace_back(import, path);
    }
    files.push_back(std::move(*file));
  }
  return files;
}

}  // namespace gpuskew
