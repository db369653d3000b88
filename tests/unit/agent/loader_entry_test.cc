#include "agent/probes/loader_entry.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/boot_tree.h"

namespace gpuskew {
namespace {

TEST(LoaderEntry, IsReadKeyByKey) {
  const LoaderEntry entry = parse_loader_entry(
      "a.conf",
      "# a comment\r\ntitle\tFedora Linux (6.5.6) 39 \nversion 6.5.6\nmachine-id 12ab\nsort-key fedora\n"
      "linux /vmlinuz-6.5.6\r\noptions root=/dev/sda ro\noptions quiet\nnonsense\ngrub_users $grub_users\n");
  EXPECT_EQ(entry, (LoaderEntry{"a.conf", "Fedora Linux (6.5.6) 39", "6.5.6", "12ab", "fedora", "", "/vmlinuz-6.5.6",
                                "root=/dev/sda ro quiet"}));
}

TEST(LoaderEntry, TakesAnyBytes) {
  EXPECT_EQ(parse_loader_entry("a.conf", std::string("\0\0linux\0\n \n\t\nlinux", 16)).kernel, "");
  EXPECT_EQ(parse_loader_entry("a.conf", "linux   /a\nlinux /b").kernel, "/b");
}

TEST(LoaderEntries, AreTheConfFilesOfTheirDirectory) {
  const ScratchTree tree;
  EXPECT_EQ(read_loader_entries(tree.root(), "/boot").error().code, ErrorCode::NotFound);
  tree.write("/boot/loader/entries/b.conf", "title b\n");
  tree.write("/boot/loader/entries/a.conf", "title a\n");
  tree.write("/boot/loader/entries/a.conf.rpmsave", "title old\n");
  tree.write("/boot/loader/entries/.a.conf", "title hidden\n");
  const auto entries = read_loader_entries(tree.root(), "/boot").value();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].title, "a");
}

TEST(LoaderEntries, AreReadWithoutTheOneThatIsGone) {
  const ScratchTree tree;
  tree.write("/boot/loader/entries/a.conf", "title a\n");
  tree.link("/boot/loader/entries/b.conf", "gone");
  tree.write("/boot/loader/entries/c.conf", "title c\n");
  const auto entries = read_loader_entries(tree.root(), "/boot");
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ(entries->back().title, "c");
  tree.fifo("/boot/loader/entries/d.conf");
  EXPECT_EQ(read_loader_entries(tree.root(), "/boot").error().code, ErrorCode::Malformed);
}

TEST(LoaderEntries, BeyondTheirLimitsAreAnError) {
  const ScratchTree tree;
  tree.write("/boot/loader/entries/a.conf", std::string(1U << 20, 'x'));
  EXPECT_EQ(read_loader_entries(tree.root(), "/boot").error().code, ErrorCode::TooLarge);
  tree.remove("/boot/loader/entries/a.conf");
  for (std::size_t index = 0; index <= kMaxLoaderEntries; ++index) {
    tree.write("/boot/loader/entries/" + std::to_string(index) + ".conf", "title x\n");
  }
  EXPECT_EQ(read_loader_entries(tree.root(), "/boot").error().code, ErrorCode::TooLarge);
}

TEST(BlscfgOrder, IsTheNewestFirstWithRescueLast) {
  std::vector<LoaderEntry> entries;
  for (const char* file : {"m1-0-rescue.conf", "m1-5.14.0-70.el9.x86_64.conf", "m1-5.14.0-427.el9.x86_64.conf",
                           "m1-5.14.0-427.el9.x86_64+debug.conf"}) {
    entries.push_back(parse_loader_entry(file, ""));
  }
  sort_as_blscfg(entries);
  EXPECT_EQ(entries[0].file, "m1-5.14.0-427.el9.x86_64+debug.conf");
  EXPECT_EQ(entries[1].file, "m1-5.14.0-427.el9.x86_64.conf");
  EXPECT_EQ(entries[3].file, "m1-0-rescue.conf");
}

}  // namespace
}  // namespace gpuskew
