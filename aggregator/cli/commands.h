#pragma once

// One command from its options to its answer.

#include "aggregator/cli/answer.h"
#include "aggregator/cli/answer_source.h"
#include "aggregator/cli/command_line.h"
#include "aggregator/cli/screen.h"
#include "core/time.h"

namespace gpuskew {

/// `now` is this machine's clock; ages are told by it, those of `status` by the server's.
Answer run_command(const Options& options, const Screen& screen, Time now);

Answer status_command(AnswerSource& source, const Options& options, const Screen& screen);
Answer nodes_command(AnswerSource& source, const Options& options, const Screen& screen, Time now);
Answer findings_command(AnswerSource& source, const Options& options, const Screen& screen, Time now);
Answer explain_command(AnswerSource& source, const Options& options, const Screen& screen, Time now);
Answer history_command(AnswerSource& source, const Options& options, const Screen& screen, Time now);
Answer audit_command(AnswerSource& source, const Options& options, const Screen& screen);
/// For an audit without a node: why that is fine. An error where it is not known to be.
Result<std::string> why_nothing_to_audit(AnswerSource& source);
/// Which images would be needed under another kernel.
Answer forecast_command(AnswerSource& source, const Options& options, const Screen& screen);
/// KEY=VALUE lines for scripts.
Answer report_command(AnswerSource& source, const Options& options);
Answer node_tag_command(AnswerSource& source, const Options& options);
/// Asks nobody: the tag of the parts on the command line.
Answer tag_of_parts_command(const Options& options);

}  // namespace gpuskew
