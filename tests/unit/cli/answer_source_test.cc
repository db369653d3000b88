#include "aggregator/cli/answer_source.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

TEST(AnswerSource, EveryQuestionHasItsPath) {
  EXPECT_EQ(path_of(Topic::Status), "/api/v1/status");
  EXPECT_EQ(path_of(Topic::Nodes), "/api/v1/nodes");
  EXPECT_EQ(path_of(Topic::Findings), "/api/v1/findings");
  EXPECT_EQ(path_of(Question(Topic::Node, "a b")), "/api/v1/nodes/a%20b");
  EXPECT_EQ(path_of(Topic::Audit), "/api/v1/audit");
  EXPECT_EQ(path_of(Question(Topic::Audit, "n1")), "/api/v1/audit?node=n1");
  Question history(Topic::History, "n1");
  history.limit = 5;
  EXPECT_EQ(path_of(history), "/api/v1/history/n1?limit=5");
}

TEST(AnswerSource, AForecastNamesKernelAndNodeWhereTheyAreAskedFor) {
  Question forecast(Topic::Forecast);
  EXPECT_EQ(path_of(forecast), "/api/v1/forecast");
  forecast.node = "n1";
  EXPECT_EQ(path_of(forecast), "/api/v1/forecast?node=n1");
  forecast.kernel = "6.6.72+";
  EXPECT_EQ(path_of(forecast), "/api/v1/forecast?kernel=6.6.72%2B&node=n1");
}

}  // namespace
}  // namespace gpuskew
