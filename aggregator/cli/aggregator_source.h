#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "aggregator/cli/answer_source.h"
#include "aggregator/cli/api_client.h"

namespace gpuskew {

class AggregatorSource final : public AnswerSource {
 public:
  explicit AggregatorSource(ApiClient client) : client_(std::move(client)) {}

  Result<nlohmann::ordered_json> get(const Question& question) override;
  const std::string& server() const override { return client_.server(); }
  std::string_view nobody() const override { return "no node has reported to this aggregator"; }

 private:
  ApiClient client_;
};

}  // namespace gpuskew
