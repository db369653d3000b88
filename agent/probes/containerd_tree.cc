#include "agent/probes/containerd_tree.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpuskew {
namespace {

constexpr std::size_t kMaxNamed = 6;

bool is_beneath(const TomlPath& path, const TomlPath& table) {
  return path.size() >= table.size() && std::equal(table.begin(), table.end(), path.begin());
}

std::string meaning_of(const TomlPath& key) {
  // key: {plugin, "containerd", "runtimes", name, ...}, {plugin, "containerd", name, ...}, {plugin, name, ...}
  if (key.size() > 3 && key[1] == "containerd" && key[2] == "runtimes") {
    return "runtime " + to_text({key[3]});
  }
  if (key.size() > 2 && key[1] == "containerd") {
    return to_text({key[2]});
  }
  return key.size() > 1 ? to_text({key[1]}) : std::string("the table itself");
}

}  // namespace

void ContainerdTree::set(const TomlPath& path, Origin origin) {
  if (!origin.setting->is_table()) {
    erase(path);
  }
  entries_[path] = origin;
}

void ContainerdTree::erase(const TomlPath& path) {
  // Paths are ordered part by part: what is beneath one follows it.
  auto at = entries_.lower_bound(path);
  while (at != entries_.end() && is_beneath(at->first, path)) {
    at = entries_.erase(at);
  }
}

void ContainerdTree::move(const TomlPath& from, const TomlPath& to) {
  Entries moved = beneath(from);
  erase(from);
  for (auto& [path, origin] : moved) {
    TomlPath target = to;
    target.insert(target.end(), path.begin() + static_cast<std::ptrdiff_t>(from.size()), path.end());
    entries_[std::move(target)] = origin;
  }
}

const ContainerdTree::Origin* ContainerdTree::find(const TomlPath& path) const {
  const auto found = entries_.find(path);
  return found == entries_.end() ? nullptr : &found->second;
}

std::string ContainerdTree::text(const TomlPath& path) const {
  const Origin* origin = find(path);
  const std::string* text = origin == nullptr ? nullptr : origin->setting->text();
  return text == nullptr ? std::string() : *text;
}

std::vector<std::string> ContainerdTree::names(const TomlPath& table) const {
  std::vector<std::string> names;
  for (auto at = entries_.lower_bound(table); at != entries_.end() && is_beneath(at->first, table); ++at) {
    if (at->first.size() > table.size() && (names.empty() || names.back() != at->first[table.size()])) {
      names.push_back(at->first[table.size()]);
    }
  }
  return names;
}

ContainerdTree::Entries ContainerdTree::beneath(const TomlPath& table) const {
  Entries found;
  for (auto at = entries_.lower_bound(table); at != entries_.end() && is_beneath(at->first, table); ++at) {
    found.insert(*at);
  }
  return found;
}

ContainerdTree plugins_of(const ContainerdFile& file) {
  ContainerdTree tree;
  for (const TomlSetting& setting : file.settings) {
    if (setting.path.size() > 1 && setting.path.front() == "plugins") {
      tree.set(TomlPath(std::next(setting.path.begin()), setting.path.end()), {&setting, &file});
    }
  }
  return tree;
}

bool mentions_nvidia(const TomlSetting& setting) {
  const auto names_it = [](const std::string& text) { return text.find("nvidia") != std::string::npos; };
  const std::string* text = setting.text();
  return (text != nullptr && names_it(*text)) || std::any_of(setting.path.begin(), setting.path.end(), names_it);
}

bool mentions_nvidia(const ContainerdTree::Entries& entries) {
  return std::any_of(entries.begin(), entries.end(),
                     [](const auto& entry) { return mentions_nvidia(*entry.second.setting); });
}

std::string meaning_of(const std::vector<TomlPath>& keys) {
  std::vector<std::string> meanings;
  for (const TomlPath& key : keys) {
    std::string meaning = meaning_of(key);
    if (std::find(meanings.begin(), meanings.end(), meaning) == meanings.end()) {
      meanings.push_back(std::move(meaning));
    }
  }
  // What concerns the GPU first.
  std::stable_partition(meanings.begin(), meanings.end(),
                        [](const std::string& meaning) { return meaning.find("nvidia") != std::string::npos; });
  std::string text;
  for (std::size_t at = 0; at < std::min(meanings.size(), kMaxNamed); ++at) {
    text += (at == 0 ? "" : ", ") + meanings[at];
  }
  return meanings.size() > kMaxNamed ? text + " and " + std::to_string(meanings.size() - kMaxNamed) + " more" : text;
}

}  // namespace gpuskew
