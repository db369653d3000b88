#pragma once

// Who answers the questions of a command: an aggregator, or a cluster that is asked without one. The answers have one
// form, docs/api.md's.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"

namespace gpuskew {

enum class Topic : std::uint8_t { Status, Nodes, Node, Findings, Audit, Forecast, History };

struct Question {
  // NOLINTNEXTLINE(google-explicit-constructor): a topic alone is a question
  Question(Topic asked, std::string of_node = {}) : topic(asked), node(std::move(of_node)) {}

  Topic topic;
  std::string node;       ///< of Node and History; "" is every node for Audit and Forecast
  std::string kernel;     ///< of Forecast; "" is each node's next
  std::size_t limit = 0;  ///< of History: transitions at most
};

/// Where the aggregator's API has the answer: path and query, escaped.
std::string path_of(const Question& question);

class AnswerSource {
 public:
  virtual ~AnswerSource() = default;

  /// Errors are whole sentences that say what to do and never hold a secret; the codes are ApiClient::get's.
  virtual Result<nlohmann::ordered_json> get(const Question& question) = 0;
  /// As it may be shown: a URL.
  virtual const std::string& server() const = 0;
  /// A sentence's beginning for a fleet without a node: "no node has reported to this aggregator".
  virtual std::string_view nobody() const = 0;
};

}  // namespace gpuskew
