// The commands of a grub script that bear on which kernel boots. All others are left out: they draw the menu, load
// grub's own modules and look for disks.

#include <algorithm>
#include <array>
#include <utility>

#include "agent/probes/grub_script.h"

namespace gpuskew {
namespace {

constexpr int kMaxSourced = 8;

template <std::size_t kSize>
bool is_one_of(std::string_view word, const std::array<std::string_view, kSize>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "name" of `name=value`; "" for any other word.
std::string_view assigned_name(const GrubWord& word) {
  if (word.parts.empty() || word.parts.front().is_variable) {
    return {};
  }
  const std::string_view text = word.parts.front().text;
  const std::size_t equals = text.find('=');
  constexpr std::string_view kName = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  if (equals == std::string_view::npos || text.substr(0, equals).find_first_not_of(kName) != std::string_view::npos) {
    return {};
  }
  return text.substr(0, equals);
}

GrubWord assigned_value(const GrubWord& word, std::string_view name) {
  GrubWord value = word;
  GrubWord::Part& first = value.parts.front();
  first.text.erase(0, name.size() + 1);
  first.is_quoted = true;  // an empty value is one
  return value;
}

// The path behind "(hd0,gpt2)" or "($root)": which disk that is, is not asked.
GrubWord without_device(const GrubWord& word) {
  if (word.parts.empty() || word.parts.front().is_variable || !word.parts.front().text.starts_with('(')) {
    return word;
  }
  for (std::size_t at = 0; at < word.parts.size(); ++at) {
    const std::size_t close = word.parts[at].is_variable ? std::string::npos : word.parts[at].text.find(')');
    if (close != std::string::npos) {
      GrubWord path;
      path.parts.assign(word.parts.begin() + static_cast<std::ptrdiff_t>(at), word.parts.end());
      path.parts.front().text.erase(0, close + 1);
      return path;
    }
  }
  return word;
}

}  // namespace

std::vector<GrubValue> GrubScript::arguments(const Command& command, std::size_t from) const {
  std::vector<GrubValue> values;
  for (std::size_t at = from; at < command.size(); ++at) {
    if (auto value = variables_.expand(command[at])) {
      values.push_back(std::move(*value));
    }
  }
  return values;
}

void GrubScript::change(std::string_view variable, GrubValue value) {
  if (changed_ != nullptr) {
    changed_->emplace(variable);
  }
  if (mode_ == Mode::Act) {
    variables_.set(variable, std::move(value));
  } else if (mode_ == Mode::Maybe) {
    variables_.set_unknown(variable);
  }
}

void GrubScript::assign(const GrubWord& assignment) {
  const std::string_view name = assigned_name(assignment);
  if (name.empty()) {
    return;
  }
  const GrubWord value = assigned_value(assignment, name);
  if (name == "default" && mode_ != Mode::Skip) {
    config_.chosen_by = "grub.cfg";
    for (const GrubWord::Part& part : value.parts) {
      if (part.is_variable && part.text.ends_with("_entry")) {
        config_.chosen_by = part.text + " of grubenv";
      }
    }
  }
  change(name, variables_.expand(value).value_or(GrubValue{}));
}

// `search --set=root`, `regexp --set 1:name`: the variable is set to what no file says.
void GrubScript::note_set_options(const Command& command) {
  const std::vector<GrubValue> words = arguments(command, 1);
  for (std::size_t at = 0; at < words.size(); ++at) {
    std::string_view name;
    constexpr std::string_view kOption = "--set";
    const std::string_view text = words[at].text;
    if (text.starts_with("--set=")) {
      name = text.substr(kOption.size() + 1);
    } else if ((text == kOption || text == "-s") && at + 1 < words.size()) {
      name = words[at + 1].text;
    }
    if (!name.empty()) {
      change(name.substr(name.find(':') == std::string_view::npos ? 0 : name.find(':') + 1), GrubValue{"", false});
    }
  }
}

GrubTruth GrubScript::test_file(const std::string& path) const {
  if (!path.starts_with(surroundings_.directory + "/")) {
    return GrubTruth::Unknown;
  }
  const auto content = surroundings_.read(path);
  if (content) {
    return content->empty() ? GrubTruth::No : GrubTruth::Yes;
  }
  return content.error().code == ErrorCode::NotFound ? GrubTruth::No : GrubTruth::Unknown;
}

GrubTruth GrubScript::outcome_of(const Command& command) {
  const std::string_view name = command.front().literal();
  if (name == "true" || name == "false") {
    return name == "true" ? GrubTruth::Yes : GrubTruth::No;
  }
  if (name == "[" || name == "test") {
    std::vector<GrubValue> words = arguments(command, 1);
    if (name == "[") {
      if (words.empty() || words.back().text != "]") {
        return GrubTruth::Unknown;
      }
      words.pop_back();
    }
    return grub_test(words, [this](const std::string& path) { return test_file(path); });
  }
  const Mode before = std::exchange(mode_, std::min(mode_, Mode::Maybe));
  act(command);
  mode_ = before;
  return GrubTruth::Unknown;
}

void GrubScript::act(const Command& command) {
  if (command.empty() || is_stopped()) {
    return;
  }
  const std::string_view name = command.front().literal();
  if (!assigned_name(command.front()).empty()) {
    assign(command.front());
  } else if (const auto known = functions_.find(name); known != functions_.end()) {
    for (const std::string& variable : known->second) {
      change(variable, GrubValue{"", false});
    }
  } else if (!act_on_variables(name, command) && mode_ != Mode::Skip && !act_on_files(name, command)) {
    act_in_entry(name, command);
  }
}

bool GrubScript::act_on_variables(std::string_view name, const Command& command) {
  constexpr std::array<std::string_view, 4> kChanging = {"unset", "read", "increment", "decrement"};
  if (name == "set") {
    for (std::size_t at = 1; at < command.size(); ++at) {
      assign(command[at]);
    }
  } else if (is_one_of(name, kChanging)) {
    for (const GrubValue& variable : arguments(command, 1)) {
      change(variable.text, GrubValue{"", name == "unset"});
    }
  } else if (name == "eval" && mode_ != Mode::Skip) {
    variables_.lose_all();
  } else {
    note_set_options(command);
    return false;
  }
  return true;
}

bool GrubScript::act_on_files(std::string_view name, const Command& command) {
  if (name == "load_env") {
    load_environment(command);
  } else if (name == "source" || name == ".") {
    source(command);
  } else if (name == "blscfg") {
    add_loader_entries(command);
  } else if (name == "configfile" && entry_ == nullptr) {
    hand_over(command);
  } else {
    return false;
  }
  return true;
}

void GrubScript::act_in_entry(std::string_view name, const Command& command) {
  constexpr std::array<std::string_view, 3> kLinux = {"linux", "linux16", "linuxefi"};
  constexpr std::array<std::string_view, 2> kModule = {"module", "module2"};
  constexpr std::array<std::string_view, 8> kLeaving = {"chainloader", "configfile", "fwsetup", "ntldr",
                                                        "exit",        "halt",       "reboot",  "uki"};
  if (is_one_of(name, kLinux)) {
    add_kernel(command, 1);
  } else if (is_one_of(name, kModule)) {  // Xen: its first module is the kernel, "module2 --nounzip /vmlinuz-..."
    const bool has_option = command.size() > 1 && command[1].literal().starts_with("--");
    if (entry_ != nullptr && entry_->kernels.empty()) {
      add_kernel(command, has_option ? 2 : 1);
    }
  } else if (name == "fwsetup" && command.size() > 1) {
    // "--is-supported" only asks.
  } else if (is_one_of(name, kLeaving) || name == "return") {
    if (entry_ != nullptr) {
      entry_->leaves_grub = true;
    } else {
      stop(ErrorCode::Unsupported, "the script may end at a '" + std::string(name) + "' before its menu is shown");
    }
  }
}

void GrubScript::add_kernel(const Command& command, std::size_t path_at) {
  if (entry_ == nullptr) {
    stop(ErrorCode::Unsupported, "the script loads a kernel outside of its menu");
    return;
  }
  if (path_at >= command.size()) {
    return;
  }
  entry_->kernels.push_back(variables_.expand(without_device(command[path_at])).value_or(GrubValue{"", false}));
  if (entry_->options.empty()) {
    for (const GrubValue& option : arguments(command, path_at + 1)) {
      entry_->options += (entry_->options.empty() ? "" : " ") + option.text;
    }
  }
}

void GrubScript::load_environment(const Command& command) {
  GrubValue path = variables_.get("prefix");
  path.text += "/grubenv";
  const std::vector<GrubValue> words = arguments(command, 1);
  std::vector<std::string> wanted;  // none: all
  bool wants_known = true;
  for (std::size_t at = 0; at < words.size(); ++at) {
    constexpr std::string_view kFileOption = "--file=";
    if ((words[at].text == "-f" || words[at].text == "--file") && at + 1 < words.size()) {
      path = words[++at];
    } else if (words[at].text.starts_with(kFileOption)) {
      path = GrubValue{words[at].text.substr(kFileOption.size()), words[at].is_known};
    } else if (!words[at].text.starts_with('-')) {
      wanted.push_back(words[at].text);
      wants_known = wants_known && words[at].is_known;
    }
  }
  const auto block = path.is_known && path.text.starts_with('/')
                         ? surroundings_.read(path.text)
                         : Result<std::string>(fail(ErrorCode::Unsupported, "another disk's file"));
  if (!block && block.error().code == ErrorCode::NotFound) {
    return;
  }
  const auto environment =
      block ? parse_grub_environment(*block) : Result<GrubEnvironment>(tl::unexpected(block.error()));
  // On btrfs and the like grub writes its variables to a place outside the file, and notes that in it.
  if (!environment || environment->contains("env_block") || mode_ == Mode::Maybe || !wants_known) {
    if (wanted.empty() || !wants_known) {
      variables_.lose_all();
    }
    for (const std::string& name : wanted) {
      change(name, GrubValue{"", false});
    }
    return;
  }
  for (const auto& [name, value] : *environment) {
    if (wanted.empty() || std::find(wanted.begin(), wanted.end(), name) != wanted.end()) {
      change(name, GrubValue{value, true});
    }
  }
}

void GrubScript::source(const Command& command) {
  const std::vector<GrubValue> words = arguments(command, 1);
  if (words.size() != 1 || !words.front().is_known) {
    stop(ErrorCode::Unsupported, "the script takes in a file whose name depends on the machine");
    return;
  }
  const auto text = surroundings_.read(words.front().text);
  if (!text) {
    if (text.error().code != ErrorCode::NotFound) {
      stop(text.error().code, text.error().what);
    }
    return;
  }
  if (++sourced_ > kMaxSourced) {
    stop(ErrorCode::TooLarge, "the script takes in more than " + std::to_string(kMaxSourced) + " files");
    return;
  }
  GrubWords inner(*text);
  statements(inner, false);
}

void GrubScript::hand_over(const Command& command) {
  const std::vector<GrubValue> words = arguments(command, 1);
  if (words.size() != 1 || mode_ != Mode::Act || !config_.menu.empty()) {
    stop(ErrorCode::Unsupported, "the script may hand over to another configuration");
    return;
  }
  config_.other_file = words.front().text;
}

void GrubScript::add_loader_entries(const Command& command) {
  const GrubValue directory = variables_.get("blsdir");
  if (command.size() > 1 || (directory.is_known && !directory.text.empty()) || entry_ != nullptr) {
    stop(ErrorCode::Unsupported, "blscfg is told to take its entries from another place");
    return;
  }
  config_.uses_blscfg = true;
  const auto entries = surroundings_.loader_entries();
  if (!entries) {
    if (entries.error().code != ErrorCode::NotFound) {
      stop(entries.error().code, entries.error().what);
    }
    return;
  }
  for (const LoaderEntry& found : *entries) {
    GrubEntry entry;
    entry.title = found.title;
    entry.id = without_conf(found.file);
    entry.is_certain = mode_ == Mode::Act;
    entry.kernels.push_back(GrubValue{found.kernel, !found.kernel.empty()});
    entry.options = found.options;
    menu_->push_back(std::move(entry));
  }
}

}  // namespace gpuskew
