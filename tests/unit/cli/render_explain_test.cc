#include <gtest/gtest.h>

#include "aggregator/cli/render.h"
#include "tests/unit/cli/golden.h"

namespace gpuskew {
namespace {

NodeReply node(const std::string& file) {
  return node_reply(golden_json(file)).value();
}

const ImageAnswer kMissing{ImageAnswer::Verdict::Missing, ""};
const ImageAnswer kNotNeeded{ImageAnswer::Verdict::NotNeeded, ""};

std::string explained(const NodeReply& reply, const ImageAnswer& image) {
  return render_explain(reply, image, golden_now(), kPipe);
}

TEST(RenderExplain, TellsAGoneGpuFromStateToNextStep) {
  EXPECT_EQ(explained(node("node-gone.json"), kMissing), golden_text("explain-gone.txt"));
}

TEST(RenderExplain, RaisesNoAlarmWhereThereIsNoGpu) {
  EXPECT_EQ(explained(node("node-no-gpu.json"), kNotNeeded), golden_text("explain-no-gpu.txt"));
}

TEST(RenderExplain, SaysWhyFactsAreUnknown) {
  EXPECT_EQ(explained(node("node-unknown.json"), kMissing), golden_text("explain-unknown.txt"));
}

TEST(RenderExplain, PutsTheNextStepOnALineOfItsOwn) {
  const std::string text = explained(node("node-gone.json"), kMissing);
  EXPECT_NE(text.find("\nssh a100-07 'sudo dkms autoinstall -k 5.15.0-122-generic && sudo modprobe nvidia'\n"),
            std::string::npos);
}

TEST(RenderExplain, TellsTheCauseOfASecondFinding) {
  NodeReply reply = node("node-gone.json");
  FindingReply silent = reply.findings.front();
  silent.code = "agent-silent";
  silent.cause = "no word from the agent";
  reply.findings.push_back(silent);
  const std::string text = explained(reply, kMissing);
  EXPECT_NE(text.find("\n\nfinding: agent-silent (critical)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("cause: no word from the agent\n"), std::string::npos) << text;
}

TEST(RenderExplain, TellsNoBeforeThatIsNow) {
  NodeReply reply = node("node-gone.json");
  reply.facts.driver = Fact<std::string>::known("550.90.07", "s");
  reply.facts.kernel = Fact<std::string>::known("5.15.0-119-generic", "s");
  EXPECT_EQ(explained(reply, kMissing).find("before: "), std::string::npos);
}

TEST(RenderExplain, TellsWhatTheNextBootDoes) {
  NodeReply reply = node("node-no-gpu.json");
  const auto line = [&](const std::string& outcome, const std::string& why, std::optional<std::string> kernel) {
    reply.next_boot = NextBootReply{outcome, why, std::move(kernel)};
    const std::string text = explained(reply, kNotNeeded);
    const std::size_t at = text.find("next boot: ");
    return text.substr(at, text.find('\n', at) - at);
  };
  EXPECT_EQ(line("keeps", "it has module 550.90.07", "6.8.0-45-generic"),
            "next boot: keeps the GPU, kernel 6.8.0-45-generic: it has module 550.90.07");
  EXPECT_EQ(line("cannot-tell", "the next kernel is unknown", std::nullopt),
            "next boot: can not be told: the next kernel is unknown");
  EXPECT_EQ(line("not-applicable", "there is no GPU here", std::nullopt),
            "next boot: not judged: there is no GPU here");
  EXPECT_EQ(line("keeps-in-safe-mode", "", std::nullopt), "next boot: keeps-in-safe-mode") << "a later aggregator";
}

TEST(RenderExplain, SaysNothingOfTheNextBootForAnOlderAggregator) {
  EXPECT_EQ(explained(node("node-no-gpu.json"), kNotNeeded).find("next boot"), std::string::npos);
}

TEST(RenderExplain, SaysSomethingWhereTheServerGivesNoReason) {
  NodeReply reply = node("node-unknown.json");
  reply.why.clear();
  EXPECT_NE(explained(reply, kMissing).find("the aggregator gives no reason"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew
