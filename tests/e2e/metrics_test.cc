// /metrics, and the alert rules that are shipped for it: a rule on a metric that does not exist never fires.

#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/stack.h"

namespace gpuskew {
namespace {

std::set<std::string> words_beginning_with_gpuskew(std::string_view text) {
  std::set<std::string> names;
  const std::string_view kNameCharacters = "abcdefghijklmnopqrstuvwxyz0123456789_";
  for (std::size_t at = 0; (at = text.find("gpuskew_", at)) != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_not_of(kNameCharacters, at), text.size());
    names.emplace(text.substr(at, end - at));
    at = end;
  }
  return names;
}

// The rules' expressions only: names in annotations are prose.
std::string expressions_of(const std::string& rules) {
  std::istringstream lines(rules);
  std::string expressions;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t indent = line.find_first_not_of(' ');
    if (line.find("expr:") != std::string::npos) {
      inside = true;
      expressions += line + "\n";
    } else if (inside && indent != std::string::npos && indent > 10) {
      expressions += line + "\n";
    } else {
      inside = false;
    }
  }
  return expressions;
}

class Metrics : public testing::Test {
 protected:
  Stack stack_;
  HostTree tree_{kHealthy, stack_.directory() / "host"};
};

TEST_F(Metrics, SayWhichNodeHasWhichFinding) {
  stack_.start_aggregator();
  stack_.report_once(Stack::kNode, tree_);
  tree_.become(kGone);
  stack_.report_once(Stack::kNode, tree_);
  const std::string text = stack_.get("/metrics");
  bool found = false;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    found = found || (line.starts_with("gpuskew_finding{") && line.find("gpu-node-1") != std::string::npos &&
                      line.find("gpu-gone-after-kernel-bump") != std::string::npos && line.ends_with(" 1"));
  }
  EXPECT_TRUE(found) << text;
}

TEST_F(Metrics, HaveHelpAndTypeForEveryFamily) {
  stack_.start_aggregator();
  stack_.report_once(Stack::kNode, tree_);
  std::istringstream lines(stack_.get("/metrics"));
  std::set<std::string> described;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      described.insert(line.substr(7, line.find(' ', 7) - 7));
    } else if (!line.starts_with("#") && !line.empty()) {
      EXPECT_TRUE(described.contains(line.substr(0, line.find_first_of("{ ")))) << line;
    }
  }
  EXPECT_FALSE(described.empty());
}

TEST_F(Metrics, ExistForEveryAlertRule) {
  stack_.configure("matrix:\n  file: " + std::string(GPUSKEW_SOURCE_DIR) + "/packaging/examples/support-matrix.csv\n");
  stack_.start_aggregator();
  stack_.report_once(Stack::kNode, tree_);
  const std::string text = stack_.get("/metrics");
  const std::string rules = read_file(std::string(GPUSKEW_SOURCE_DIR) + "/deploy/prometheus/gpuskew.rules.yaml");
  const std::set<std::string> used = words_beginning_with_gpuskew(expressions_of(rules));
  ASSERT_FALSE(used.empty());
  for (const std::string& name : used) {
    EXPECT_NE(text.find("# HELP " + name + " "), std::string::npos) << name << " in\n" << text;
  }
}

}  // namespace
}  // namespace gpuskew
