#include "aggregator/cli/document.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck/gtest.h>
#include <yaml-cpp/yaml.h>

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

TEST(JsonText, KeepsTheServersOrderAndText) {
  EXPECT_EQ(to_json_text(Json::parse(R"({"z":"8.10","a":[1,null,true]})")),
            "{\n  \"z\": \"8.10\",\n  \"a\": [\n    1,\n    null,\n    true\n  ]\n}\n");
}

TEST(JsonText, EscapesWhatActsOnATerminal) {
  const Json value = "a\x1b[31m\xc2\x9b\xe2\x80\xae\x7f";
  const std::string text = to_json_text(value);
  EXPECT_EQ(text, "\"a\\u001b[31m\\u009b\\u202e\\u007f\"\n");
  EXPECT_EQ(Json::parse(text), value);
}

TEST(YamlText, WritesBlocks) {
  EXPECT_EQ(to_yaml_text(Json::parse(R"({"nodes":[{"name":"n1","gpus":8},{"name":"n2"}],"empty":[],"none":{},
                                        "nested":[["a"],[]]})")),
            "nodes:\n"
            "  - name: n1\n"
            "    gpus: 8\n"
            "  - name: n2\n"
            "empty: []\n"
            "none: {}\n"
            "nested:\n"
            "  - - a\n"
            "  - []\n");
}

TEST(YamlText, QuotesTextThatCouldBeReadAsSomethingElse) {
  for (const char* text : {"8.10", "22.04", "no",   "Yes", "NULL", "n",   "on",   "~",          "",
                           " a",   "a: b",  "a #b", "- a", "0x1f", "1e3", ".inf", "2026-11-30", "2026-11-30T16:05:37Z",
                           "*a",   "&a",    "!a",   "%a",  "@a",   "{",   "550",  "12:30:45",   "=",
                           "<<",   "true"}) {
    const std::string yaml = to_yaml_text(Json{{"k", text}});
    EXPECT_EQ(yaml.substr(0, 4), "k: \"") << yaml;
    EXPECT_EQ(YAML::Load(yaml)["k"].as<std::string>(), text);
    EXPECT_EQ(YAML::Load(yaml)["k"].Tag(), "!") << yaml;
  }
}

TEST(YamlText, LeavesOrdinaryWordsBare) {
  EXPECT_EQ(to_yaml_text(Json{{"state", "no-gpu"}, {"os", "ubuntu22.04"}}), "state: no-gpu\nos: ubuntu22.04\n");
}

TEST(YamlText, WritesScalarsAlone) {
  EXPECT_EQ(to_yaml_text(Json(nullptr)), "null\n");
  EXPECT_EQ(to_yaml_text(Json::array()), "[]\n");
  EXPECT_EQ(to_yaml_text(Json("8.10")), "\"8.10\"\n");
}

RC_GTEST_PROP(YamlText, ReadsBackAsTheSameText, (const std::vector<std::string>& texts)) {
  // What a reply holds is valid UTF-8; ASCII of every kind is where YAML has its traps.
  Json value = Json::array();
  for (std::string text : texts) {
    for (char& c : text) {
      c = static_cast<char>(c & 0x7f);
    }
    value.push_back(Json{{text, text}});
  }
  const YAML::Node read = YAML::Load(to_yaml_text(value));
  RC_ASSERT(read.size() == value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string text = value[i].begin().key();
    RC_ASSERT(read[i].begin()->first.as<std::string>() == text);
    RC_ASSERT(read[i].begin()->second.as<std::string>() == text);
  }
}

}  // namespace
}  // namespace gpuskew
