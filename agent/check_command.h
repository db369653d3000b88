#pragma once

#include "agent/config.h"

namespace gpuskew {

/// `gpuskew-agent check`: reads this node, judges it, prints the verdict to standard output and what stood in the way
/// to standard error. Changes nothing: the state file is only read. With `config.check_wait` it reads again, on every
/// change of the node, until the answer is another than "could not tell" or the time is over.
/// Returns the exit code: 0 good, 1 findings, 2 could not tell.
int check_command(const AgentCommandLine& line, const AgentConfig& config);

}  // namespace gpuskew
