#include "aggregator/cli/source_flags.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

using Arguments = std::vector<std::string>;

Options options_of(const Arguments& arguments, const EnvVars& environment = {}) {
  const auto parsed = parse_command_line(arguments, environment);
  if (const auto* answer = std::get_if<Answer>(&parsed)) {
    ADD_FAILURE() << answer->err;
    return {};
  }
  return std::get<Options>(parsed);
}

std::string complaint(const Arguments& arguments, const EnvVars& environment = {}) {
  const auto parsed = parse_command_line(arguments, environment);
  const auto* answer = std::get_if<Answer>(&parsed);
  return answer == nullptr ? "" : answer->err;
}

const EnvVars kKubeconfig = {{"KUBECONFIG", "/a:/b"}, {"HOME", "/home/ops"}};

TEST(SourceFlags, AnAggregatorIsTheDefault) {
  EXPECT_FALSE(options_of({"nodes"}).cluster);
  EXPECT_FALSE(options_of({"nodes"}, {{"KUBECONFIG", ""}}).cluster);
}

TEST(SourceFlags, KubeconfigNamesACluster) {
  const auto cluster = options_of({"--kubeconfig", "/my:config", "--context", "prod", "nodes"}, kKubeconfig).cluster;
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->kubeconfig, "/my:config");
  EXPECT_TRUE(cluster->is_one_file);
  EXPECT_EQ(cluster->context, "prod");
}

TEST(SourceFlags, KubeconfigOfTheEnvironmentCountsOnlyWhereNoAggregatorIsNamed) {
  const auto cluster = options_of({"nodes"}, kKubeconfig).cluster;
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->kubeconfig, "/a:/b");
  EXPECT_FALSE(cluster->is_one_file);
  EXPECT_EQ(cluster->home, "/home/ops");
  EXPECT_FALSE(options_of({"--server", "http://a", "nodes"}, kKubeconfig).cluster);
  EnvVars both = kKubeconfig;
  both["GPUSKEW_SERVER"] = "http://a";
  EXPECT_FALSE(options_of({"nodes"}, both).cluster);
  EXPECT_TRUE(options_of({"--kubeconfig", "/c", "nodes"}, both).cluster) << "a flag wins";
  EXPECT_TRUE(options_of({"--context", "prod", "nodes"}, both).cluster);
}

TEST(SourceFlags, FlagsOfBothAreAnError) {
  EXPECT_NE(complaint({"--kubeconfig", "/c", "--server", "http://a", "nodes"}).find("--server is for an aggregator"),
            std::string::npos);
  EXPECT_NE(complaint({"--context", "c", "--token-file", "/t", "nodes"}).find("--token-file is for an aggregator"),
            std::string::npos);
  EXPECT_NE(complaint({"--kubeconfig", "", "nodes"}).find("--kubeconfig names no file"), std::string::npos);
}

TEST(SourceFlags, MatrixAndTagRulesAreForACluster) {
  EXPECT_EQ(options_of({"audit", "--kubeconfig", "/c", "--matrix", "/m.csv"}).matrix, "/m.csv");
  EXPECT_NE(complaint({"audit", "--matrix", "/m.csv"}).find("--matrix is for a cluster"), std::string::npos);
  EXPECT_NE(complaint({"audit", "--driver-part", "version"}).find("--driver-part and --operator-version are for"),
            std::string::npos);
  EXPECT_EQ(options_of({"tag", "n1", "--kubeconfig", "/c", "--driver-part", "version"}).tag_parts.driver_part,
            "version");
  EXPECT_NE(complaint({"tag", "n1", "--driver-part", "version"}).find("--driver-part"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew
