#include "aggregator/cli/commands.h"

#include <algorithm>

#include "aggregator/cli/asking.h"
#include "aggregator/cli/open_source.h"
#include "aggregator/cli/render.h"
#include "aggregator/cli/reply.h"

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

bool takes(const std::vector<std::string>& wanted, const std::string& word) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), word) != wanted.end();
}

TableForm form_of(Format format) {
  if (format == Format::Csv) {
    return TableForm::Csv;
  }
  return format == Format::Wide ? TableForm::Wide : TableForm::Narrow;
}

/// The items of {"<list>": [...]} that `wanted` takes, in both shapes.
template <class T, class Wanted>
void keep_wanted(Asked<std::vector<T>>& asked, const char* list, Wanted wanted) {
  std::vector<T> kept;
  Json kept_json = Json::array();
  for (std::size_t i = 0; i < asked.value.size(); ++i) {
    if (wanted(asked.value[i])) {
      kept.push_back(std::move(asked.value[i]));
      kept_json.push_back(std::move(asked.json[list][i]));
    }
  }
  asked.value = std::move(kept);
  asked.json = Json{{list, std::move(kept_json)}};
}

std::string unknown_nodes_text(std::uint64_t count) {
  return (count == 1 ? "1 node is" : std::to_string(count) + " nodes are") +
         " unknown, so the fleet is not known to be well; see gpuskew nodes --state unknown";
}

std::string nobody_line(const AnswerSource& source) {
  return note_line(std::string(source.nobody()) + ", so nothing is known of the fleet");
}

/// Sets how a status ends, and says on standard error why it is not known to be fine.
void conclude(const AnswerSource& source, const StatusReply& status, Answer& answer) {
  const std::uint64_t unknown = count_of(status.by_state, "unknown");
  if (status.findings() > 0) {
    answer.exit = ExitCode::Findings;
  } else if (status.total == 0) {
    answer.exit = ExitCode::NoAnswer;
    answer.err += nobody_line(source);
  } else if (unknown > 0) {
    answer.exit = ExitCode::NoAnswer;
    answer.err += note_line(unknown_nodes_text(unknown));
  }
}

}  // namespace

Answer status_command(AnswerSource& source, const Options& options, const Screen& screen) {
  const auto status = ask(source, Topic::Status, status_reply);
  if (!status) {
    return no_answer(status.error().what);
  }
  Answer answer;
  conclude(source, status->value, answer);
  if (is_document(options.format)) {
    answer.out = document_text(status->json, options.format);
    return answer;
  }
  std::vector<FindingReply> findings;
  if (status->value.findings() > 0) {
    auto asked = ask(source, Topic::Findings, findings_reply);
    if (!asked) {
      return no_answer(asked.error().what);
    }
    findings = std::move(asked->value);
  }
  std::vector<NodeRow> unknown;
  if (count_of(status->value.by_state, "unknown") > 0) {
    auto asked = ask(source, Topic::Nodes, nodes_reply);
    if (!asked) {
      return no_answer(asked.error().what);
    }
    unknown = std::move(asked->value);
    std::erase_if(unknown, [](const NodeRow& node) { return node.state != "unknown"; });
  }
  answer.out = render_status(status->value, findings, unknown, screen);
  return answer;
}

Answer nodes_command(AnswerSource& source, const Options& options, const Screen& screen, Time now) {
  auto nodes = ask(source, Topic::Nodes, nodes_reply);
  if (!nodes) {
    return no_answer(nodes.error().what);
  }
  const NodeFilter& filter = options.nodes;
  keep_wanted(*nodes, "nodes", [&filter](const NodeRow& node) {
    const bool kernel = filter.kernel.empty() || (node.kernel.is_known() && node.kernel.value() == filter.kernel);
    return kernel && takes(filter.states, node.state);
  });
  Answer answer;
  if (nodes->value.empty()) {
    const bool filtered = !filter.states.empty() || !filter.kernel.empty();
    answer.err = note_line(filtered ? "no such node" : std::string(source.nobody()));
  }
  answer.out = is_document(options.format)
                   ? document_text(nodes->json, options.format)
                   : table_text(nodes_table(nodes->value, form_of(options.format), now), options.format, screen);
  return answer;
}

namespace {

/// What is to be said when no finding is shown: nothing unknown may pass for fine.
Result<Answer> no_finding(AnswerSource& source) {
  const auto status = ask(source, Topic::Status, status_reply);
  if (!status) {
    return tl::unexpected(status.error());
  }
  Answer answer;
  const std::uint64_t unknown = count_of(status->value.by_state, "unknown");
  if (status->value.total == 0) {
    answer.exit = ExitCode::NoAnswer;
    answer.err = nobody_line(source);
  } else if (unknown > 0) {
    answer.exit = ExitCode::NoAnswer;
    answer.err = note_line("no finding, but " + unknown_nodes_text(unknown));
  } else {
    answer.err = note_line("no finding");
  }
  return answer;
}

Answer no_finding_on(const NodeReply& node) {
  if (node.state == "unknown") {
    return Answer{ExitCode::NoAnswer, "", note_line("no finding, but the node's state is unknown: " + node.why)};
  }
  return Answer{ExitCode::Fine, "", note_line("no finding")};
}

struct FindingsAsked {
  Asked<std::vector<FindingReply>> findings;
  std::optional<NodeReply> node;  ///< when only one was asked for
};

Result<FindingsAsked> ask_findings(AnswerSource& source, const std::string& node_name) {
  if (node_name.empty()) {
    auto all = ask(source, Topic::Findings, findings_reply);
    if (!all) {
      return tl::unexpected(all.error());
    }
    return FindingsAsked{std::move(*all), std::nullopt};
  }
  // The node's own answer: a name nobody knows is then an error and not an empty list.
  auto node = ask(source, Question(Topic::Node, node_name), node_reply);
  if (!node) {
    return tl::unexpected(node.error());
  }
  std::vector<FindingReply> findings = node->value.findings;
  return FindingsAsked{{std::move(node->json), std::move(findings)}, std::move(node->value)};
}

}  // namespace

Answer findings_command(AnswerSource& source, const Options& options, const Screen& screen, Time now) {
  auto asked = ask_findings(source, options.findings.node);
  if (!asked) {
    return no_answer(asked.error().what);
  }
  auto& findings = asked->findings;
  keep_wanted(findings, "findings", [&options](const FindingReply& finding) {
    return takes(options.findings.severities, finding.severity) && takes(options.findings.codes, finding.code);
  });
  Answer answer;
  answer.exit = ExitCode::Findings;
  if (findings.value.empty()) {
    Result<Answer> none = asked->node ? Result<Answer>(no_finding_on(*asked->node)) : no_finding(source);
    if (!none) {
      return no_answer(none.error().what);
    }
    answer = std::move(*none);
  }
  answer.out = is_document(options.format)
                   ? document_text(findings.json, options.format)
                   : table_text(findings_table(findings.value, form_of(options.format), now), options.format, screen);
  return answer;
}

Answer history_command(AnswerSource& source, const Options& options, const Screen& screen, Time now) {
  Question question(Topic::History, options.node);
  question.limit = options.history_limit;
  const auto history = ask(source, question, history_reply);
  if (!history) {
    return no_answer(history.error().what);
  }
  Answer answer;
  if (history->value.empty()) {
    answer.err = note_line("no change of " + options.node + " is kept");
  }
  answer.out = is_document(options.format)
                   ? document_text(history->json, options.format)
                   : table_text(history_table(history->value, form_of(options.format), now), options.format, screen);
  return answer;
}

Answer run_command(const Options& options, const Screen& screen, Time now) {
  if (options.command == Command::Version) {
    return Answer{ExitCode::Fine, "gpuskew " GPUSKEW_VERSION "\n", ""};
  }
  if (options.command == Command::Tag && options.node.empty()) {
    return tag_of_parts_command(options);
  }
  const Result<std::unique_ptr<AnswerSource>> opened = open_source(options);
  if (!opened) {
    return no_answer(opened.error().what);
  }
  AnswerSource& source = **opened;
  switch (options.command) {
    case Command::Status:
      return status_command(source, options, screen);
    case Command::Nodes:
      return nodes_command(source, options, screen, now);
    case Command::Findings:
      return findings_command(source, options, screen, now);
    case Command::Explain:
      return explain_command(source, options, screen, now);
    case Command::Tag:
      return node_tag_command(source, options);
    case Command::Audit:
      return audit_command(source, options, screen);
    case Command::Forecast:
      return forecast_command(source, options, screen);
    case Command::Report:
      return report_command(source, options);
    case Command::History:
      return history_command(source, options, screen, now);
    case Command::Version:
      break;
  }
  return no_answer("this command does nothing");
}

}  // namespace gpuskew
