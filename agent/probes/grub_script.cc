// The shape of a script: blocks, branches, functions, menu entries. What single commands do is in grub_commands.cc.

#include "agent/probes/grub_script.h"

#include <algorithm>
#include <array>
#include <utility>

namespace gpuskew {
namespace {

constexpr int kMaxDepth = 48;
constexpr std::size_t kMaxWords = 4096;

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// A keyword is one only where it is written plainly.
std::string_view keyword(const GrubToken& token) {
  if (token.kind != GrubToken::Kind::Word || token.word.parts.size() != 1 || token.word.parts.front().is_quoted) {
    return {};
  }
  return token.word.literal();
}

}  // namespace

GrubScript::GrubScript(const GrubSurroundings& surroundings)
    : surroundings_(surroundings), variables_(surroundings.directory, surroundings.is_efi), menu_(&config_.menu) {}

Result<GrubConfig> GrubScript::run(std::string_view text) {
  GrubWords words(text);
  statements(words, false);
  if (error_) {
    return tl::unexpected(*error_);
  }
  config_.chosen = variables_.get("default");
  return std::move(config_);
}

void GrubScript::stop(ErrorCode code, std::string what) {
  if (!error_) {
    error_ = Error{code, std::move(what)};
  }
}

std::string GrubScript::statements(GrubWords& words, bool in_braces) {
  if (++depth_ > kMaxDepth) {
    stop(ErrorCode::Malformed, "the script is nested more than " + std::to_string(kMaxDepth) + " deep");
  }
  std::string end;
  while (!is_stopped()) {
    const GrubToken& token = words.peek();
    const std::string_view word = keyword(token);
    if (token.kind == GrubToken::Kind::TextEnd) {
      break;
    }
    if (token.kind == GrubToken::Kind::Close && in_braces) {
      words.take();
      end = "}";
      break;
    }
    if (is_one_of(word, {"fi", "else", "elif", "done", "then", "do"})) {
      end = word;
      words.take();
      break;
    }
    if (token.kind == GrubToken::Kind::Open) {
      words.take();
      statements(words, true);
    } else if (token.kind != GrubToken::Kind::Word) {
      words.take();
    } else if (word == "if") {
      branch(words);
    } else if (is_one_of(word, {"for", "while", "until"})) {
      loop(words);
    } else if (word == "function") {
      function(words);
    } else if (word == "menuentry" || word == "submenu") {
      menu_entry(words, word == "submenu");
    } else {
      act(command(words));
    }
  }
  --depth_;
  return end;
}

GrubScript::Command GrubScript::command(GrubWords& words) {
  Command command;
  while (words.peek().kind == GrubToken::Kind::Word) {
    command.push_back(words.take().word);
    if (command.size() > kMaxWords) {
      stop(ErrorCode::TooLarge, "a command of more than " + std::to_string(kMaxWords) + " words");
      break;
    }
  }
  return command;
}

GrubTruth GrubScript::condition(GrubWords& words) {
  GrubTruth value = GrubTruth::Unknown;
  while (!is_stopped()) {
    const GrubToken& token = words.peek();
    if (keyword(token) == "then") {
      words.take();
      return value;
    }
    if (token.kind == GrubToken::Kind::CommandEnd) {
      words.take();
    } else if (token.kind == GrubToken::Kind::Word) {
      value = outcome_of(command(words));
    } else {
      break;
    }
  }
  stop(ErrorCode::Malformed, "an 'if' without its 'then'");
  return GrubTruth::Unknown;
}

void GrubScript::branch(GrubWords& words) {
  words.take();
  const Mode before = mode_;
  bool is_decided = false;
  bool may_be_decided = false;
  GrubTruth taken = condition(words);
  while (!is_stopped()) {
    Mode mode = Mode::Skip;
    if (!is_decided && taken != GrubTruth::No) {
      mode = taken == GrubTruth::Yes && !may_be_decided ? Mode::Act : Mode::Maybe;
    }
    is_decided = is_decided || taken == GrubTruth::Yes;
    may_be_decided = may_be_decided || taken == GrubTruth::Unknown;
    mode_ = std::min(before, mode);
    const std::string end = statements(words, false);
    mode_ = before;
    if (end == "elif") {
      taken = condition(words);
    } else if (end == "else") {
      taken = GrubTruth::Yes;
    } else {
      if (end != "fi") {
        stop(ErrorCode::Malformed, "an 'if' without its 'fi'");
      }
      return;
    }
  }
}

// How often it runs is not known.
void GrubScript::loop(GrubWords& words) {
  const Mode before = mode_;
  mode_ = std::min(mode_, Mode::Maybe);
  Command header = command(words);
  if (header.size() > 1 && header.front().literal() == "for" && mode_ != Mode::Skip) {
    change(header[1].literal(), GrubValue{"", false});
  }
  std::string end = statements(words, false);
  if (end == "do") {
    end = statements(words, false);
  }
  if (end != "done") {
    stop(ErrorCode::Malformed, "a loop without its 'done'");
  }
  mode_ = before;
}

void GrubScript::function(GrubWords& words) {
  const Command header = command(words);
  if (header.size() != 2 || words.peek().kind != GrubToken::Kind::Open) {
    stop(ErrorCode::Malformed, "a function without a name or a body");
    return;
  }
  words.take();
  std::set<std::string> changed;
  std::set<std::string>* const outer = changed_;
  const Mode before = mode_;
  changed_ = &changed;
  mode_ = Mode::Skip;
  statements(words, true);
  mode_ = before;
  changed_ = outer;
  functions_.insert_or_assign(std::string(header[1].literal()), std::move(changed));
}

GrubEntry GrubScript::described(const Command& command, bool is_submenu) const {
  GrubEntry entry;
  entry.is_submenu = is_submenu;
  entry.is_certain = mode_ == Mode::Act;
  bool has_title = false;
  const std::vector<GrubValue> words = arguments(command, 1);
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& text = words[at].text;
    entry.is_certain = entry.is_certain && words[at].is_known;
    if (is_one_of(text, {"--class", "--users", "--hotkey", "--source", "--id"})) {
      ++at;
      if (text == "--id" && at < words.size()) {
        entry.id = words[at].text;
        entry.is_certain = entry.is_certain && words[at].is_known;
      }
    } else if (text.starts_with("--id=")) {
      entry.id = text.substr(std::string_view("--id=").size());
    } else if (!text.starts_with("--") && !has_title) {
      entry.title = text;
      has_title = true;
    }
  }
  if (entry.id.empty()) {
    entry.id = entry.title;
  }
  return entry;
}

void GrubScript::menu_entry(GrubWords& words, bool is_submenu) {
  const Command header = command(words);
  if (words.peek().kind != GrubToken::Kind::Open) {
    stop(ErrorCode::Malformed, "a menu entry without a body");
    return;
  }
  words.take();
  if (mode_ == Mode::Skip || entry_ != nullptr) {
    const Mode before = std::exchange(mode_, Mode::Skip);
    statements(words, true);
    mode_ = before;
    return;
  }
  if (++entries_ > kMaxGrubEntries) {
    stop(ErrorCode::TooLarge, "a menu of more than " + std::to_string(kMaxGrubEntries) + " entries");
    return;
  }
  // What the body sets holds in it alone. That the entry itself may not be there is its own matter.
  GrubEntry entry = described(header, is_submenu);
  const GrubVariables before = variables_;
  const Mode mode_before = std::exchange(mode_, Mode::Act);
  std::vector<GrubEntry>* const menu_before = menu_;
  if (is_submenu) {
    menu_ = &entry.entries;
  } else {
    entry_ = &entry;
  }
  if (statements(words, true) != "}" && !is_stopped()) {
    stop(ErrorCode::Malformed, "a menu entry that does not end");
  }
  entry_ = nullptr;
  menu_ = menu_before;
  mode_ = mode_before;
  variables_ = before;
  menu_->push_back(std::move(entry));
}

Result<GrubConfig> run_grub_config(std::string_view text, const GrubSurroundings& surroundings) {
  return GrubScript(surroundings).run(text);
}

}  // namespace gpuskew
