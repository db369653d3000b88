#include "agent/fact_lines.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

using Line = FactLines::Line;

TEST(FactLines, StandInColumnsUnderHeadings) {
  FactLines lines;
  lines.add("node", "gpu-1");
  lines.heading("driver");
  lines.add("loaded driver", "550.90.07", "/sys/module/nvidia/version");
  lines.fact("WSL", Fact<std::string>::absent("osrelease"));
  EXPECT_EQ(lines.text(),
            "node           gpu-1\n"
            "\n"
            "driver\n"
            "loaded driver  550.90.07  (from /sys/module/nvidia/version)\n"
            "WSL            none  (from osrelease)\n");
}

TEST(FactLines, ShortenAListAndSayByHowMuch) {
  FactLines lines;
  const std::vector<int> numbers(FactLines::kMaxItems + 12, 7);
  lines.list("numbers", Fact<std::vector<int>>::known(numbers, ""), [](int number) {
    return Line{"n", std::to_string(number)};
  });
  const std::string text = lines.text();
  EXPECT_EQ(text.substr(0, 12), "numbers  28\n");
  EXPECT_NE(text.find("\n  ... and 12 more\n"), std::string::npos) << text;
  EXPECT_EQ(joined(std::vector<std::string>(FactLines::kMaxItems + 2, "a")).substr(30),
            "a, a, a, a, a, a, ... and 2 more");
}

TEST(FactLines, TellAnEmptyListAnAbsentAndAnUnknownOneApart) {
  FactLines lines;
  const auto number_line = [](int number) { return Line{"n", std::to_string(number)}; };
  lines.list("a", Fact<std::vector<int>>::known({}, ""), number_line);
  lines.list("b", Fact<std::vector<int>>::absent("b"), number_line);
  lines.list("c", Fact<std::vector<int>>::unknown(Error{ErrorCode::Denied, "permission denied"}, "c"), number_line);
  EXPECT_EQ(lines.text(), "a  none\nb  none  (from b)\nc  unknown, because permission denied  (from c)\n");
}

TEST(FactLines, ANameWithoutAValueIsNoHeading) {
  FactLines lines;
  lines.add("a", "1");
  lines.add("b", "");
  EXPECT_EQ(lines.text(), "a  1\nb\n");
}

TEST(FactLines, ALongNameDoesNotPushTheOthers) {
  FactLines lines;
  lines.add(std::string(60, 'x'), "1");
  lines.add("a", "2");
  EXPECT_EQ(lines.text(), std::string(60, 'x') + "  1\na  2\n");
}

}  // namespace
}  // namespace gpuskew
