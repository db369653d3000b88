#include "aggregator/cli/help.h"

#include <sstream>

#include <gtest/gtest.h>

#include "aggregator/cli/screen_text.h"
#include "core/finding.h"
#include "core/judge.h"

namespace gpuskew {
namespace {

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(Help, NamesEveryCommand) {
  for (const CommandInfo& info : all_commands()) {
    EXPECT_TRUE(has(help_text(std::nullopt), "\n  " + std::string(info.name) + " ")) << info.name;
  }
}

TEST(Help, OfEveryCommandHasUsageExampleAndExitCodes) {
  for (const CommandInfo& info : all_commands()) {
    const std::string text = help_text(info.command);
    EXPECT_TRUE(has(text, "usage: gpuskew " + std::string(info.name))) << info.name;
    EXPECT_TRUE(has(text, "Example")) << info.name;
    EXPECT_TRUE(has(text, "Exit codes: 0")) << info.name;
    if (info.formats.size() > 1) {
      std::string forms;
      for (const Format format : info.formats) {
        forms += (forms.empty() ? "-o " : "|") + std::string(to_string(format));
      }
      EXPECT_TRUE(has(text, forms)) << info.name << " " << forms;
    }
  }
}

TEST(Help, NamesEveryStateAndFindingCode) {
  for (const NodeState state : {NodeState::Ok, NodeState::NoGpu, NodeState::NotJudged, NodeState::Starting,
                                NodeState::Degraded, NodeState::Broken, NodeState::Unknown}) {
    EXPECT_TRUE(has(help_text(Command::Nodes), to_string(state))) << to_string(state);
  }
  for (const FindingCode code : {FindingCode::GpuGoneAfterKernelBump, FindingCode::DriverNotLoaded,
                                 FindingCode::DriverLibraryMismatch, FindingCode::WrongDriverBound,
                                 FindingCode::GpuCountDrop, FindingCode::ImageMissing, FindingCode::AgentSilent}) {
    EXPECT_TRUE(has(help_text(Command::Findings), to_string(code))) << to_string(code);
  }
}

TEST(Help, FitsOrdinaryTerminals) {
  constexpr std::size_t kColumns = 120;
  std::string all = help_text(std::nullopt);
  for (const CommandInfo& info : all_commands()) {
    all += help_text(info.command);
  }
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(display_width(line), kColumns) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
  }
}

}  // namespace
}  // namespace gpuskew
