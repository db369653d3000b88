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

TEST(RenderExplain, TellsEveryAnswerAboutTheImage) {
  NodeReply reply = node("node-gone.json");
  const auto image_line = [&](const ImageAnswer& image) {
    const std::string text = explained(reply, image);
    const std::size_t at = text.find("  driver image  ");
    return text.substr(at + 16, text.find('\n', at) - at - 16);
  };
  EXPECT_EQ(image_line({ImageAnswer::Verdict::Exists, ""}), "550-5.15.0-122-generic-ubuntu22.04, exists");
  EXPECT_EQ(image_line({ImageAnswer::Verdict::Unknown, "no matrix is configured"}),
            "550-5.15.0-122-generic-ubuntu22.04, whether it exists is unknown, because no matrix is configured");
  EXPECT_EQ(image_line(kNotNeeded), "none needed");
  reply.tag.reset();
  reply.tag_error = "no tag: os VERSION_ID is missing";
  EXPECT_EQ(image_line(kMissing), "no tag: os VERSION_ID is missing");
}

TEST(RenderExplain, NamesAJetsonsOwnDriver) {
  NodeReply reply = node("node-no-gpu.json");
  reply.facts.l4t_release = Fact<std::string>::known("36.4.3", "s");
  EXPECT_NE(explained(reply, kNotNeeded).find("  driver        Jetson's own, L4T 36.4.3\n"), std::string::npos);
}

TEST(RenderExplain, SaysSomethingWhereTheServerGivesNoReason) {
  NodeReply reply = node("node-unknown.json");
  reply.why.clear();
  EXPECT_NE(explained(reply, kMissing).find("the aggregator gives no reason"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew
