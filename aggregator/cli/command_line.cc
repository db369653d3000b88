#include "aggregator/cli/command_line.h"

#include <algorithm>
#include <string_view>

#include <CLI/CLI.hpp>

#include "aggregator/cli/help.h"
#include "aggregator/cli/screen_text.h"
#include "aggregator/cli/source_flags.h"
#include "aggregator/cli/spelling.h"

namespace gpuskew {
namespace {

/// Kubernetes' limit; nothing longer can be a node of ours.
constexpr std::size_t kMaxNodeName = 253;

/// What the arguments said, before it means anything.
struct Given {
  Options options;
  SourceFlags source;
  std::string format = "table";
  std::string color = "auto";
  std::string states;
  std::string severities;
  std::string codes;
  std::string help_topic;
};

using Parsed = std::variant<Options, Answer>;

std::vector<std::string> split_commas(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) {
      words.emplace_back(list.substr(0, comma));
    }
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known) {
  const auto near = nearest_word(typed, known);
  return near ? " (did you mean " + *near + "?)" : "";
}

void add_global_options(CLI::App& app, Given& given) {
  SourceFlags& source = given.source;
  app.add_option("--server", source.server);
  app.add_option("--ca", source.ca);
  app.add_option("--cert", source.certificate);
  app.add_option("--key", source.key);
  app.add_option("--token-file", source.token_file);
  app.add_option("--kubeconfig", source.kubeconfig);
  app.add_option("--context", source.context);
  app.add_option("-o,--output", given.format);
  app.add_option("--color", given.color);
}

void add_commands(CLI::App& app, Given& given) {
  Options& options = given.options;
  for (const CommandInfo& info : all_commands()) {
    CLI::App* command = app.add_subcommand(std::string(info.name));
    // Global options are taken behind the command, too; what fits nowhere is left to us.
    command->fallthrough();
    if (info.command == Command::Explain || info.command == Command::History || info.command == Command::Tag) {
      command->add_option("NODE", options.node);
    }
  }
  CLI::App* nodes = app.get_subcommand("nodes");
  nodes->add_option("--state", given.states);
  nodes->add_option("--kernel", options.nodes.kernel);
  CLI::App* findings = app.get_subcommand("findings");
  findings->add_option("--severity", given.severities);
  findings->add_option("--code", given.codes);
  findings->add_option("--node", options.findings.node);
  app.get_subcommand("history")->add_option("--limit", options.history_limit);
  CLI::App* forecast = app.get_subcommand("forecast");
  forecast->add_option("NODE", options.forecast.nodes);
  forecast->add_option("--kernel", options.forecast.kernel);
  app.get_subcommand("report")->add_option("--node", options.node);
  for (const char* name : {"audit", "explain", "forecast", "report"}) {
    CLI::App* command = app.get_subcommand(name);
    command->add_option("--matrix", options.matrix);
    command->add_option("--operator-version", options.tag_parts.operator_version);
    command->add_option("--driver-part", options.tag_parts.driver_part);
  }
  CLI::App* tag = app.get_subcommand("tag");
  tag->add_option("--kernel", options.tag_parts.kernel);
  tag->add_option("--os", options.tag_parts.os);
  tag->add_option("--os-version", options.tag_parts.os_version);
  tag->add_option("--driver", options.tag_parts.driver);
  tag->add_option("--operator-version", options.tag_parts.operator_version);
  tag->add_option("--driver-part", options.tag_parts.driver_part);
  app.add_subcommand("help")->fallthrough()->add_option("COMMAND", given.help_topic);
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const CommandInfo& info : all_commands()) {
    names.emplace_back(info.name);
  }
  return names;
}

std::optional<Command> command_named(std::string_view name) {
  for (const CommandInfo& info : all_commands()) {
    if (info.name == name) {
      return info.command;
    }
  }
  return std::nullopt;
}

std::optional<Command> chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? std::nullopt : command_named(chosen.front()->get_name());
}

std::string see_help(std::optional<Command> command) {
  return command ? "; see gpuskew " + std::string(info_of(*command).name) + " --help"
                 : "; gpuskew --help lists the commands";
}

Answer unknown_command(const std::string& typed) {
  return no_answer("unknown command " + typed + did_you_mean(typed, command_names()) + see_help(std::nullopt));
}

/// What neither the command nor the program takes.
Answer unexpected_argument(const CLI::App& app, const std::string& argument) {
  const auto command = chosen_command(app);
  const std::string name = argument.substr(0, argument.find('='));
  if (name.empty() || name.front() != '-') {
    return no_answer("unexpected argument " + argument + see_help(command));
  }
  std::vector<std::string> known;
  const CLI::App* chosen = app.get_subcommands().front();
  for (const CLI::App* owner : {&app, chosen}) {
    for (const CLI::Option* option : owner->get_options()) {
      for (const std::string& longer : option->get_lnames()) {
        known.push_back("--" + longer);
      }
    }
  }
  return no_answer("unknown option " + name + did_you_mean(name, known) + see_help(command));
}

/// nullopt: every word is known.
std::optional<Answer> unknown_word(std::string_view option, const std::vector<std::string>& words,
                                   const std::vector<std::string>& known) {
  for (const std::string& word : words) {
    if (std::find(known.begin(), known.end(), word) == known.end()) {
      return no_answer(std::string(option) + " " + word + " is none of " + joined(known) + did_you_mean(word, known));
    }
  }
  return std::nullopt;
}

std::optional<Answer> take_format(Given& given) {
  const CommandInfo& info = info_of(given.options.command);
  std::vector<std::string> names;
  for (const Format format : info.formats) {
    names.emplace_back(to_string(format));
    if (given.format == to_string(format)) {
      given.options.format = format;
      return std::nullopt;
    }
  }
  return no_answer(std::string(info.name) + " has no form -o " + given.format + "; it has " + joined(names));
}

std::optional<Answer> take_words(Given& given) {
  Options& options = given.options;
  if (auto wrong = unknown_word("--color", {given.color}, {"auto", "always", "never"})) {
    return wrong;
  }
  options.color = given.color == "always"  ? ColorChoice::Always
                  : given.color == "never" ? ColorChoice::Never
                                           : ColorChoice::Auto;
  options.nodes.states = split_commas(given.states);
  options.findings.severities = split_commas(given.severities);
  options.findings.codes = split_commas(given.codes);
  if (auto wrong = unknown_word("--state", options.nodes.states,
                                {"ok", "no-gpu", "not-judged", "starting", "degraded", "broken", "unknown"})) {
    return wrong;
  }
  // Codes are not checked: an aggregator newer than this program has more of them.
  return unknown_word("--severity", options.findings.severities, {"critical", "warning", "info"});
}

bool has_parts(const TagParts& parts) {
  return parts.kernel || parts.os || parts.os_version || parts.driver;
}

bool has_rules(const TagParts& parts) {
  return parts.operator_version || parts.driver_part;
}

std::optional<Answer> check_node(const Options& options) {
  const bool needs_node = options.command == Command::Explain || options.command == Command::History;
  const std::string name(info_of(options.command).name);
  if (needs_node && options.node.empty()) {
    return no_answer(name + " needs a node: gpuskew " + name + " NODE; gpuskew nodes lists them");
  }
  if (options.command == Command::Tag) {
    const bool parts = has_parts(options.tag_parts);
    if (options.node.empty() && !parts && !has_rules(options.tag_parts)) {
      return no_answer("tag needs a node, or --kernel, --os, --os-version and --driver; see gpuskew tag --help");
    }
    if (!options.node.empty() && parts) {
      return no_answer("tag takes a node or the parts of a tag, not both; see gpuskew tag --help");
    }
  }
  std::vector<std::string> names = options.forecast.nodes;
  names.insert(names.end(), {options.node, options.findings.node});
  for (const std::string& node : names) {
    if (node.size() > kMaxNodeName || node == "." || node == "..") {
      return no_answer("no node can be called " + cut_to(node, 64));
    }
  }
  return std::nullopt;
}

Parsed meaning_of(Given& given, const EnvVars& environment) {
  if (auto wrong = take_format(given)) {
    return *wrong;
  }
  if (auto wrong = take_words(given)) {
    return *wrong;
  }
  if (auto wrong = check_node(given.options)) {
    return *wrong;
  }
  const std::size_t limit = given.options.history_limit;
  if (limit < 1 || limit > Options::kMaxHistory) {
    return no_answer("--limit must be 1 to " + std::to_string(Options::kMaxHistory));
  }
  if (auto wrong = choose_source(given.source, environment, given.options)) {
    return *wrong;
  }
  return given.options;
}

Answer help_on(const std::string& topic) {
  const auto command = command_named(topic);
  if (!topic.empty() && !command) {
    return unknown_command(topic);
  }
  return Answer{ExitCode::Fine, help_text(command), ""};
}

Parsed parsed_by(CLI::App& app, Given& given, const EnvVars& environment) {
  const std::vector<std::string> left = app.remaining();
  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    const auto word =
        std::find_if(left.begin(), left.end(), [](const std::string& s) { return !s.empty() && s.front() != '-'; });
    if (word != left.end()) {
      return unknown_command(*word);
    }
    if (!left.empty()) {
      return no_answer("unknown option " + left.front() + see_help(std::nullopt));
    }
    return Answer{ExitCode::NoAnswer, "", help_text(std::nullopt)};
  }
  if (!left.empty()) {
    return unexpected_argument(app, left.front());
  }
  if (chosen.front()->get_name() == "help") {
    return help_on(given.help_topic);
  }
  given.options.command = *chosen_command(app);
  return meaning_of(given, environment);
}

}  // namespace

Parsed parse_command_line(const std::vector<std::string>& arguments, const EnvVars& environment) {
  Given given;
  CLI::App app("", "gpuskew");
  app.allow_extras();
  app.require_subcommand(0, 1);
  bool version = false;
  app.add_flag("--version", version);
  add_global_options(app, given);
  add_commands(app, given);
  try {
    // CLI11 takes them from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return Answer{ExitCode::Fine, help_text(chosen_command(app)), ""};
  } catch (const CLI::ParseError& error) {
    return no_answer(error.what() + see_help(chosen_command(app)));
  }
  if (version) {
    given.options.command = Command::Version;
    return given.options;
  }
  return parsed_by(app, given, environment);
}

}  // namespace gpuskew
