// `<node> MISSING <tag>` lines, or OK. OK is said only when every node that needs an image is known to have one.

#include <algorithm>

#include "aggregator/cli/asking.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/render.h"
#include "aggregator/cli/reply.h"
#include "aggregator/cli/side_notes.h"

namespace gpuskew {
namespace {

bool any_with(const AuditReply& audit, std::string_view verdict) {
  return std::any_of(audit.nodes.begin(), audit.nodes.end(),
                     [verdict](const AuditRow& node) { return node.verdict == verdict; });
}

std::string missing_lines(const AuditReply& audit) {
  std::string lines;
  for (const AuditRow& node : audit.nodes) {
    if (node.verdict == "missing") {
      lines += node.node + " MISSING " + node.tag.value_or("") + "\n";
    }
  }
  return lines;
}

/// Nodes that could not be audited, in the form of the missing ones; then what else is to be known.
std::string side_lines(const AuditReply& audit) {
  std::string lines = unknown_lines(audit.nodes);
  if (audit.matrix.error) {
    lines += "note: the last reading of the matrix failed, the one before it counts: " + *audit.matrix.error + "\n";
  }
  lines += tag_note_lines(audit.nodes);
  for (const std::string& note : audit.notes) {
    lines += "note: " + note + "\n";
  }
  return lines + contradiction_lines(audit.nodes);
}

ExitCode exit_code_of(const AuditReply& audit) {
  if (any_with(audit, "missing")) {
    return ExitCode::Findings;
  }
  const bool all_ok =
      std::all_of(audit.nodes.begin(), audit.nodes.end(), [](const AuditRow& node) { return node.verdict == "ok"; });
  return all_ok ? ExitCode::Fine : ExitCode::NoAnswer;
}

}  // namespace

/// An empty audit is fine only in a fleet that has nodes, none of which needs an image. What a cluster does not say of
/// its nodes is no proof of that.
Result<std::string> why_nothing_to_audit(AnswerSource& source) {
  const auto status = ask(source, Topic::Status, status_reply);
  if (!status) {
    return tl::unexpected(status.error());
  }
  if (status->value.total == 0) {
    return fail(ErrorCode::NotFound, std::string(source.nobody()) + ", so there is nothing to audit");
  }
  const std::string nodes = "none of the " + std::to_string(status->value.total) + " nodes ";
  if (status->value.cluster) {
    return fail(ErrorCode::NotFound, nodes +
                                         "shows a sign of an NVIDIA GPU (label nvidia.com/gpu.present=true, an "
                                         "nvidia.com resource), so there is nothing to audit");
  }
  return nodes + "has an NVIDIA GPU or driver";
}

Answer audit_command(AnswerSource& source, const Options& options, const Screen& screen) {
  const auto asked = ask(source, Topic::Audit, audit_reply);
  if (!asked) {
    return no_answer(asked.error().what);
  }
  const AuditReply& audit = asked->value;
  Answer answer;
  answer.exit = exit_code_of(audit);
  if (answer.exit == ExitCode::Fine && audit.result != "ok") {
    return no_answer("the aggregator's audit is \"" + audit.result + "\", and no node in it says why");
  }
  answer.err = side_lines(audit);
  if (audit.nodes.empty()) {
    const Result<std::string> why = why_nothing_to_audit(source);
    if (!why) {
      return no_answer(why.error().what);
    }
    answer.err += "note: " + *why + "\n";
  }
  if (is_document(options.format)) {
    answer.out = document_text(asked->json, options.format);
  } else if (options.format == Format::Table) {
    answer.out = answer.exit == ExitCode::Fine ? "OK\n" : missing_lines(audit);
  } else {
    answer.out = table_text(audit_table(audit), options.format, screen);
  }
  return answer;
}

}  // namespace gpuskew
