#include "aggregator/cli/reply_reader.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

struct Reading {
  explicit Reading(const char* text) : json(Json::parse(text)) {}
  Json json;
  std::optional<Error> error;
  ReplyReader reader{json, "nodes[3]", error};
};

TEST(ReplyReader, NamesTheFirstFieldThatIsMissing) {
  Reading reading(R"({"b":1})");
  EXPECT_EQ(reading.reader.text("a"), "");
  EXPECT_EQ(reading.reader.text("b"), "");
  EXPECT_EQ(reading.error, (Error{ErrorCode::Malformed, "nodes[3].a is missing"}));
}

TEST(ReplyReader, NamesAFieldOfAnotherType) {
  const std::vector<std::pair<void (*)(ReplyReader&), std::string>> reads = {
      {[](ReplyReader& r) { r.text("x"); }, "is not text"},
      {[](ReplyReader& r) { r.boolean("x"); }, "is neither true nor false"},
      {[](ReplyReader& r) { r.number("x"); }, "is not a count"},
      {[](ReplyReader& r) { r.array("x"); }, "is not a list"},
      {[](ReplyReader& r) { r.object("x"); }, "is not an object"},
      {[](ReplyReader& r) { r.fact("x"); }, "is not a fact"},
      {[](ReplyReader& r) { r.text_or_null("x"); }, "is not text"},
  };
  for (const auto& [read, what] : reads) {
    Reading reading(R"({"x":-1.5})");
    read(reading.reader);
    EXPECT_EQ(reading.error.value_or(Error{}).what, "nodes[3].x " + what);
  }
}

TEST(ReplyReader, TakesNullForWhatMayBeMissing) {
  Reading reading(R"({"a":null})");
  EXPECT_EQ(reading.reader.text_or_null("a"), std::nullopt);
  EXPECT_EQ(reading.reader.time_or_null("b"), std::nullopt);
  EXPECT_FALSE(reading.error);
}

TEST(ReplyReader, MakesTextPrintable) {
  Reading reading(R"({"a":"\u001b]0;x","b":["\u0007"],"c":{"state":"unknown","because":"\u009b","source":"\n"}})");
  EXPECT_EQ(reading.reader.text("a"), "\\x1b]0;x");
  EXPECT_EQ(reading.reader.texts("b"), std::vector<std::string>{"\\x07"});
  const auto fact = reading.reader.fact("c");
  EXPECT_EQ(fact.why().what, "\\u009b");
  EXPECT_EQ(fact.source(), "\\n");
}

TEST(ReplyReader, ReadsWhatIsNoObjectAsOneWithoutFields) {
  Reading reading("[1,2]");
  reading.reader.text("a");
  EXPECT_EQ(reading.error.value_or(Error{}).what, "nodes[3].a is missing");
}

TEST(FactFromJson, ReadsAllThreeStates) {
  EXPECT_EQ(fact_from_json(Json::parse(R"({"state":"known","value":"550.90.07","source":"s"})")),
            Fact<std::string>::known("550.90.07", "s"));
  EXPECT_EQ(fact_from_json(Json::parse(R"({"state":"absent","source":"s"})")), Fact<std::string>::absent("s"));
  const auto unknown = fact_from_json(Json::parse(R"({"state":"unknown","because":"denied","source":"s"})"));
  ASSERT_TRUE(unknown && unknown->is_unknown());
  EXPECT_EQ(unknown->why().what, "denied");
}

TEST(FactFromJson, IsNoneForAnythingElse) {
  for (const char* text : {"5", "{}", R"({"state":"maybe"})", R"({"state":"known"})", "[]", "null"}) {
    EXPECT_EQ(fact_from_json(Json::parse(text)), std::nullopt) << text;
  }
}

TEST(TextOfValue, TellsAnOsByItsNameAndAListByItsSize) {
  EXPECT_EQ(text_of_value(Json::parse(R"({"id":"ubuntu","version_id":"22.04","pretty_name":"Ubuntu 22.04.5 LTS"})")),
            "Ubuntu 22.04.5 LTS");
  EXPECT_EQ(text_of_value(Json::parse(R"({"id":"arch","version_id":null,"pretty_name":""})")), "arch");
  EXPECT_EQ(text_of_value(Json::parse(R"({"id":"alpine","version_id":"3.20"})")), "alpine 3.20");
  EXPECT_EQ(text_of_value(Json::parse("[{},{}]")), "2");
  EXPECT_EQ(text_of_value(Json::parse("8")), "8");
}

}  // namespace
}  // namespace gpuskew
