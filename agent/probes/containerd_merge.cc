#include "agent/probes/containerd_merge.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "agent/probes/containerd_tree.h"
#include "agent/probes/nvidia_handler.h"

namespace gpuskew {
namespace {

constexpr std::uint32_t kReplaceVersions = 2;
constexpr std::uint32_t kMigrateMergedVersions = 3;
constexpr std::uint32_t kMigrateEachVersions = 4;
constexpr const char* kDefaultRuntime = "runc";

// "io.containerd.<type>.<version>" and more behind it.
bool is_plugin_uri(const std::string& name) {
  return name.starts_with("io.containerd.") && std::count(name.begin(), name.end(), '.') >= 3;
}

std::string full_key(TomlPath path) {
  path.insert(path.begin(), "plugins");
  return to_text(path);
}

class Merger {
 public:
  explicit Merger(ContainerdRules rules)
      : rules_(rules == ContainerdRules::ReplaceAnyVersion ? ContainerdRules::Replace : rules) {
    version_ = rules_ == ContainerdRules::Replace        ? 1
               : rules == ContainerdRules::MigrateMerged ? kMigrateMergedVersions
                                                         : kMigrateEachVersions;
    max_version_ = rules == ContainerdRules::Replace             ? kReplaceVersions
                   : rules == ContainerdRules::ReplaceAnyVersion ? UINT32_MAX
                                                                 : version_;
  }

  void add(const ContainerdFile& file) {
    ContainerdTree tree = plugins_of(file);
    std::vector<std::string> disabled = file.disabled_plugins;
    std::uint32_t version = file.version;
    if (rules_ != ContainerdRules::Replace && version < 2) {
      tree.move({kCriVersion1}, {kCriVersion2});
      std::replace(disabled.begin(), disabled.end(), std::string(kCriVersion1), std::string(kCriVersion2));
      version = rules_ == ContainerdRules::MigrateMerged ? version_ : version;
    }
    if (rules_ == ContainerdRules::MigrateEach && version < version_) {
      migrate(tree);
      version = version_;
    }
    if (version != 0) {
      version_ = version;
      version_file_ = file.path;
    }
    disabled_.insert(disabled_.end(), disabled.begin(), disabled.end());
    for (const std::string& plugin : tree.names({})) {
      rules_ == ContainerdRules::Replace ? replace(tree, plugin, file) : overlay(tree, plugin);
    }
  }

  Result<ContainerdMerge> finish() {
    if (auto valid = validate(); !valid) {
      return tl::unexpected(valid.error());
    }
    if (rules_ == ContainerdRules::MigrateMerged && version_ < kMigrateMergedVersions) {
      migrate(tree_);
    }
    const char* plugin = rules_ != ContainerdRules::Replace ? kCriVersion3 : version_ < 2 ? kCriVersion1 : kCriVersion2;
    ContainerdMerge merge;
    merge.version = version_;
    merge.cri_disabled = is_disabled(plugin);
    merge.default_runtime = tree_.text({plugin, "containerd", "default_runtime_name"});
    if (merge.default_runtime.empty()) {
      merge.default_runtime = kDefaultRuntime;
    }
    if (const auto* cdi = tree_.find({plugin, "enable_cdi"})) {
      if (const bool* enabled = std::get_if<bool>(&cdi->setting->value)) {
        merge.enable_cdi = *enabled;
      }
    }
    if (!merge.cri_disabled) {
      merge.handlers = handlers(plugin);
    }
    note_overridden();
    note_unread(plugin);
    if (merge.cri_disabled) {
      conflicts_.clear();
    }
    merge.conflicts = std::move(conflicts_);
    return merge;
  }

 private:
  struct Override {
    TomlPath path;
    ContainerdTree::Origin lost;
    std::string kept;
  };

  // A later file's table takes the place of the earlier one.
  void replace(const ContainerdTree& from, const std::string& plugin, const ContainerdFile& file) {
    const auto before = tree_.beneath({plugin});
    const auto after = from.beneath({plugin});
    std::vector<TomlPath> lost;
    for (const auto& [path, origin] : before) {
      if (after.find(path) != after.end()) {
        note_override(path, origin, after.at(path));
      } else if (!origin.setting->is_table() || path.size() == 4) {  // 4: a runtime, even an empty one
        lost.push_back(path);
      }
    }
    if (!lost.empty() && (mentions_nvidia(before) || mentions_nvidia(after))) {
      add_conflict({full_key({plugin}), file.path, before.begin()->second.file->path, meaning_of(lost)});
    }
    tree_.erase({plugin});
    for (const auto& [path, origin] : after) {
      tree_.set(path, origin);
    }
  }

  // Key by key.
  void overlay(const ContainerdTree& from, const std::string& plugin) {
    for (const auto& [path, origin] : from.beneath({plugin})) {
      if (const auto* before = tree_.find(path)) {
        note_override(path, *before, origin);
      }
      tree_.set(path, origin);
    }
  }

  // Takes version 2's table over to version 3's name, where what is already there stays: keys of the table itself and
  // of its table "containerd" as they are, whatever is in them.
  void migrate(ContainerdTree& tree) {
    for (const std::string& key : tree.names({kCriVersion2})) {
      if (key != "containerd") {
        move_unless_there(tree, {key});
        continue;
      }
      for (const std::string& inner : tree.names({kCriVersion2, key})) {
        move_unless_there(tree, {key, inner});
      }
    }
  }

  static void move_unless_there(ContainerdTree& tree, const TomlPath& key) {
    TomlPath from{kCriVersion2};
    TomlPath to{kCriVersion3};
    from.insert(from.end(), key.begin(), key.end());
    to.insert(to.end(), key.begin(), key.end());
    if (!tree.has(to)) {
      tree.move(from, to);
    }
  }

  bool is_disabled(const std::string& plugin) const {
    return std::any_of(disabled_.begin(), disabled_.end(), [&](const std::string& name) {
      return name == plugin || (rules_ != ContainerdRules::Replace && name == kCriVersion2);
    });
  }

  Result<void> validate() const {
    if (version_ > max_version_) {
      return fail(ErrorCode::Malformed, version_file_ + ": version " + std::to_string(version_) +
                                            " is newer than this containerd knows: it refuses its configuration");
    }
    // 1.x is strict about names in version 2, later ones only about disabled_plugins.
    const bool strict = rules_ == ContainerdRules::Replace;
    if (strict && version_ < 2) {
      return {};
    }
    for (const std::string& name : disabled_) {
      if (strict ? !is_plugin_uri(name) : name.find('.') == std::string::npos) {
        return fail(ErrorCode::Malformed, "containerd refuses its configuration: disabled_plugins names " +
                                              in_quotes(name) + ", which is no name of version " +
                                              std::to_string(version_));
      }
    }
    for (const std::string& name : strict ? tree_.names({}) : std::vector<std::string>()) {
      if (!is_plugin_uri(name)) {
        return fail(ErrorCode::Malformed, "containerd refuses its configuration: plugins." + in_quotes(name) + " in " +
                                              tree_.beneath({name}).begin()->second.file->path +
                                              " is no name of version " + std::to_string(version_));
      }
    }
    return {};
  }

  // The runtime at `table`, with the file that names its binary.
  RuntimeHandler handler_at(const std::string& name, const TomlPath& table) const {
    const auto* origin = tree_.find(table);
    RuntimeHandler handler{name, "", origin == nullptr ? std::string() : origin->file->path};
    // The last two are from the days of version 1.
    for (const TomlPath& key :
         std::array<TomlPath, 3>{{{"options", "BinaryName"}, {"options", "Runtime"}, {"runtime_engine"}}}) {
      TomlPath path = table;
      path.insert(path.end(), key.begin(), key.end());
      if (handler.binary.empty() && !tree_.text(path).empty()) {
        handler.binary = tree_.text(path);
        handler.file = tree_.find(path)->file->path;
      }
    }
    return handler;
  }

  std::vector<RuntimeHandler> handlers(const std::string& plugin) const {
    const TomlPath table{plugin, "containerd", "runtimes"};
    std::vector<RuntimeHandler> found;
    for (const std::string& name : tree_.names(table)) {
      TomlPath runtime = table;
      runtime.push_back(name);
      RuntimeHandler handler = handler_at(name, runtime);
      if (is_nvidia_handler(name, handler.binary) && found.size() < ContainerRuntime::kMaxItems) {
        found.push_back(std::move(handler));
      }
    }
    // 1.x makes a runtime "default" of the table that was meant to be the default in version 1.
    RuntimeHandler old = handler_at("default", {plugin, "containerd", "default_runtime"});
    if (rules_ == ContainerdRules::Replace && is_nvidia_runtime_binary(old.binary)) {
      found.push_back(std::move(old));
    }
    return found;
  }

  void note_override(const TomlPath& path, ContainerdTree::Origin before, ContainerdTree::Origin after) {
    const std::string* lost = before.setting->text();
    const bool* was = std::get_if<bool>(&before.setting->value);
    const bool names_nvidia = lost != nullptr && lost->find("nvidia") != std::string::npos;
    const bool enables_cdi = path.back() == "enable_cdi" && was != nullptr && *was;
    if (before.setting->value != after.setting->value && (names_nvidia || enables_cdi)) {
      overrides_.push_back({path, before, after.file->path});
    }
  }

  // A later file may have set it to something of NVIDIA's again.
  void note_overridden() {
    for (const Override& each : overrides_) {
      const auto* now = tree_.find(each.path);
      const std::string* text = now == nullptr ? nullptr : now->setting->text();
      if (now != nullptr && (now->setting->value == each.lost.setting->value ||
                             (text != nullptr && text->find("nvidia") != std::string::npos))) {
        continue;
      }
      std::string effect = meaning_of(std::vector<TomlPath>{each.path});
      effect = effect.starts_with("runtime ") ? to_text({each.path.back()}) + " of " + effect : effect;
      add_conflict({to_text(each.lost.setting->path), each.kept, each.lost.file->path, std::move(effect)});
    }
  }

  // A table under a name that this configuration version does not read.
  void note_unread(const std::string& plugin) {
    for (const char* other : {kCriVersion1, kCriVersion2, kCriVersion3}) {
      const auto unread = tree_.beneath({other});
      if (other == plugin || !mentions_nvidia(unread)) {
        continue;
      }
      std::vector<TomlPath> keys;
      const ContainerdFile* file = nullptr;
      for (const auto& [path, origin] : unread) {
        TomlPath read = path;
        read.front() = plugin;
        if (mentions_nvidia(*origin.setting) && !tree_.has(read)) {
          file = file == nullptr ? origin.file : file;
          keys.push_back(path);
        }
      }
      if (keys.empty()) {
        continue;  // some write each table under both names
      }
      const bool by_itself = rules_ == ContainerdRules::MigrateEach || version_file_.empty();
      add_conflict({full_key({other}), by_itself ? file->path : version_file_, file->path, meaning_of(keys)});
    }
  }

  void add_conflict(ConfigConflict conflict) {
    if (conflicts_.size() < ContainerRuntime::kMaxItems) {
      conflicts_.push_back(std::move(conflict));
    }
  }

  ContainerdRules rules_;
  std::uint32_t version_ = 0;
  std::uint32_t max_version_ = 0;
  std::string version_file_;  ///< the last that set version_
  ContainerdTree tree_;
  std::vector<std::string> disabled_;
  std::vector<Override> overrides_;
  std::vector<ConfigConflict> conflicts_;
};

}  // namespace

std::vector<ContainerdRules> possible_rules(const ContainerdVersion& version) {
  // The two rules of 1.x changed somewhere between 1.7.0 and 1.7.18.
  constexpr std::uint32_t kMixedMinor = 7;
  constexpr std::uint32_t kFirstMigrateEachMinor = 3;
  const bool exact = !version.text.empty();
  switch (version.major) {
    case 1:
      return exact && version.minor < kMixedMinor
                 ? std::vector{ContainerdRules::ReplaceAnyVersion}
                 : std::vector{ContainerdRules::Replace, ContainerdRules::ReplaceAnyVersion};
    case 2:
      if (exact) {
        return {version.minor < kFirstMigrateEachMinor ? ContainerdRules::MigrateMerged : ContainerdRules::MigrateEach};
      }
      return {ContainerdRules::MigrateMerged, ContainerdRules::MigrateEach};
    default:
      return {ContainerdRules::Replace, ContainerdRules::MigrateMerged, ContainerdRules::MigrateEach};
  }
}

Result<ContainerdMerge> merge_containerd(const std::vector<ContainerdFile>& files, ContainerdRules rules) {
  Merger merger(rules);
  for (const ContainerdFile& file : files) {
    merger.add(file);
  }
  return merger.finish();
}

bool mentions_nvidia(const ContainerdFile& file) {
  return std::any_of(file.settings.begin(), file.settings.end(),
                     [](const TomlSetting& setting) { return mentions_nvidia(setting); });
}

bool defines_nvidia_handler(const ContainerdFile& file) {
  const ContainerdTree tree = plugins_of(file);
  for (const char* plugin : {kCriVersion1, kCriVersion2, kCriVersion3}) {
    for (const std::string& name : tree.names({plugin, "containerd", "runtimes"})) {
      if (is_nvidia_handler(name, tree.text({plugin, "containerd", "runtimes", name, "options", "BinaryName"}))) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace gpuskew
