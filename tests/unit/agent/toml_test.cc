#include "agent/probes/toml.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

const TomlSetting* find(const std::vector<TomlSetting>& settings, const TomlPath& path) {
  const auto found =
      std::find_if(settings.begin(), settings.end(), [&path](const auto& each) { return each.path == path; });
  return found == settings.end() ? nullptr : &*found;
}

TEST(Toml, IsAListOfTablesAndValuesWithTheirLines) {
  const auto settings = parse_toml("config.toml",
                                   "version = 2\nimports = ['a', \"b\"]\n\n[plugins.'io.containerd.grpc.v1.cri']\n"
                                   "enable_cdi = true\nratio = 0.5\nports = [1, 2]\n[a.b]\n");
  ASSERT_TRUE(settings) << settings.error().what;
  EXPECT_EQ(std::get<std::int64_t>(find(*settings, {"version"})->value), 2);
  EXPECT_EQ(std::get<std::vector<std::string>>(find(*settings, {"imports"})->value),
            (std::vector<std::string>{"a", "b"}));
  const TomlSetting* cdi = find(*settings, {"plugins", "io.containerd.grpc.v1.cri", "enable_cdi"});
  ASSERT_NE(cdi, nullptr);
  EXPECT_TRUE(std::get<bool>(cdi->value));
  EXPECT_EQ(cdi->line, 5U);
  EXPECT_TRUE(
      std::holds_alternative<TomlOther>(find(*settings, {"plugins", "io.containerd.grpc.v1.cri", "ports"})->value));
  EXPECT_TRUE(find(*settings, {"a"})->is_table());
  EXPECT_TRUE(find(*settings, {"a", "b"})->is_table());
}

TEST(Toml, OfNothingIsAnEmptyList) {
  EXPECT_TRUE(parse_toml("f", "")->empty());
  EXPECT_TRUE(parse_toml("f", "# only words ................................................\n")->empty());
}

TEST(Toml, NamesTheFileAndLineOfWhatItCanNotRead) {
  for (const std::string bad : {"a = 1\nb = = 2\n", "a = 1\na = 2\n", "a = 1\n[a]\n", "a = 1\n{{ template }}\n"}) {
    const auto settings = parse_toml("/etc/containerd/config.toml", bad);
    ASSERT_FALSE(settings) << bad;
    EXPECT_EQ(settings.error().code, ErrorCode::Malformed);
    EXPECT_TRUE(settings.error().what.starts_with("/etc/containerd/config.toml:2: not TOML: "))
        << settings.error().what;
  }
}

TEST(Toml, RefusesBracketsWithoutAKeyInEveryBuild) {
  for (const char* bad : {"[[[", "[[[a]]]", "[", "[]", "[[]]", "[.]", "= 1", ". = 1", "a.", "a = ", "[a", "[[a]"}) {
    EXPECT_EQ(parse_toml("f", bad).error().code, ErrorCode::Malformed) << bad;
  }
}

TEST(Toml, RefusesNulBytesAndBrokenText) {
  EXPECT_EQ(parse_toml("f", std::string("a = '\0'\n", 8)).error().code, ErrorCode::Malformed);
  EXPECT_EQ(parse_toml("f", std::string(100, '\0')).error().code, ErrorCode::Malformed);
  EXPECT_EQ(parse_toml("f", "a = \"\xff\xfe\"\n").error().code, ErrorCode::Malformed);
}

TEST(Toml, RefusesWhatIsPastItsLimits) {
  EXPECT_EQ(parse_toml("f", std::string(kMaxTomlBytes + 1, '\n')).error().code, ErrorCode::TooLarge);
  std::string many;
  for (std::size_t at = 0; at <= kMaxTomlSettings; ++at) {
    many += "k" + std::to_string(at) + " = 1\n";
  }
  EXPECT_EQ(parse_toml("f", many).error().code, ErrorCode::TooLarge);
}

TEST(Toml, RefusesEndlessKeysAndNestingInsteadOfFollowingThem) {
  std::string dotted = "a = 1\n[b";
  for (int part = 0; part < 20'000; ++part) {
    dotted += ".b";
  }
  const auto endless = parse_toml("f", dotted + "]\n");
  EXPECT_EQ(endless.error().what, "f:2: a key of more than 32 parts");
  EXPECT_FALSE(parse_toml("f", "a = " + std::string(100'000, '[')));
  std::string nested = "a = ";
  for (int level = 0; level < 3000; ++level) {
    nested += "[\n{ b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b = ";
  }
  EXPECT_FALSE(parse_toml("f", nested));
}

TEST(Toml, DoesNotCountDotsInQuotesAndComments) {
  const std::string dots(200, '.');
  EXPECT_TRUE(parse_toml("f", "a = \"" + dots + "\\\"" + dots + "\"\nb = '" + dots + "'\n# " + dots + "\n"));
}

TEST(TomlPath, ReadsAsAPersonWritesIt) {
  EXPECT_EQ(to_text({"plugins", "io.containerd.grpc.v1.cri", "containerd", "runtimes", "nvidia-cdi"}),
            "plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.nvidia-cdi");
  EXPECT_EQ(to_text({"a", "", "b\x1b[31m"}), "a.''.'b?[31m'");
}

}  // namespace
}  // namespace gpuskew
