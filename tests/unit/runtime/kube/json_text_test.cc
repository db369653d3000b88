#include "runtime/kube/json_text.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

std::vector<std::string> items_of(std::string_view text) {
  std::vector<std::string> items;
  auto page = split_list_page(text);
  EXPECT_TRUE(page) << page.error().what;
  for (;;) {
    const auto item = next_item(page->items);
    EXPECT_TRUE(item);
    if (!item || !*item) {
      return items;
    }
    items.emplace_back(**item);
  }
}

TEST(KubeListPage, FindsTheTokenBeforeTheItemsAndBehindThem) {
  const char* const built_in =
      R"({"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"abc","remainingItemCount":2},"items":[{"a":1},{"b":[2,{"c":"]}"}]}]})";
  const char* const custom =
      R"({"apiVersion":"nvidia.com/v1","items":[ {"a":1} , {"b":[2,{"c":"]}"}]} ],"kind":"ClusterPolicyList","metadata":{"continue":"abc","resourceVersion":"7"}})";
  for (const char* text : {built_in, custom}) {
    const auto page = split_list_page(text);
    ASSERT_TRUE(page);
    EXPECT_EQ(page->continue_token, "abc");
    EXPECT_EQ(page->resource_version, "7");
    EXPECT_EQ(items_of(text), (std::vector<std::string>{R"({"a":1})", R"({"b":[2,{"c":"]}"}]})"}));
  }
}

TEST(KubeListPage, TakesAnEmptyListInBothForms) {
  EXPECT_TRUE(items_of(R"({"metadata":{"resourceVersion":"7"},"items":[]})").empty());
  EXPECT_TRUE(items_of(R"({"metadata":{"resourceVersion":"7"},"items":null })").empty());
}

TEST(KubeListPage, IsNotMisledByQuotesAndBrackets) {
  EXPECT_EQ(items_of(R"({"items":["\"]","\\",{"x\"]":"}"}],"metadata":{}})"),
            (std::vector<std::string>{R"("\"]")", R"("\\")", R"({"x\"]":"}"})"}));
}

TEST(KubeListPage, RefusesWhatIsNoList) {
  for (const char* text : {"", "[]", "null", "<html>", "{", R"({"items":[1])", R"({"items":[1]})", R"({"metadata":{}})",
                           R"({"items":{},"metadata":{}})", R"({"items":[1,"metadata":{}})",
                           R"({"items":[1],"metadata":7x})", R"({"items":["open],"metadata":{}})"}) {
    EXPECT_FALSE(split_list_page(text)) << text;
  }
}

TEST(KubeObject, LosesItsManagedFields) {
  const char* const first =
      R"({"metadata":{"managedFields":[{"manager":"kubelet","fieldsV1":{"f:x":{}}}],"name":"a"}})";
  const char* const last = R"({"metadata":{"name":"a" , "managedFields":[{"manager":"]}"}] },"spec":{}})";
  const char* const only = R"({"metadata":{"managedFields":[]}})";
  EXPECT_EQ(parse_object(first, false)->dump(), R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(parse_object(last, false)->dump(), R"({"metadata":{"name":"a"},"spec":{}})");
  EXPECT_EQ(parse_object(only, false)->dump(), R"({"metadata":{}})");
  EXPECT_EQ(parse_object(only, true)->dump(), only);
  EXPECT_EQ(parse_object(R"({"spec":{"managedFields":1}})", false)->dump(), R"({"spec":{"managedFields":1}})");
}

TEST(KubeObject, RefusesDeepNesting) {
  const std::string deep = R"({"a":)" + std::string(kMaxJsonDepth + 1, '[') + std::string(kMaxJsonDepth + 1, ']') + "}";
  EXPECT_EQ(parse_object(deep, false).error().code, ErrorCode::TooLarge);
  EXPECT_EQ(parse_json(deep).error().code, ErrorCode::TooLarge);
}

TEST(KubeObject, RefusesBrokenJson) {
  for (const char* text : {"", "{", "{}x", R"({"a":1,})", R"({"a":"\ud800"})", "{\"a\":\"\xff\"}", "[]", "7"}) {
    EXPECT_FALSE(parse_object(text, false)) << text;
  }
}

TEST(KubeWatchLine, HasATypeAndAnObject) {
  const auto line = parse_watch_line(
      R"({"type":"MODIFIED","object":{"kind":"Node","metadata":{"name":"a","managedFields":[],"resourceVersion":"9"}}})",
      false);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->type, "MODIFIED");
  EXPECT_EQ(line->object.dump(), R"({"kind":"Node","metadata":{"name":"a","resourceVersion":"9"}})");
  for (const char* text : {"", "{}", R"({"type":"ADDED"})", R"({"object":{}})", R"({"type":7,"object":{}})",
                           R"({"type":"ADDED","object":[]})", R"({"type":"ADDED","object":{"a":}})"}) {
    EXPECT_FALSE(parse_watch_line(text, false)) << text;
  }
}

TEST(TextAt, IsEmptyWhereNothingFits) {
  const auto value = nlohmann::json::parse(R"({"a":{"b":"c","n":1},"l":[]})");
  EXPECT_EQ(text_at(value, {"a", "b"}), "c");
  EXPECT_EQ(text_at(value, {"a", "n"}), "");
  EXPECT_EQ(text_at(value, {"a", "b", "c"}), "");
  EXPECT_EQ(text_at(value, {"l", "b"}), "");
}

}  // namespace
}  // namespace gpuskew
