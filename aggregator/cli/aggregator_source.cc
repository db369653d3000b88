#include "aggregator/cli/aggregator_source.h"

#include <nlohmann/json.hpp>

namespace gpuskew {

Result<nlohmann::ordered_json> AggregatorSource::get(const Question& question) {
  return client_.get(path_of(question));
}

}  // namespace gpuskew
