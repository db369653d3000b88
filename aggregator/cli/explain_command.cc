// One node: its own answer, and the audit's word on its image.

#include <algorithm>

#include "aggregator/cli/asking.h"
#include "aggregator/cli/commands.h"
#include "aggregator/cli/render.h"
#include "aggregator/cli/reply.h"

namespace gpuskew {
namespace {

ImageAnswer image_of(AnswerSource& source, const NodeReply& node) {
  if (node.state == "no-gpu") {
    return ImageAnswer{ImageAnswer::Verdict::NotNeeded, ""};
  }
  const auto audit = ask(source, Question(Topic::Audit, node.name), audit_reply);
  if (!audit) {
    return ImageAnswer{ImageAnswer::Verdict::Unknown, audit.error().what};
  }
  const auto& rows = audit->value.nodes;
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const AuditRow& one) { return one.node == node.name; });
  if (row == rows.end() && node.is_of_cluster_only()) {
    return ImageAnswer{ImageAnswer::Verdict::Unknown, "no label and no resource speaks of a GPU here"};
  }
  if (row == rows.end()) {
    return ImageAnswer{ImageAnswer::Verdict::NotNeeded, ""};
  }
  if (row->verdict == "ok") {
    return ImageAnswer{ImageAnswer::Verdict::Exists, ""};
  }
  if (row->verdict == "missing") {
    return ImageAnswer{ImageAnswer::Verdict::Missing, ""};
  }
  return ImageAnswer{ImageAnswer::Verdict::Unknown, row->why};
}

}  // namespace

Answer explain_command(AnswerSource& source, const Options& options, const Screen& screen, Time now) {
  const auto node = ask(source, Question(Topic::Node, options.node), node_reply);
  if (!node) {
    return no_answer(node.error().what);
  }
  Answer answer;
  if (!node->value.findings.empty()) {
    answer.exit = ExitCode::Findings;
  } else if (node->value.state == "unknown") {
    answer.exit = ExitCode::NoAnswer;
    answer.err = note_line("the state of " + node->value.name + " is unknown: " + node->value.why);
  }
  answer.out = is_document(options.format) ? document_text(node->json, options.format)
                                           : render_explain(node->value, image_of(source, node->value), now, screen);
  return answer;
}

}  // namespace gpuskew
