#include "agent/probes/systemd_boot.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/boot_tree.h"

namespace gpuskew {
namespace {

SystemdBootEntry entry(std::string_view file, std::string sort_key = "", std::string version = "") {
  SystemdBootEntry made;
  name_entry(made, file);
  made.sort_key = std::move(sort_key);
  made.version = std::move(version);
  return made;
}

std::string chosen(std::vector<SystemdBootEntry> entries, const SystemdBootWishes& wishes = {}) {
  sort_as_systemd_boot(entries);
  const auto choice = choose_entry(entries, wishes);
  return choice ? choice->entry->id : "error: " + choice.error().what;
}

TEST(SystemdBootEntry, LosesItsCounterFromItsId) {
  const SystemdBootEntry counted = entry("Debian-6.1+3-1.CONF");
  EXPECT_EQ(counted.id, "debian-6.1.conf");
  EXPECT_EQ(counted.tries_left, 3);
  EXPECT_EQ(counted.tries_done, 1);
  EXPECT_EQ(entry("a+2.efi").tries_left, 2);
  EXPECT_EQ(entry("kernel-6.1.72+.conf").id, "kernel-6.1.72+.conf");
  EXPECT_EQ(entry("a+b-c.conf").tries_left, -1);
  EXPECT_EQ(entry("a+99999999999999.conf").tries_left, -1);
}

TEST(SystemdBootMenu, HasTheNewestFirstAndExhaustedEntriesLast) {
  EXPECT_EQ(chosen({entry("a-6.9.conf"), entry("a-6.10.conf")}), "a-6.10.conf");
  EXPECT_EQ(chosen({entry("a-6.9.conf"), entry("a-6.10+0-3.conf")}), "a-6.9.conf");
  EXPECT_EQ(chosen({entry("z.conf"), entry("a.conf", "debian", "6.1")}), "a.conf");
  EXPECT_EQ(chosen({entry("a.conf", "debian", "6.9"), entry("b.conf", "debian", "6.10")}), "b.conf");
  EXPECT_EQ(chosen({}), "error: systemd-boot has no entry");
}

TEST(SystemdBootMenu, IsChosenFromByPatterns) {
  const std::vector<SystemdBootEntry> entries{entry("deb-6.9.conf"), entry("deb-6.10.conf")};
  EXPECT_EQ(chosen(entries, {.once = "", .variable = "", .last_booted = "", .configuration = "DEB-6.9*"}),
            "deb-6.9.conf");
  EXPECT_EQ(chosen(entries, {.once = "", .variable = "@saved", .last_booted = "deb-6.9.conf", .configuration = ""}),
            "deb-6.9.conf");
  EXPECT_EQ(chosen(entries, {.once = "gone.conf", .variable = "", .last_booted = "", .configuration = "deb-6.9.conf"}),
            "deb-6.9.conf");
  EXPECT_TRUE(chosen(entries, {.once = "", .variable = "", .last_booted = "", .configuration = "deb-6.9"})
                  .starts_with("error: default of loader.conf is 'deb-6.9'"));
  EXPECT_TRUE(chosen(entries, {.once = "auto-windows", .variable = "", .last_booted = "", .configuration = ""})
                  .starts_with("error: LoaderEntryOneShot"));
}

TEST(LoaderVariable, IsTextBehindFourBytes) {
  const ScratchTree tree;
  const std::string path = "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
  tree.write(path, efi_text("systemd-boot 252"));
  EXPECT_EQ(read_loader_variable(tree.root(), "LoaderInfo").value(), "systemd-boot 252");
  EXPECT_EQ(read_loader_variable(tree.root(), "LoaderGone").error().code, ErrorCode::NotFound);
  tree.write(path, std::string("\x06\0\0\0\xff\xd8x", 7));
  EXPECT_EQ(read_loader_variable(tree.root(), "LoaderInfo").value(), "?");
  tree.write(path, "\x06");
  EXPECT_EQ(read_loader_variable(tree.root(), "LoaderInfo").value(), "");
}

TEST(SystemdBootChoice, LeavesOutEntriesWithoutTheirKernel) {
  const ScratchTree tree;
  tree.write("/boot/loader/entries/a-2.conf", loader_entry("a", "2", "/gone"));
  tree.write("/boot/loader/entries/a-1.conf", loader_entry("a", "1", "/vmlinuz"));
  tree.write("/boot/vmlinuz", bzimage("6.1.0"));
  std::string rule;
  EXPECT_EQ(read_systemd_boot_choice(tree.root(), rule)->id, "a-1.conf");
  tree.write("/boot/loader/loader.conf", "preferred a-2*\n");
  EXPECT_EQ(read_systemd_boot_choice(tree.root(), rule).error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace gpuskew
