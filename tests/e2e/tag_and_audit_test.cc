// A tag is whole or it is an error that names the part: never a wrong tag. The audit's lines and exit codes.

#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/stack.h"

namespace gpuskew {
namespace {

const std::string kNode(Stack::kNode);

class TagAndAudit : public testing::Test {
 protected:
  void report(bool with_matrix, std::string_view rows = "") {
    if (with_matrix) {
      const auto matrix = stack_.directory() / "matrix.csv";
      write_file(matrix, "driver_branch,kernel,os_tag\n" + std::string(rows));
      stack_.configure("matrix:\n  file: " + matrix.string() + "\n");
    }
    stack_.start_aggregator();
    stack_.report_once(kNode, tree_);
  }

  void expect_no_tag(std::string_view part) {
    report(false);
    const Outcome outcome = stack_.gpuskew({"tag", kNode});
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }

  Stack stack_;
  HostTree tree_{kHealthy, stack_.directory() / "host"};
};

TEST_F(TagAndAudit, PrintsTheTagOfAWholeNode) {
  report(false);
  const Outcome outcome = stack_.gpuskew({"tag", kNode});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "550-5.15.0-119-generic-ubuntu22.04\n");
}

TEST_F(TagAndAudit, NamesAMissingVersionId) {
  tree_.write("etc/os-release", "ID=ubuntu\nNAME=Ubuntu\n");
  expect_no_tag("VERSION_ID");
}

TEST_F(TagAndAudit, NamesAMissingOs) {
  tree_.remove("etc/os-release");
  tree_.remove("usr/lib/os-release");
  expect_no_tag("os");
}

TEST_F(TagAndAudit, NamesAMissingKernel) {
  tree_.remove("proc/sys/kernel/osrelease");
  expect_no_tag("kernel");
}

TEST_F(TagAndAudit, NamesAMissingDriver) {
  tree_.unload_nvidia();
  expect_no_tag("driver");
}

TEST_F(TagAndAudit, AnUnknownNodeIsNoAnswer) {
  report(false);
  const Outcome outcome = stack_.gpuskew({"tag", "gpu-node-99"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("gpu-node-99"), std::string::npos) << outcome.err;
}

TEST_F(TagAndAudit, AnAggregatorThatIsNotThereIsNoAnswer) {
  stack_.start_aggregator();
  stack_.kill_aggregator();
  const Outcome outcome = stack_.gpuskew({"status"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find(stack_.url()), std::string::npos) << outcome.err;
}

TEST_F(TagAndAudit, AuditSaysOkWhenEveryImageExists) {
  report(true, "550,5.15.0-119-generic,ubuntu22.04\n");
  const Outcome outcome = stack_.gpuskew({"audit"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "OK\n");
}

TEST_F(TagAndAudit, AuditNamesNodeAndMissingImage) {
  report(true, "550,5.15.0-116-generic,ubuntu22.04\n");
  const Outcome outcome = stack_.gpuskew({"audit"});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(outcome.out, kNode + " MISSING 550-5.15.0-119-generic-ubuntu22.04\n");
}

TEST_F(TagAndAudit, AuditWithoutAMatrixIsNoAnswer) {
  report(false);
  const Outcome outcome = stack_.gpuskew({"audit"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("matrix"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace gpuskew
