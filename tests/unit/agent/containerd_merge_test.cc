// What the merge says of each shape, by each way of merging. The handlers, the default and CDI are what the real
// `containerd config dump` of 1.6.20 (before), 2.1.4 (merged) and 2.4.2 (each) printed for the same files.

#include "agent/probes/containerd_merge.h"

#include <algorithm>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/agent/containerd_shapes.h"

namespace gpuskew {
namespace {

struct Merged {
  std::vector<ContainerdFile> files;
  Result<ContainerdMerge> merge = fail(ErrorCode::Internal, "not merged");
};

// The files in the order of the shape, which is the order in which they are imported.
Merged merged(const ContainerdShape& shape, ContainerdRules rules) {
  Merged made;
  for (const auto& [path, text] : shape.files) {
    made.files.push_back(parse_containerd_file(path, text).value());
  }
  made.merge = merge_containerd(made.files, rules);
  return made;
}

// "nvidia nvidia-cdi | runc | cdi off", with what was lost behind it; "refused".
std::string meaning(const ContainerdShape& shape, ContainerdRules rules) {
  const Merged made = merged(shape, rules);
  if (!made.merge) {
    return "refused";
  }
  std::string text;
  for (const RuntimeHandler& handler : made.merge->handlers) {
    text += handler.name + " ";
  }
  text += "| " + made.merge->default_runtime;
  text += made.merge->enable_cdi ? (*made.merge->enable_cdi ? " | cdi on" : " | cdi off") : "";
  text += made.merge->cri_disabled ? " | disabled" : "";
  for (const ConfigConflict& conflict : made.merge->conflicts) {
    text += " | " + conflict.kept + " over " + conflict.lost + ": " + conflict.effect;
  }
  return text;
}

ContainerdShape shape_named(std::string_view name) {
  const auto shapes = containerd_shapes();
  const auto found =
      std::find_if(shapes.begin(), shapes.end(), [name](const auto& shape) { return shape.name == name; });
  EXPECT_NE(found, shapes.end()) << name;
  return *found;
}

struct Expectation {
  const char* shape;
  const char* before;  ///< 1.6
  const char* merged;  ///< 2.0 to 2.2
  const char* each;    ///< 2.3 and later
};

class MergeOfShape : public testing::TestWithParam<Expectation> {};

TEST_P(MergeOfShape, IsWhatContainerdMakesOfIt) {
  const ContainerdShape shape = shape_named(GetParam().shape);
  EXPECT_EQ(meaning(shape, ContainerdRules::ReplaceAnyVersion), GetParam().before);
  EXPECT_EQ(meaning(shape, ContainerdRules::MigrateMerged), GetParam().merged);
  EXPECT_EQ(meaning(shape, ContainerdRules::MigrateEach), GetParam().each);
}

constexpr Expectation kExpectations[] = {
    {"NothingSet", "| runc", "| runc", "| runc"},
    {"MainFileOfVersion2", "nvidia | nvidia", "nvidia | nvidia", "nvidia | nvidia"},
    {"MainFileOfVersion1", "nvidia | runc", "| runc | config.toml over config.toml: runtime nvidia", "nvidia | runc"},
    {"Version1WithTheNameOfVersion2", "| runc | config.toml over config.toml: runtime nvidia",
     "| runc | config.toml over config.toml: runtime nvidia", "nvidia | runc"},
    {"MainFileOfVersion3", "| runc | config.toml over config.toml: runtime nvidia", "nvidia | runc", "nvidia | runc"},
    {"Version3WithTheNameOfVersion2", "nvidia | runc", "| runc | config.toml over config.toml: runtime nvidia",
     "nvidia | runc"},
    {"DropInByAnAbsolutePattern", "nvidia | nvidia", "nvidia | nvidia", "nvidia | nvidia"},
    {"DropInThatReplacesTheTable",
     "| runc | conf.d/mirrors.toml over config.toml: runtime nvidia, default_runtime_name", "nvidia | nvidia",
     "nvidia | nvidia"},
    {"NvidiaDropInThatReplacesTheTable",
     "nvidia | runc | conf.d/99-nvidia.toml over config.toml: enable_cdi, sandbox_image", "nvidia | runc | cdi on",
     "nvidia | runc | cdi on"},
    {"TwoDropInsWithARuntimeEach", "nvidia-legacy | runc | conf.d/20-b.toml over conf.d/10-a.toml: runtime nvidia-cdi",
     "nvidia-cdi nvidia-legacy | runc", "nvidia-cdi nvidia-legacy | runc"},
    {"LaterFileTurnsTheDefaultBack",
     "| runc | conf.d/z.toml over config.toml: runtime nvidia, runtime runc | conf.d/z.toml over config.toml: "
     "default_runtime_name",
     "nvidia runc | runc | conf.d/z.toml over config.toml: default_runtime_name",
     "nvidia runc | runc | conf.d/z.toml over config.toml: default_runtime_name"},
    {"CdiTurnedOffLater",
     "| runc | cdi off | conf.d/z.toml over config.toml: runtime nvidia | conf.d/z.toml over config.toml: enable_cdi",
     "nvidia | runc | cdi off | conf.d/z.toml over config.toml: enable_cdi",
     "nvidia | runc | cdi off | conf.d/z.toml over config.toml: enable_cdi"},
    {"DropInWithoutAVersion", "nvidia | runc", "nvidia | runc", "nvidia | runc"},
    {"Version2MainAndVersion3DropIn", "nvidia | runc | conf.d/n.toml over conf.d/n.toml: runtime nvidia-cdi",
     "nvidia-cdi | runc | conf.d/n.toml over config.toml: runtime nvidia", "nvidia nvidia-cdi | runc"},
    {"Version3MainAndVersion2DropIn", "nvidia | runc | conf.d/n.toml over config.toml: runtime nvidia-cdi",
     "nvidia-cdi | runc | conf.d/n.toml over conf.d/n.toml: runtime nvidia", "nvidia nvidia-cdi | runc"},
    {"DisabledInVersion1", "| runc | disabled", "| runc | disabled", "| runc | disabled"},
    {"ShortNameInVersion2", "refused", "| runc | config.toml over config.toml: runtime nvidia",
     "| runc | config.toml over config.toml: runtime nvidia"},
    {"SingleQuotesAndDottedKeys", "nvidia | runc", "nvidia | runc", "nvidia | runc"},
    {"AnotherNameWithTheBinary", "gpu with.dot | runc", "gpu with.dot | runc", "gpu with.dot | runc"},
};

INSTANTIATE_TEST_SUITE_P(Shapes, MergeOfShape, testing::ValuesIn(kExpectations),
                         [](const auto& expectation) { return std::string(expectation.param.shape); });

std::vector<ConfigConflict> conflicts(std::vector<std::pair<std::string, std::string>> files, ContainerdRules rules) {
  const Merged made = merged({"", std::move(files)}, rules);
  EXPECT_TRUE(made.merge) << made.merge.error().what;
  return made.merge ? made.merge->conflicts : std::vector<ConfigConflict>();
}

TEST(ContainerdMerge, NamesAConflictByFileAndKey) {
  const ContainerdShape shape = shape_named("DropInThatReplacesTheTable");
  EXPECT_EQ(conflicts(shape.files, ContainerdRules::Replace),
            (std::vector<ConfigConflict>{{"plugins.'io.containerd.grpc.v1.cri'", "conf.d/mirrors.toml", "config.toml",
                                          "runtime nvidia, default_runtime_name"}}));
  EXPECT_EQ(conflicts(shape_named("LaterFileTurnsTheDefaultBack").files, ContainerdRules::MigrateEach),
            (std::vector<ConfigConflict>{{"plugins.'io.containerd.grpc.v1.cri'.containerd.default_runtime_name",
                                          "conf.d/z.toml", "config.toml", "default_runtime_name"}}));
}

TEST(ContainerdMerge, HasNoConflictWhereTheLaterTableSaysAllThatTheEarlierSaid) {
  const std::string all = "version = 2\n" + nvidia_runtime(kV2) + nvidia_runtime(kV2, "nvidia-cdi");
  EXPECT_TRUE(conflicts({{"a", "version = 2\n" + nvidia_runtime(kV2)}, {"b", all}}, ContainerdRules::Replace).empty());
}

TEST(ContainerdMerge, HasNoConflictWithoutNvidia) {
  const std::string cri = "version = 2\n[plugins." + std::string(kV2) + "]\n";
  EXPECT_TRUE(conflicts({{"a", cri + "sandbox_image = 'x'\n"}, {"b", cri + "stats_collect_period = 1\n"}},
                        ContainerdRules::Replace)
                  .empty());
}

TEST(ContainerdMerge, HasNoConflictWhereATableIsWrittenUnderBothNames) {
  const std::string both = "version = 2\n" + nvidia_runtime(kV2) + nvidia_runtime(kV3);
  for (const auto rules : {ContainerdRules::Replace, ContainerdRules::MigrateMerged, ContainerdRules::MigrateEach}) {
    EXPECT_TRUE(conflicts({{"a", both}}, rules).empty());
  }
}

TEST(ContainerdMerge, HasNoConflictWhereALastFilePutsItBack) {
  const std::string table = "version = 3\n[plugins." + std::string(kV3) + ".containerd]\n";
  const std::string nvidia = table + "default_runtime_name = 'nvidia'\n";
  EXPECT_TRUE(conflicts({{"a", nvidia}, {"b", table + "default_runtime_name = 'runc'\n"}, {"c", nvidia}},
                        ContainerdRules::MigrateMerged)
                  .empty());
}

TEST(ContainerdMerge, ToldByAVersionThatIsNotExactTriesTheWaysItMayBe) {
  EXPECT_EQ(possible_rules(parse_containerd_version("1.6.20")).size(), 1U);
  EXPECT_EQ(possible_rules(parse_containerd_version("1.7.12")).size(), 2U);
  EXPECT_EQ(possible_rules(parse_containerd_version("2.1.4")),
            std::vector<ContainerdRules>{ContainerdRules::MigrateMerged});
  EXPECT_EQ(possible_rules(parse_containerd_version("2.3.0")),
            std::vector<ContainerdRules>{ContainerdRules::MigrateEach});
  EXPECT_EQ(possible_rules({2, 0, ""}).size(), 2U);
  EXPECT_EQ(possible_rules({}).size(), 3U);
}

TEST(ContainerdFile, DefinesAHandlerUnderAnyNameOfThePlugin) {
  for (const std::string_view plugin : {std::string_view("cri"), kV2, kV3}) {
    ContainerdFile file;
    file.settings = parse_toml("f", nvidia_runtime(plugin)).value();
    EXPECT_TRUE(defines_nvidia_handler(file)) << plugin;
    EXPECT_TRUE(mentions_nvidia(file));
  }
  ContainerdFile other;
  other.settings = parse_toml("f", "[plugins.x.containerd.runtimes.nvidia]\n# nvidia-container-runtime\n").value();
  EXPECT_FALSE(defines_nvidia_handler(other));
}

}  // namespace
}  // namespace gpuskew
