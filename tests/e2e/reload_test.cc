// SIGHUP takes what can change at run time; what is broken is logged, and the old stays.

#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/stack.h"

namespace gpuskew {
namespace {

const std::string kHeader = "driver_branch,kernel,os_tag\n";
const std::string kRow = "550,5.15.0-119-generic,ubuntu22.04\n";

class Reload : public testing::Test {
 protected:
  Reload() {
    write_file(matrix_, kHeader);
    stack_.configure(matrix_section());
    stack_.start_aggregator();
    stack_.report_once(Stack::kNode, tree_);
  }

  std::string matrix_section() const { return "matrix:\n  file: " + matrix_.string() + "\n"; }
  void reload() { stack_.aggregator().signal(SIGHUP); }
  int audit() { return stack_.gpuskew({"audit"}).code; }

  Stack stack_;
  HostTree tree_{kHealthy, stack_.directory() / "host"};
  std::filesystem::path matrix_ = stack_.directory() / "matrix.csv";
};

TEST_F(Reload, TakesAnEditedMatrix) {
  EXPECT_EQ(audit(), 1);
  write_file(matrix_, kHeader + kRow);
  reload();
  eventually("the audit is fine", [&] { return audit() == 0; });
  EXPECT_TRUE(stack_.finding("image-missing").is_null());
  write_file(matrix_, kHeader);
  reload();
  eventually("the audit misses the image", [&] { return audit() == 1; });
  stack_.await_finding("image-missing");
}

TEST_F(Reload, KeepsTheOldMatrixWhenTheNewOneIsBroken) {
  write_file(matrix_, kHeader + kRow);
  reload();
  eventually("the audit is fine", [&] { return audit() == 0; });
  const std::size_t mark = stack_.aggregator().mark();
  write_file(matrix_, "this is no matrix\n");
  reload();
  stack_.aggregator().wait_for_line("matrix.csv", mark);
  EXPECT_EQ(audit(), 0);
  EXPECT_FALSE(stack_.get_json("/api/v1/status").at("matrix").at("error").is_null());
}

TEST_F(Reload, KeepsTheOldConfigurationWhenTheNewOneIsBroken) {
  const std::size_t mark = stack_.aggregator().mark();
  stack_.configure(matrix_section() + "judge:\n  boot_grce: 5m\n");
  reload();
  const std::string line = stack_.aggregator().wait_for_line("boot_grce", mark);
  EXPECT_NE(line.find("aggregator.yaml"), std::string::npos) << line;
  EXPECT_EQ(audit(), 1) << "still serving";
}

TEST_F(Reload, TakesANewTagRule) {
  stack_.configure(matrix_section() + "tag:\n  driver_part: version\n");
  reload();
  eventually("the tag holds the whole version", [&] {
    return stack_.gpuskew({"tag", std::string(Stack::kNode)}).out == "550.90.07-5.15.0-119-generic-ubuntu22.04\n";
  });
}

TEST_F(Reload, AnAgentGoesOnAfterItsReload) {
  Process agent = stack_.start_agent(Stack::kNode, tree_);
  agent.wait_for_line("connected to the aggregator");
  const std::size_t mark = agent.mark();
  agent.signal(SIGHUP);
  agent.wait_for_line("reload", mark);
  EXPECT_TRUE(agent.is_running());
  agent.signal(SIGTERM);
  EXPECT_EQ(agent.wait(), 0);
}

}  // namespace
}  // namespace gpuskew
