#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "aggregator/cli/aggregator_source.h"
#include "aggregator/cli/commands.h"
#include "tests/unit/cli/golden.h"

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

Options whole() {
  Options options;
  options.command = Command::Tag;
  options.tag_parts.kernel = "5.15.0-119-generic";
  options.tag_parts.os = "ubuntu";
  options.tag_parts.os_version = "22.04";
  options.tag_parts.driver = "550.90.07";
  return options;
}

TEST(TagOfParts, IsAloneOnStandardOutput) {
  const Answer answer = tag_of_parts_command(whole());
  EXPECT_EQ(answer.exit, ExitCode::Fine);
  EXPECT_EQ(answer.out, "550-5.15.0-119-generic-ubuntu22.04\n");
  EXPECT_EQ(answer.err, "");
}

TEST(TagOfParts, TakesTheWholeVersionAndTheOperatorsRule) {
  Options options = whole();
  options.tag_parts.kernel = "5.14.0-427.13.1.el9_4.x86_64";
  options.tag_parts.os = "rocky";
  options.tag_parts.os_version = "9.4";
  options.tag_parts.driver_part = "version";
  EXPECT_EQ(tag_of_parts_command(options).out, "550.90.07-5.14.0-427.13.1.el9_4.x86_64-rocky9.4\n");
  options.tag_parts.operator_version = "v26.3";
  EXPECT_EQ(tag_of_parts_command(options).out, "550.90.07-5.14.0-427.13.1.el9_4.x86_64-rocky9\n");
}

TEST(TagOfParts, NamesEachMissingPartByItsFlag) {
  const std::vector<std::pair<std::optional<std::string> TagParts::*, std::string>> parts = {
      {&TagParts::kernel, "--kernel"},
      {&TagParts::os, "--os"},
      {&TagParts::os_version, "--os-version"},
      {&TagParts::driver, "--driver"}};
  for (const auto& [member, flag] : parts) {
    for (const auto& value : {std::optional<std::string>(), std::optional<std::string>("")}) {
      Options options = whole();
      options.tag_parts.*member = value;
      const Answer answer = tag_of_parts_command(options);
      EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
      EXPECT_EQ(answer.out, "");
      EXPECT_EQ(answer.err, "gpuskew: no tag: " + flag + " is missing\n");
    }
  }
}

TEST(TagOfParts, NamesAllThatIsMissingAtOnce) {
  Options options;
  options.command = Command::Tag;
  options.tag_parts.os = "ubuntu";
  EXPECT_EQ(tag_of_parts_command(options).err,
            "gpuskew: no tag: --kernel is missing; --os-version is missing; --driver is missing\n");
}

TEST(TagOfParts, NamesAPartThatDoesNotRead) {
  const std::vector<std::pair<std::optional<std::string> TagParts::*, std::pair<std::string, std::string>>> parts = {
      {&TagParts::kernel, {"--kernel", "5.15 generic"}},
      {&TagParts::driver, {"--driver", "550"}},
      {&TagParts::os_version, {"VERSION_ID", "22/04"}},
      {&TagParts::operator_version, {"--operator-version", "new"}},
      {&TagParts::driver_part, {"--driver-part", "major"}}};
  for (const auto& [member, named] : parts) {
    Options options = whole();
    options.tag_parts.*member = named.second;
    const Answer answer = tag_of_parts_command(options);
    EXPECT_EQ(answer.exit, ExitCode::NoAnswer) << named.second;
    EXPECT_EQ(answer.out, "");
    EXPECT_NE(answer.err.find(named.first), std::string::npos) << answer.err;
  }
}

TEST(TagOfParts, IsADocumentWhenAskedFor) {
  Options options = whole();
  options.format = Format::Json;
  EXPECT_EQ(Json::parse(tag_of_parts_command(options).out)["os"], "ubuntu22.04");
}

class NodeTagTest : public testing::Test {
 protected:
  NodeTagTest() { play_aggregator(server_); }

  Answer tag(const std::string& node, Format format = Format::Table) {
    ServerOptions to;
    to.url = server_.url();
    AggregatorSource source(ApiClient::open(to).value());
    Options options;
    options.command = Command::Tag;
    options.node = node;
    options.format = format;
    return node_tag_command(source, options);
  }

  HttpImposter server_;
};

TEST_F(NodeTagTest, IsAloneOnStandardOutput) {
  const Answer answer = tag("a100-07");
  EXPECT_EQ(answer.exit, ExitCode::Fine);
  EXPECT_EQ(answer.out, "550-5.15.0-122-generic-ubuntu22.04\n");
  EXPECT_EQ(answer.err, "");
}

TEST_F(NodeTagTest, HasItsNotesOnStandardError) {
  Json json = golden_json("node-gone.json");
  json["tag"]["notes"] = Json::array({"RT kernel"});
  server_.answer("/api/v1/nodes/a100-07", json.dump());
  EXPECT_EQ(tag("a100-07").out, "550-5.15.0-122-generic-ubuntu22.04\n");
  EXPECT_EQ(tag("a100-07").err, "gpuskew: note: RT kernel\n");
}

TEST_F(NodeTagTest, NamesTheFactThatIsMissingAndWhy) {
  const Answer answer = tag("t4-03");
  EXPECT_EQ(answer.exit, ExitCode::NoAnswer);
  EXPECT_EQ(answer.out, "");
  EXPECT_EQ(answer.err,
            "gpuskew: t4-03: no tag: driver version is unknown, because reading /sys/module/nvidia/version: permission "
            "denied\n");
}

TEST_F(NodeTagTest, OfNobodyIsNoAnswer) {
  EXPECT_EQ(tag("n9").exit, ExitCode::NoAnswer);
  EXPECT_EQ(tag("n9").out, "");
}

TEST_F(NodeTagTest, IsADocumentWhenAskedFor) {
  EXPECT_EQ(tag("a100-07", Format::Yaml).out.substr(0, 43), "text: \"550-5.15.0-122-generic-ubuntu22.04\"\n");
}

}  // namespace
}  // namespace gpuskew
