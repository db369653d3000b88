#pragma once

// One command from its options to its answer.

#include "aggregator/cli/answer.h"
#include "aggregator/cli/api_client.h"
#include "aggregator/cli/command_line.h"
#include "aggregator/cli/screen.h"
#include "core/time.h"

namespace gpuskew {

/// `now` is this machine's clock; ages are told by it, those of `status` by the server's.
Answer run_command(const Options& options, const Screen& screen, Time now);

Answer status_command(ApiClient& client, const Options& options, const Screen& screen);
Answer nodes_command(ApiClient& client, const Options& options, const Screen& screen, Time now);
Answer findings_command(ApiClient& client, const Options& options, const Screen& screen, Time now);
Answer explain_command(ApiClient& client, const Options& options, const Screen& screen, Time now);
Answer history_command(ApiClient& client, const Options& options, const Screen& screen, Time now);
Answer audit_command(ApiClient& client, const Options& options, const Screen& screen);
Answer node_tag_command(ApiClient& client, const Options& options);
/// Asks nobody: the tag of the parts on the command line.
Answer tag_of_parts_command(const Options& options);

}  // namespace gpuskew
