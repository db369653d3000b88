// The machine that runs the tests, whatever it is: what the agent says of it must be true.

#include <sys/utsname.h>

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/stack.h"

namespace gpuskew {
namespace {

namespace fs = std::filesystem;

nlohmann::json facts_of(const std::string& root) {
  const Outcome outcome = run({program("gpuskew-agent"), "facts", "--json", "--host-root", root});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  return nlohmann::json::parse(outcome.out);
}

std::size_t gpus_on_the_bus() {
  std::size_t count = 0;
  if (!fs::exists("/sys/bus/pci/devices")) {
    return 0;
  }
  for (const auto& device : fs::directory_iterator("/sys/bus/pci/devices")) {
    const std::string vendor = read_file(device.path() / "vendor");
    const std::string type = read_file(device.path() / "class");
    if (vendor.starts_with("0x10de") && (type.starts_with("0x0300") || type.starts_with("0x0302"))) {
      ++count;
    }
  }
  return count;
}

TEST(ThisMachine, SaysTheKernelThatUnameSays) {
  utsname name{};
  ASSERT_EQ(::uname(&name), 0);
  const nlohmann::json facts = facts_of("/");
  EXPECT_EQ(facts.at("kernel").at("value"), static_cast<const char*>(name.release));
  EXPECT_EQ(facts.at("architecture").at("value"), static_cast<const char*>(name.machine));
}

TEST(ThisMachine, CountsTheGpusOnTheBus) {
  const nlohmann::json facts = facts_of("/");
  ASSERT_EQ(facts.at("gpus").at("state"), "known") << facts.at("gpus");
  EXPECT_EQ(facts.at("gpus").at("value").size(), gpus_on_the_bus());
}

TEST(ThisMachine, KnowsWhetherADriverIsLoaded) {
  const nlohmann::json driver = facts_of("/").at("loaded_driver");
  if (fs::exists("/sys/module/nvidia/version")) {
    std::string version = read_file("/sys/module/nvidia/version");
    version.erase(version.find_last_not_of('\n') + 1);
    EXPECT_EQ(driver.at("value"), version);
  } else {
    EXPECT_EQ(driver.at("state"), "absent") << driver;
  }
}

TEST(ThisMachine, GivesASourceForEveryFact) {
  const nlohmann::json facts = facts_of("/");
  std::size_t seen = 0;
  for (const auto& [name, fact] : facts.items()) {
    if (fact.is_object() && fact.contains("state")) {
      ++seen;
      EXPECT_FALSE(fact.at("source").get<std::string>().empty()) << name << " " << fact;
    }
  }
  EXPECT_GE(seen, 12U) << facts;
}

TEST(ThisMachine, PrintsUnknownFactsWithTheReason) {
  const TemporaryDirectory empty;
  const Outcome outcome = run({program("gpuskew-agent"), "facts", "--host-root", empty.path()});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("unknown, because"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace gpuskew
