// `<node> MISSING <tag>` before the kernel comes: what to build before a maintenance window.

#include <algorithm>

#include "aggregator/cli/asking.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/render.h"
#include "aggregator/cli/reply.h"
#include "aggregator/cli/side_notes.h"

namespace gpuskew {
namespace {

using Asking = Asked<ForecastReply>;

Question question_of(const Options& options, const std::string& node) {
  Question question(Topic::Forecast, node);
  question.kernel = options.forecast.kernel;
  return question;
}

/// Of the nodes that were named, each asked for by itself: a name nobody knows is an error, and so is a node that takes
/// no image.
Result<Asking> ask_named(AnswerSource& source, const Options& options) {
  std::optional<Asking> all;
  for (const std::string& node : options.forecast.nodes) {
    auto one = ask(source, question_of(options, node), forecast_reply);
    if (!one) {
      return one;
    }
    if (one->value.nodes.empty()) {
      return fail(ErrorCode::NotFound, "node " + node +
                                           " takes no driver image, as far as is known: it shows no sign of "
                                           "an NVIDIA GPU; see gpuskew explain " +
                                           node);
    }
    if (!all) {
      all = std::move(*one);
      continue;
    }
    all->json["nodes"].push_back(one->json["nodes"].front());
    all->value.nodes.push_back(std::move(one->value.nodes.front()));
  }
  return std::move(*all);
}

std::string word_of(const ForecastRow& row) {
  return row.verdict == "ok" ? "OK" : row.verdict == "missing" ? "MISSING" : "UNKNOWN";
}

/// A line for each node with a tag; those without are told on standard error.
std::string forecast_lines(const ForecastReply& forecast) {
  std::string lines;
  for (const ForecastRow& row : forecast.nodes) {
    if (row.tag) {
      lines += row.node + " " + word_of(row) + " " + *row.tag + "\n";
    }
  }
  return lines;
}

ExitCode exit_code_of(const ForecastReply& forecast) {
  const auto any = [&forecast](auto wanted) {
    return std::any_of(forecast.nodes.begin(), forecast.nodes.end(), wanted);
  };
  if (any([](const ForecastRow& row) { return row.verdict == "missing"; })) {
    return ExitCode::Findings;
  }
  return any([](const ForecastRow& row) { return row.verdict != "ok"; }) ? ExitCode::NoAnswer : ExitCode::Fine;
}

}  // namespace

Answer forecast_command(AnswerSource& source, const Options& options, const Screen& screen) {
  const auto asked = options.forecast.nodes.empty() ? ask(source, question_of(options, ""), forecast_reply)
                                                    : ask_named(source, options);
  if (!asked) {
    return no_answer(asked.error().what);
  }
  const ForecastReply& forecast = asked->value;
  if (forecast.nodes.empty()) {
    return no_answer("no node is known to have an NVIDIA GPU, so there is nothing to forecast");
  }
  const std::vector<AuditRow> rows(forecast.nodes.begin(), forecast.nodes.end());
  Answer answer;
  answer.exit = exit_code_of(forecast);
  answer.err = unknown_lines(rows) + tag_note_lines(rows) + contradiction_lines(rows);
  if (is_document(options.format)) {
    answer.out = document_text(asked->json, options.format);
  } else if (options.format == Format::Table) {
    answer.out = forecast_lines(forecast);
  } else {
    answer.out = table_text(forecast_table(forecast), options.format, screen);
  }
  return answer;
}

}  // namespace gpuskew
