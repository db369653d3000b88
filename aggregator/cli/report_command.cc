// KEY=VALUE lines that a script can read, or source: a value is one word, and what is not known is "unknown".

#include <algorithm>
#include <map>

#include "aggregator/cli/asking.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/reply.h"
#include "aggregator/cli/side_notes.h"

namespace gpuskew {
namespace {

constexpr const char* kUnknown = "unknown";

using Rows = std::vector<AuditRow>;
/// Key and value, in the order they are printed.
using Figures = std::vector<std::pair<std::string, std::string>>;

std::size_t count_with(const Rows& rows, std::string_view verdict) {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [verdict](const AuditRow& row) { return row.verdict == verdict; }));
}

/// "lab-node-1" as a variable: LAB_NODE_1.
std::string variable_of(const std::string& node) {
  std::string name = node.empty() || (node.front() >= '0' && node.front() <= '9') ? "_" : "";
  for (const char c : node) {
    const bool is_word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z');
    name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : is_word ? c : '_';
  }
  return name;
}

/// The nodes whose image is missing. None of them, while others are unknown, is not none.
void add_skew(const Rows& rows, Figures& figures) {
  const std::size_t missing = count_with(rows, "missing");
  const std::size_t unknown = rows.size() - missing - count_with(rows, "ok");
  figures.emplace_back("SKEW", missing == 0 && unknown > 0 ? kUnknown : std::to_string(missing));
  if (unknown > 0) {
    figures.emplace_back("UNKNOWN", std::to_string(unknown));
  }
}

/// A state is a label's value, and so one word.
std::string upgrade_word(const AuditRow& row) {
  return row.cluster ? row.cluster->upgrade_state : kUnknown;
}

/// One word for a fleet of one state, else "upgrade-done:3,upgrade-required:1".
std::string upgrade_words(const Rows& rows) {
  std::map<std::string, std::size_t> nodes_in;
  for (const AuditRow& row : rows) {
    ++nodes_in[upgrade_word(row)];
  }
  if (nodes_in.size() == 1) {
    return nodes_in.begin()->first;
  }
  std::string words;
  for (const auto& [state, count] : nodes_in) {
    words += (words.empty() ? "" : ",") + state + ":" + std::to_string(count);
  }
  return words;
}

/// Two nodes of one variable would overwrite each other.
std::optional<std::string> shared_variable(const Rows& rows) {
  std::map<std::string, std::string> node_of;
  for (const AuditRow& row : rows) {
    const auto [other, is_new] = node_of.emplace(variable_of(row.node), row.node);
    if (!is_new) {
      return "nodes " + other->second + " and " + row.node + " would both be " + other->first +
             "_TAG; report each with --node";
    }
  }
  return std::nullopt;
}

std::string contradictory_line(const Rows& rows) {
  const auto is_contradictory = [](const AuditRow& row) { return row.cluster && !row.cluster->notes.empty(); };
  const auto count = std::count_if(rows.begin(), rows.end(), is_contradictory);
  return count == 0 ? std::string()
                    : note_line("note: " + std::to_string(count) + (count == 1 ? " node is" : " nodes are") +
                                " at odds with their own labels; gpuskew nodes -o wide says how");
}

/// `shown` are the nodes with a line of their own.
Figures figures_of(const AuditReply& audit, const Rows& shown) {
  Figures figures;
  figures.emplace_back("NODES", std::to_string(audit.nodes.size()));
  add_skew(audit.nodes, figures);
  for (const AuditRow& row : shown) {
    figures.emplace_back(variable_of(row.node) + "_TAG", row.tag.value_or(kUnknown));
  }
  figures.emplace_back("MATRIX_ROWS", std::to_string(audit.matrix.rows));
  figures.emplace_back("UPGRADE_STATE", shown.empty() ? "none" : upgrade_words(shown));
  return figures;
}

std::string text_of(const Figures& figures, Format format) {
  nlohmann::ordered_json document = nlohmann::ordered_json::object();
  std::string lines;
  for (const auto& [key, value] : figures) {
    document[key] = value;
    lines += key;
    lines += '=';
    lines += value;
    lines += '\n';
  }
  return is_document(format) ? document_text(document, format) : lines;
}

ExitCode exit_code_of(const Rows& rows) {
  if (count_with(rows, "missing") > 0) {
    return ExitCode::Findings;
  }
  return count_with(rows, "ok") == rows.size() ? ExitCode::Fine : ExitCode::NoAnswer;
}

}  // namespace

Answer report_command(AnswerSource& source, const Options& options) {
  const auto asked = ask(source, Topic::Audit, audit_reply);
  if (!asked) {
    return no_answer(asked.error().what);
  }
  const Rows& rows = asked->value.nodes;
  Rows shown = rows;
  if (!options.node.empty()) {
    std::erase_if(shown, [&options](const AuditRow& row) { return row.node != options.node; });
    if (const auto node = ask(source, Question(Topic::Node, options.node), node_reply); !node) {
      return no_answer(node.error().what);
    }
    if (shown.empty()) {
      return no_answer("node " + options.node + " takes no driver image, as far as is known; see gpuskew explain " +
                       options.node);
    }
  }
  if (const auto shared = shared_variable(shown)) {
    return no_answer(*shared);
  }
  Answer answer;
  answer.exit = exit_code_of(rows);
  answer.out = text_of(figures_of(asked->value, shown), options.format);
  answer.err = unknown_lines(rows) + contradictory_line(rows);
  if (rows.empty()) {
    const Result<std::string> why = why_nothing_to_audit(source);
    if (!why) {
      return no_answer(why.error().what);
    }
    answer.err += "note: " + *why + "\n";
  }
  return answer;
}

}  // namespace gpuskew
