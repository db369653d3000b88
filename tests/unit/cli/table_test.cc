#include "aggregator/cli/table.h"

#include <gtest/gtest.h>

#include "aggregator/cli/screen_text.h"

namespace gpuskew {
namespace {

Table two_nodes() {
  Table table({Column{"NODE"}, Column{"LAST HEARD"}, Column{"WHY", true}});
  table.add({Cell{"a100-07"}, Cell{"2m ago"}, Cell{"no nvidia module is loaded, and none is on disk"}});
  table.add({Cell{"b"}, Cell{"1h ago"}, Cell{""}});
  return table;
}

TEST(Table, AlignsColumnsAndLeavesNoTrailingBlanks) {
  EXPECT_EQ(two_nodes().to_text(Screen{}),
            "NODE     LAST HEARD  WHY\n"
            "a100-07  2m ago      no nvidia module is loaded, and none is on disk\n"
            "b        1h ago      -\n");
}

TEST(Table, CutsProseToTheTerminal) {
  EXPECT_EQ(two_nodes().to_text(Screen{false, 40}),
            "NODE     LAST HEARD  WHY\n"
            "a100-07  2m ago      no nvidia module i…\n"
            "b        1h ago      -\n");
}

TEST(Table, NeverCutsWhatIsCopied) {
  Table table({Column{"TAG"}, Column{"WHY", true}});
  table.add({Cell{"550-5.15.0-119-generic-ubuntu22.04"}, Cell{"a rather long reason"}});
  EXPECT_EQ(table.to_text(Screen{false, 20}),
            "TAG                                 WHY\n"
            "550-5.15.0-119-generic-ubuntu22.04  a rather lo…\n");
}

TEST(Table, AlignsWideCharactersByColumns) {
  Table table({Column{"NODE"}, Column{"STATE"}});
  table.add({Cell{"漢字"}, Cell{"ok"}});
  table.add({Cell{"abcdef"}, Cell{"ok"}});
  EXPECT_EQ(table.to_text(Screen{}), "NODE    STATE\n漢字    ok\nabcdef  ok\n");
}

TEST(Table, PaintsCellsWithoutMovingColumns) {
  Table table({Column{"STATE"}, Column{"NODE"}});
  table.add({Cell{"ok", Style::Good}, Cell{"n1"}});
  EXPECT_EQ(table.to_text(Screen{true, {}}), "\x1b[1mSTATE\x1b[0m  \x1b[1mNODE\x1b[0m\n\x1b[32mok\x1b[0m     n1\n");
}

TEST(Table, QuotesCsvByRfc4180) {
  Table table({Column{"NODE"}, Column{"LAST HEARD"}});
  table.add({Cell{"a,b"}, Cell{"say \"hi\""}});
  table.add({Cell{" blank"}, Cell{""}});
  EXPECT_EQ(table.to_csv(), "node,last_heard\n\"a,b\",\"say \"\"hi\"\"\"\n\" blank\",\n");
}

TEST(Table, KeepsTheCsvHeaderWhenItIsEmpty) {
  const Table table({Column{"NODE"}, Column{"STATE"}});
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.to_csv(), "node,state\n");
}

}  // namespace
}  // namespace gpuskew
