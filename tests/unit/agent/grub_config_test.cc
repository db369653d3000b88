#include "agent/probes/grub_config.h"

#include <chrono>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/agent/boot_tree.h"

namespace gpuskew {
namespace {

using Files = std::map<std::string, std::string>;

GrubSurroundings surroundings(Files files = {}, std::optional<bool> is_efi = false) {
  return GrubSurroundings{"/boot/grub", is_efi,
                          [files](const std::string& path) -> Result<std::string> {
                            const auto found = files.find(path);
                            return found == files.end() ? Result<std::string>(fail(ErrorCode::NotFound, "gone"))
                                                        : Result<std::string>(found->second);
                          },
                          [] { return std::vector<LoaderEntry>(); }};
}

GrubConfig config(std::string_view text, Files files = {}) {
  auto made = run_grub_config(text, surroundings(std::move(files)));
  EXPECT_TRUE(made) << made.error().what;
  return made ? std::move(*made) : GrubConfig();
}

std::string chosen(std::string_view text, Files files = {}) {
  const GrubConfig made = config(text, std::move(files));
  return made.chosen.is_known ? made.chosen.text : "unknown";
}

TEST(GrubConfig, HasTheMenuOfAGeneratedFile) {
  const GrubConfig made = config(grub_config({"6.1.0-57-amd64", "6.1.0-50-amd64"}, "\"0\""));
  ASSERT_EQ(made.menu.size(), 2U);  // by BIOS there is no entry of the firmware's
  EXPECT_EQ(made.menu[0].title, "Debian GNU/Linux");
  EXPECT_EQ(made.menu[0].id, "gnulinux-simple-12-34");
  EXPECT_EQ(made.menu[0].kernels.at(0), (GrubValue{"/boot/vmlinuz-6.1.0-57-amd64", true}));
  EXPECT_EQ(made.menu[0].options, "root=UUID=12-34 ro quiet");
  EXPECT_EQ(made.menu[1].entries.size(), 4U);
  EXPECT_TRUE(made.menu[1].is_submenu);
}

TEST(GrubConfig, HasAnUncertainEntryWhereOnlyTheFirmwareKnows) {
  const std::string text = grub_config({"6.1.0-57-amd64"}, "\"0\"");
  const auto made = run_grub_config(text, surroundings({}, true)).value();
  ASSERT_EQ(made.menu.size(), 3U);
  EXPECT_FALSE(made.menu[2].is_certain);
  EXPECT_TRUE(made.menu[2].leaves_grub);
}

TEST(GrubVariables, FollowBranchesThatFilesDecide) {
  EXPECT_EQ(chosen("set default=1"), "1");
  EXPECT_EQ(chosen("default=1; set default='2 3'"), "2 3");
  EXPECT_EQ(chosen("a=x\nif [ \"$a\" = x ]; then set default=1; else set default=2; fi"), "1");
  EXPECT_EQ(chosen("if [ -z \"$a\" -a ! -n \"$a\" ]; then set default=1; fi"), "1");
  EXPECT_EQ(chosen("if [ 3 -gt 2 ]; then default=1; elif true; then default=2; fi"), "1");
  EXPECT_EQ(chosen("if false; then default=1; elif true; then default=2; fi"), "2");
  EXPECT_EQ(chosen("set default=1\nunset default"), "");
  EXPECT_EQ(chosen("# set default=9\nset default=\"a\\\"b\\\\\" # rest"), "a\"b\\");
  EXPECT_EQ(chosen("set default=${prefix}x"), "/boot/grubx");
}

TEST(GrubVariables, AreUnknownWhereNoFileDecides) {
  EXPECT_EQ(chosen("if keystatus --shift; then set default=1; fi"), "unknown");
  EXPECT_EQ(chosen("set default=$root"), "unknown");
  EXPECT_EQ(chosen("if [ $net_default_mac = 1 ]; then set default=1; else set default=1; fi"), "unknown");
  EXPECT_EQ(chosen("search --set=default --file /x"), "unknown");
  EXPECT_EQ(chosen("regexp --set 1:default '(.*)' x"), "unknown");
  EXPECT_EQ(chosen("for default in 1 2; do true; done"), "unknown");
  EXPECT_EQ(chosen("function f { set default=2; }\nset default=1\nf"), "unknown");
  EXPECT_EQ(chosen("function f { set default=2; }\nset default=1"), "1");
  EXPECT_EQ(chosen("set default=1\neval set default=2"), "unknown");
}

TEST(GrubVariables, AreLoadedFromTheEnvironmentByName) {
  const Files files{{"/boot/grub/grubenv", grub_environment("saved_entry=2\nnext_entry=3\n")},
                    {"/boot/grub/other", grub_environment("saved_entry=5\nnext_entry=6\n")},
                    {"/boot/grub/elsewhere", grub_environment("env_block=512+1\n")}};
  const std::string choice = "\nset default=\"${next_entry}${saved_entry}\"";
  EXPECT_EQ(chosen("load_env" + choice, files), "32");
  EXPECT_EQ(chosen("load_env saved_entry" + choice, files), "2");
  EXPECT_EQ(chosen("load_env --skip-sig saved_entry next_entry" + choice, files), "32");
  EXPECT_EQ(chosen("load_env -f ${prefix}/other next_entry" + choice, files), "6");
  EXPECT_EQ(chosen("load_env --file=${prefix}/other next_entry" + choice, files), "6");
  EXPECT_EQ(chosen("load_env -f ${prefix}/elsewhere saved_entry" + choice, files), "unknown");
  EXPECT_EQ(chosen("load_env -f ${prefix}/elsewhere prev_entry" + choice, files), "");
  EXPECT_EQ(chosen("load_env $root" + choice, files), "unknown");
}

TEST(GrubConfig, TakesInItsOwnFilesOnly) {
  const Files files{{"/boot/grub/custom.cfg", "set default=7"}};
  EXPECT_EQ(chosen("source $prefix/custom.cfg", files), "7");
  EXPECT_EQ(chosen("source $prefix/gone.cfg", files), "");
  EXPECT_EQ(run_grub_config("source $root/x.cfg", surroundings()).error().code, ErrorCode::Unsupported);
  const Files endless{{"/boot/grub/a", "source $prefix/a"}};
  EXPECT_FALSE(run_grub_config("source $prefix/a", surroundings(endless)));
}

TEST(GrubConfig, SaysWhereItHandsOver) {
  EXPECT_EQ(config("search --set=dev x\nset prefix=($dev)/grub2\nconfigfile $prefix/grub.cfg").other_file,
            "()/grub2/grub.cfg");
}

TEST(GrubConfig, IsNotToldWhereItMayEndBeforeItsMenu) {
  for (const char* text :
       {"exit", "if keystatus; then return; fi", "linux /vmlinuz\nboot", "blscfg non-default", "set blsdir=/x\nblscfg",
        "if true", "if true; then", "menuentry x {", "while true; do", "function f", "menuentry x"}) {
    EXPECT_FALSE(run_grub_config(text, surroundings())) << text;
  }
}

TEST(GrubConfig, SurvivesNestingWithoutEnd) {
  std::string text;
  for (int depth = 0; depth < 10'000; ++depth) {
    text += "if true; then {\n";
  }
  EXPECT_EQ(run_grub_config(text, surroundings()).error().code, ErrorCode::Malformed);
  std::string entries;
  for (int index = 0; index < 2000; ++index) {
    entries += "menuentry 'x' { linux /vmlinuz }\n";
  }
  EXPECT_EQ(run_grub_config(entries, surroundings()).error().code, ErrorCode::TooLarge);
}

TEST(GrubConfig, OfAMegabyteIsReadAtOnce) {
  std::string text = "set default=1\n";
  while (text.size() < kMaxGrubConfig - 100) {
    text += "\tsearch --no-floppy --fs-uuid --set=root 12-34 # a line of no interest\n";
  }
  EXPECT_EQ(chosen(text + std::string(50, '\0')), "1");
}

TEST(GrubMenu, IsChosenFromAsGrubDoes) {
  const auto menu = config(
                        "menuentry 'a>b' { true; }\nmenuentry '2 is a name' { true; }\nsubmenu c --id=s {\n"
                        " menuentry d { true; }\n menuentry e { true; }\n}\n")
                        .menu;
  const auto title = [&menu](std::string_view name) {
    const auto choice = default_entry(menu, name);
    return choice ? choice->entry->title : "unknown";
  };
  EXPECT_EQ(title(""), "a>b");
  EXPECT_EQ(title("a>>b"), "a>b");
  EXPECT_EQ(title("2"), "d");
  EXPECT_EQ(title("2>1"), "e");
  EXPECT_EQ(title("s>e"), "e");
  EXPECT_EQ(title("c>gone"), "d");
  EXPECT_EQ(title("99"), "a>b");
  EXPECT_EQ(title("gone"), "a>b");
  EXPECT_EQ(title("2 is a name"), "unknown");  // by number it is the submenu
  EXPECT_EQ(title("2gone"), "unknown");
  EXPECT_EQ(title("010"), "unknown");
  EXPECT_EQ(default_entry({}, "0").error().code, ErrorCode::NotFound);
}

RC_GTEST_PROP(GrubConfig, EndsOnAnyText, (std::string text)) {
  const auto made = run_grub_config(text, surroundings());
  RC_ASSERT(made.has_value() || !made.error().what.empty());
}

}  // namespace
}  // namespace gpuskew
