#pragma once

#include <memory>

#include "aggregator/cli/answer_source.h"
#include "aggregator/cli/command_line.h"
#include "core/result.h"

namespace gpuskew {

/// The aggregator, or the cluster, that the options name. Connects to nothing. Errors name the flag or the file.
Result<std::unique_ptr<AnswerSource>> open_source(const Options& options);

}  // namespace gpuskew
