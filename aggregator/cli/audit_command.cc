// `<node> MISSING <tag>` lines, or OK. OK is said only when every node that needs an image is known to have one.

#include <algorithm>

#include "aggregator/cli/asking.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/render.h"
#include "aggregator/cli/reply.h"

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
  std::string lines;
  for (const AuditRow& node : audit.nodes) {
    if (node.verdict != "ok" && node.verdict != "missing") {
      lines += node.node + " UNKNOWN " + node.why + "\n";
    }
  }
  if (audit.matrix.error) {
    lines += "note: the last reading of the matrix failed, the one before it counts: " + *audit.matrix.error + "\n";
  }
  for (const AuditRow& node : audit.nodes) {
    for (const std::string& note : node.notes) {
      lines += "note: " + node.node + ": " + note + "\n";
    }
  }
  for (const std::string& note : audit.notes) {
    lines += "note: " + note + "\n";
  }
  return lines;
}

ExitCode exit_code_of(const AuditReply& audit) {
  if (any_with(audit, "missing")) {
    return ExitCode::Findings;
  }
  const bool all_ok =
      std::all_of(audit.nodes.begin(), audit.nodes.end(), [](const AuditRow& node) { return node.verdict == "ok"; });
  return all_ok ? ExitCode::Fine : ExitCode::NoAnswer;
}

/// An empty audit is fine only in a fleet that has nodes, none of which needs an image.
Result<std::string> why_nothing_to_audit(ApiClient& client) {
  const auto status = ask(client, "/api/v1/status", status_reply);
  if (!status) {
    return tl::unexpected(status.error());
  }
  if (status->value.total == 0) {
    return fail(ErrorCode::NotFound, "no node has reported to this aggregator, so there is nothing to audit");
  }
  return "none of the " + std::to_string(status->value.total) + " nodes has an NVIDIA GPU or driver";
}

}  // namespace

Answer audit_command(ApiClient& client, const Options& options, const Screen& screen) {
  const auto asked = ask(client, "/api/v1/audit", audit_reply);
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
    const Result<std::string> why = why_nothing_to_audit(client);
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
