#include "aggregator/cli/answer_source.h"

#include "runtime/kube/path.h"

namespace gpuskew {
namespace {

std::string forecast_path(const Question& question) {
  std::string query;
  if (!question.kernel.empty()) {
    query += "?kernel=" + query_escaped(question.kernel);
  }
  if (!question.node.empty()) {
    query += (query.empty() ? "?node=" : "&node=") + query_escaped(question.node);
  }
  return "/api/v1/forecast" + query;
}

}  // namespace

std::string path_of(const Question& question) {
  const std::string node = query_escaped(question.node);
  switch (question.topic) {
    case Topic::Status:
      return "/api/v1/status";
    case Topic::Nodes:
      return "/api/v1/nodes";
    case Topic::Node:
      return "/api/v1/nodes/" + node;
    case Topic::Findings:
      return "/api/v1/findings";
    case Topic::Audit:
      return "/api/v1/audit" + (node.empty() ? "" : "?node=" + node);
    case Topic::Forecast:
      return forecast_path(question);
    case Topic::History:
      return "/api/v1/history/" + node + "?limit=" + std::to_string(question.limit);
  }
  return "/";
}

}  // namespace gpuskew
