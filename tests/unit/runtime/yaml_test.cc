#include "runtime/yaml.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gpuskew {
namespace {

constexpr std::string_view kGood = R"(# a comment
agents:
  listen: 0.0.0.0:7481
  max_connections: 60000
  key: /etc/gpuskew/key.pem
history: {retention: 90d}
allow_anonymous: true
log: {level: debug}
)";

struct Config {
  std::string listen = "default";
  std::int64_t max_connections = 1;
  std::filesystem::path key;
  Duration retention{};
  bool allow_anonymous = false;
  std::string level = "info";
};

Result<Config> read(std::string_view text) {
  Config config;
  auto root = YamlMap::parse("a.yaml", text);
  if (!root) {
    return tl::unexpected(root.error());
  }
  YamlMap agents = root->map("agents");
  agents.text("listen", config.listen);
  agents.integer("max_connections", 1, 100'000, config.max_connections);
  agents.path("key", config.key);
  root->map("history").duration("retention", std::chrono::hours(1), std::chrono::hours(24 * 365), config.retention);
  root->boolean("allow_anonymous", config.allow_anonymous);
  root->map("log").choice("level", {"error", "warning", "info", "debug"}, config.level);
  if (auto done = root->finish(); !done) {
    return tl::unexpected(done.error());
  }
  return config;
}

std::string error_of(std::string_view text) {
  const auto config = read(text);
  return config ? "no error" : config.error().what;
}

TEST(Yaml, ReadsEveryKind) {
  const auto config = read(kGood);
  ASSERT_TRUE(config) << config.error().what;
  EXPECT_EQ(config->listen, "0.0.0.0:7481");
  EXPECT_EQ(config->max_connections, 60'000);
  EXPECT_EQ(config->key, "/etc/gpuskew/key.pem");
  EXPECT_EQ(config->retention, std::chrono::hours(24 * 90));
  EXPECT_TRUE(config->allow_anonymous);
  EXPECT_EQ(config->level, "debug");
}

TEST(Yaml, KeepsDefaultsForAnEmptyFileAndForMapsWithoutValue) {
  for (const std::string_view text : {"", "# nothing\n", "---\n", "agents:\n", "agents: {}\n"}) {
    const auto config = read(text);
    ASSERT_TRUE(config) << text << config.error().what;
    EXPECT_EQ(config->listen, "default");
  }
}

TEST(Yaml, NamesLineAndKeyOfAMisspeltSetting) {
  EXPECT_EQ(error_of("agents:\n  listen: x\n  max_conections: 5\n"),
            "a.yaml:3: agents.max_conections: no such setting");
  EXPECT_EQ(error_of("\nagnets: {}\n"), "a.yaml:2: agnets: no such setting");
}

TEST(Yaml, RefusesWrongTypesAndRanges) {
  EXPECT_EQ(error_of("agents: {listen: [a]}"), "a.yaml:1: agents.listen: expected one value, not a list or a map");
  EXPECT_EQ(error_of("agents:\n  listen:\n"), "a.yaml:2: agents.listen: has no value");
  EXPECT_EQ(error_of("agents: text"), "a.yaml:1: agents: expected a map of keys");
  EXPECT_EQ(error_of("agents: {max_connections: 0}"),
            "a.yaml:1: agents.max_connections: '0' is not a whole number from 1 to 100000");
  EXPECT_EQ(error_of("agents: {max_connections: 5x}"),
            "a.yaml:1: agents.max_connections: '5x' is not a whole number from 1 to 100000");
  EXPECT_EQ(error_of("allow_anonymous: yes"), "a.yaml:1: allow_anonymous: 'yes' is not true or false");
  EXPECT_EQ(error_of("log: {level: loud}"), "a.yaml:1: log.level: 'loud' is not one of error, warning, info, debug");
  EXPECT_EQ(error_of("agents: {key: ''}"), "a.yaml:1: agents.key: is not a path");
  EXPECT_EQ(error_of("history: {retention: 1s}"), "a.yaml:1: history.retention: '1s' is not from 1h to 365d");
  EXPECT_EQ(error_of("history: {retention: soon}").substr(0, 29), "a.yaml:1: history.retention: ");
}

TEST(Yaml, RefusesAKeyThatIsThereTwice) {
  EXPECT_EQ(error_of("log: {level: info}\nlog: {level: debug}\n"), "a.yaml:2: log: is there twice");
}

TEST(Yaml, RefusesATopThatIsNoMapAndASecondDocument) {
  EXPECT_EQ(error_of("- a\n"), "a.yaml:1: expected 'key: value' lines");
  EXPECT_EQ(error_of("log: {}\n---\nlog: {}\n"), "a.yaml:2: a second document begins; only one is read");
}

TEST(Yaml, NamesTheLineOfASyntaxError) {
  EXPECT_EQ(error_of("log: {}\nagents: [\n").substr(0, 7), "a.yaml:");
  EXPECT_NE(error_of("log: {}\nagents: [\n"), "no error");
}

TEST(Yaml, ReportsTheFirstErrorOnly) {
  EXPECT_EQ(error_of("allow_anonymous: 1\nagents: {max_connections: x}\n"),
            "a.yaml:2: agents.max_connections: 'x' is not a whole number from 1 to 100000");
}

TEST(Yaml, ReportsARuleOfTheCallerAtTheKey) {
  auto root = YamlMap::parse("a.yaml", "\napi: {listen: x}\n");
  ASSERT_TRUE(root);
  YamlMap api = root->map("api");
  EXPECT_TRUE(api.has("listen"));
  EXPECT_FALSE(api.has("certificate"));
  api.report("certificate", "is required unless listen is a loopback address");
  EXPECT_EQ(root->finish().error().what, "a.yaml:2: api.certificate: is required unless listen is a loopback address");
}

TEST(Yaml, SurvivesDeepNestingAndABombOfAliases) {
  EXPECT_NE(error_of("log: " + std::string(100'000, '[')), "no error");
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level < 30; ++level) {
    const std::string last = "*a" + std::to_string(level - 1);
    bomb += "a" + std::to_string(level) + ": &a" + std::to_string(level) + " [" + last + ", " + last + "]\n";
  }
  EXPECT_EQ(error_of(bomb), "a.yaml:1: a0: no such setting");
}

TEST(Yaml, EndsOnTextThatTheParserDoesNotConsume) {
  EXPECT_NE(error_of(", x"), "no error");
  EXPECT_NE(error_of("]"), "no error");
}

TEST(Yaml, RefusesTextOverTheLimit) {
  const auto root = YamlMap::parse("a.yaml", std::string(kMaxYamlBytes + 1, '#'));
  ASSERT_FALSE(root);
  EXPECT_EQ(root.error().code, ErrorCode::TooLarge);
}

RC_GTEST_PROP(Yaml, NeverThrowsOnArbitraryText, (const std::string& text)) {
  static_cast<void>(error_of(text));
  static_cast<void>(error_of("agents: {listen: " + text));
}

}  // namespace
}  // namespace gpuskew
