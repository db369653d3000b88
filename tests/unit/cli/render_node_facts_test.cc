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

std::string facts_of(const NodeReply& reply, const ImageAnswer& image) {
  return render_node_facts(reply, image, golden_now(), kPipe);
}

TEST(RenderNodeFacts, TellsEveryAnswerAboutTheImage) {
  NodeReply reply = node("node-gone.json");
  const auto image_line = [&](const ImageAnswer& image) {
    const std::string text = facts_of(reply, image);
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

TEST(RenderNodeFacts, NamesAJetsonsOwnDriver) {
  NodeReply reply = node("node-no-gpu.json");
  reply.facts.l4t_release = Fact<std::string>::known("36.4.3", "s");
  EXPECT_NE(facts_of(reply, kNotNeeded).find("  driver        Jetson's own, L4T 36.4.3\n"), std::string::npos);
}

TEST(RenderNodeFacts, NamesEveryOtherFactThatIsUnknown) {
  NodeReply reply = node("node-gone.json");
  reply.facts.unread = {{"dkms", "permission denied"}, {"kernels", "too large"}};
  EXPECT_NE(
      facts_of(reply, kMissing)
          .find("\n  unknown       dkms, because permission denied\n                kernels, because too large\n"),
      std::string::npos);
  reply.facts.unread.clear();
  EXPECT_EQ(facts_of(reply, kMissing).find("\n  unknown "), std::string::npos);
}

TEST(RenderNodeFacts, CountsWhatAnOlderAgentDoesNotReport) {
  NodeReply reply = node("node-gone.json");
  reply.facts.not_reported = {"wsl"};
  EXPECT_NE(facts_of(reply, kMissing).find("\n  not reported  wsl: the agent is older than these facts\n"),
            std::string::npos);
  reply.facts.not_reported = {"a", "b", "c", "d", "e"};
  EXPECT_NE(facts_of(reply, kMissing).find("  not reported  a, b, c and 2 more: "), std::string::npos);
}

}  // namespace
}  // namespace gpuskew
