// The main promise: a kernel moved, the driver did not, and the node says so with everything that proves it.

#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/stack.h"

namespace gpuskew {
namespace {

constexpr std::string_view kCode = "gpu-gone-after-kernel-bump";
constexpr std::string_view kOldKernel = "5.15.0-119-generic";
constexpr std::string_view kNewKernel = "5.15.0-122-generic";
constexpr std::string_view kDriver = "550.90.07";
constexpr std::string_view kMissingImage = "550-5.15.0-122-generic-ubuntu22.04";
constexpr std::string_view kNewBoot = "22222222-2222-4222-8222-222222222222";
constexpr std::int64_t kJustNow = 5;

class GoneAfterBump : public testing::Test {
 protected:
  // The node while all was well, reported and seen.
  void run_healthy() {
    Process agent = stack_.start_agent(Stack::kNode, tree_);
    stack_.await_state("ok");
    agent.signal(SIGTERM);
    EXPECT_EQ(agent.wait(), 0);
  }

  // The healthy tree as the new kernel finds it when its module file was built but has not been loaded yet.
  void reboot_with_module_file(std::int64_t seconds_ago) {
    tree_.write("proc/sys/kernel/osrelease", std::string(kNewKernel) + "\n");
    const auto modules = tree_.path() / "lib/modules" / kNewKernel;
    std::filesystem::rename(tree_.path() / "lib/modules" / kOldKernel, modules);
    const Outcome made = run({GPUSKEW_SOURCE_DIR "/tests/support/make_module_file",
                              (modules / "updates/dkms/nvidia.ko").string(), "version=550.90.07", "license=NVIDIA",
                              "vermagic=" + std::string(kNewKernel) + " SMP mod_unload modversions "});
    ASSERT_EQ(made.code, 0) << made.err;
    tree_.unload_nvidia();
    tree_.reboot(kNewBoot, seconds_ago);
  }

  Stack stack_;
  HostTree tree_{kHealthy, stack_.directory() / "host"};
};

void expect_whole_story(const nlohmann::json& finding) {
  EXPECT_EQ(finding.at("severity"), "critical");
  EXPECT_EQ(finding.at("reboot_helps"), "no");
  EXPECT_FALSE(finding.at("reboot_why").get<std::string>().empty());
  EXPECT_FALSE(finding.at("next_step").get<std::string>().empty());
  const auto cause = finding.at("cause").get<std::string>();
  for (const std::string_view part : {kOldKernel, kNewKernel, kDriver}) {
    EXPECT_NE(cause.find(part), std::string::npos) << part << " in: " << cause;
  }
  const std::string evidence = evidence_of(finding);
  for (const std::string_view part : {kOldKernel, kNewKernel, kDriver}) {
    EXPECT_NE(evidence.find(part), std::string::npos) << part << " in: " << evidence;
  }
  EXPECT_NE(evidence.find("no nvidia module file for 5.15.0-122-generic"), std::string::npos) << evidence;
  for (const nlohmann::json& item : finding.at("evidence")) {
    EXPECT_FALSE(item.at("source").get<std::string>().empty()) << item;
    EXPECT_FALSE(item.at("at").get<std::string>().empty()) << item;
  }
}

TEST_F(GoneAfterBump, NamesBothKernelsTheLastDriverAndWhatIsMissing) {
  write_file(stack_.directory() / "matrix.csv", "driver_branch,kernel,os_tag\n550,5.15.0-119-generic,ubuntu22.04\n");
  stack_.configure("matrix:\n  file: " + (stack_.directory() / "matrix.csv").string() + "\n");
  stack_.start_aggregator();
  run_healthy();
  tree_.become(kGone);
  const Process agent = stack_.start_agent(Stack::kNode, tree_);
  const nlohmann::json finding = stack_.await_finding(kCode);
  expect_whole_story(finding);
  EXPECT_NE(evidence_of(finding).find(kMissingImage), std::string::npos) << evidence_of(finding);
  const nlohmann::json all = stack_.get_json("/api/v1/findings");
  EXPECT_EQ(all.at("findings").size(), 1U) << all;
}

TEST_F(GoneAfterBump, IsTheFirstThingTheCommandSays) {
  stack_.start_aggregator();
  run_healthy();
  tree_.become(kGone);
  const Process agent = stack_.start_agent(Stack::kNode, tree_);
  stack_.await_finding(kCode);
  for (const auto& outcome : {stack_.gpuskew({"findings"}), stack_.gpuskew({"explain", std::string(Stack::kNode)})}) {
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_NE(outcome.out.find(kCode), std::string::npos) << outcome.out;
  }
  const Outcome explained = stack_.gpuskew({"explain", std::string(Stack::kNode)});
  for (const std::string_view part : {kOldKernel, kNewKernel, kDriver}) {
    EXPECT_NE(explained.out.find(part), std::string::npos) << part << " in: " << explained.out;
  }
  EXPECT_EQ(stack_.gpuskew({"status"}).code, 1);
}

TEST_F(GoneAfterBump, IsProvedAlthoughTheAggregatorWasKilledInBetween) {
  stack_.start_aggregator();
  run_healthy();
  stack_.kill_aggregator();
  tree_.become(kGone);
  // Nor can the agent help: what proves it must be on the aggregator's disk.
  std::filesystem::remove_all(stack_.state_directory(Stack::kNode));
  Process agent = stack_.start_agent(Stack::kNode, tree_);
  stack_.start_aggregator();
  expect_whole_story(stack_.await_finding(kCode));
}

TEST_F(GoneAfterBump, StaysOpenSinceTheSameTimeOverAKilledAggregator) {
  stack_.start_aggregator();
  run_healthy();
  tree_.become(kGone);
  const Process agent = stack_.start_agent(Stack::kNode, tree_);
  const nlohmann::json before = stack_.await_finding(kCode);
  stack_.kill_aggregator();
  stack_.start_aggregator();
  EXPECT_EQ(stack_.await_finding(kCode).at("since"), before.at("since"));
}

TEST_F(GoneAfterBump, IsProvedAlthoughTheAgentLostItsStateDirectory) {
  stack_.start_aggregator();
  run_healthy();
  std::filesystem::remove_all(stack_.state_directory(Stack::kNode));
  tree_.become(kGone);
  const Process agent = stack_.start_agent(Stack::kNode, tree_);
  expect_whole_story(stack_.await_finding(kCode));
}

TEST_F(GoneAfterBump, IsProvedByTheAgentAloneWhenTheAggregatorLostItsHistory) {
  stack_.start_aggregator();
  run_healthy();
  stack_.kill_aggregator();
  for (const auto* file : {"history.db", "history.db-wal", "history.db-shm"}) {
    std::filesystem::remove(stack_.directory() / file);
  }
  tree_.become(kGone);
  stack_.start_aggregator();
  const Process agent = stack_.start_agent(Stack::kNode, tree_);
  expect_whole_story(stack_.await_finding(kCode));
}

TEST_F(GoneAfterBump, IsNotSaidInsideTheGraceWhileTheModuleFileIsThere) {
  stack_.start_aggregator();
  run_healthy();
  reboot_with_module_file(kJustNow);
  const Process agent = stack_.start_agent(Stack::kNode, tree_);
  stack_.await_state("starting");
  EXPECT_TRUE(stack_.node().at("findings").empty()) << stack_.node();
  EXPECT_EQ(stack_.gpuskew({"findings"}).code, 0);
}

TEST_F(GoneAfterBump, IsSaidByTimeAloneWhenTheGraceEnds) {
  stack_.configure("judge:\n  boot_grace: 8s\n");
  stack_.start_aggregator();
  run_healthy();
  reboot_with_module_file(0);
  stack_.report_once(Stack::kNode, tree_);
  const nlohmann::json finding = stack_.await_finding(kCode);
  EXPECT_EQ(finding.at("reboot_helps"), "unknown");
  const std::string history = stack_.get("/api/v1/history/" + std::string(Stack::kNode));
  EXPECT_NE(history.find("starting"), std::string::npos) << "it was inside its grace first: " << history;
}

TEST_F(GoneAfterBump, AlarmsAtOnceWhenNothingOnTheNodeCanLoadADriver) {
  stack_.start_aggregator();
  run_healthy();
  tree_.become(kGone);
  tree_.reboot(kNewBoot, kJustNow);
  stack_.report_once(Stack::kNode, tree_);
  expect_whole_story(stack_.finding(kCode));
}

TEST_F(GoneAfterBump, IsInTheHistoryWithItsEnd) {
  stack_.start_aggregator();
  run_healthy();
  tree_.become(kGone);
  stack_.report_once(Stack::kNode, tree_);
  tree_.become(kHealthy);
  stack_.report_once(Stack::kNode, tree_);
  EXPECT_TRUE(stack_.finding(kCode).is_null());
  const Outcome history = stack_.gpuskew({"history", std::string(Stack::kNode), "-o", "json"});
  ASSERT_EQ(history.code, 0) << history.err;
  std::string kinds;
  const nlohmann::json answer = nlohmann::json::parse(history.out);
  for (const nlohmann::json& transition : answer.at("transitions")) {
    kinds += transition.at("kind").get<std::string>() + " ";
  }
  for (const auto* kind : {"finding-opened", "finding-resolved", "kernel", "driver", "boot"}) {
    EXPECT_NE(kinds.find(kind), std::string::npos) << kind << " in: " << kinds;
  }
}

}  // namespace
}  // namespace gpuskew
