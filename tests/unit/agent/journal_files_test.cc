#include "agent/kernel_log/journal_files.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr std::size_t kLimit = 4;
const std::string kDisk = "/var/log/journal/0123456789abcdef0123456789abcdef/";
const std::string kRam = "/run/log/journal/0123456789abcdef0123456789abcdef/";

std::vector<std::string> names(const Result<std::vector<HostFile>>& files) {
  std::vector<std::string> found;
  for (const HostFile& file : files.value()) {
    found.push_back(file.name());
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(JournalFilesTest, AreTheSystemsOwnInBothPlaces) {
  const ScratchTree tree;
  tree.write(kDisk + "system.journal", "");
  tree.write(kDisk + "system@1-2-3.journal", "");
  tree.write(kDisk + "system@1-2-3.journal~", "");
  tree.write(kRam + "system.journal", "");
  tree.write(kDisk + "user-1000.journal", "");
  tree.write(kDisk + "system.txt", "");
  tree.write("/var/log/journal/remote/system.journal", "");
  EXPECT_EQ(names(open_journal_files(tree.root(), Time{}, kLimit)),
            (std::vector<std::string>{kRam + "system.journal", kDisk + "system.journal", kDisk + "system@1-2-3.journal",
                                      kDisk + "system@1-2-3.journal~"}));
  EXPECT_EQ(journal_directories(tree.root()).size(), 2u);
}

TEST(JournalFilesTest, OfAnEarlierBootAreLeftOut) {
  const ScratchTree tree;
  tree.write(kDisk + "system.journal", "");
  constexpr Time kFuture = from_unix_ms(32'503'680'000'000);
  EXPECT_EQ(open_journal_files(tree.root(), kFuture, kLimit).error().code, ErrorCode::NotFound);
}

TEST(JournalFilesTest, TheNewestComeFirstWhereThereAreMany) {
  const ScratchTree tree;
  for (int i = 0; i < 9; ++i) {
    tree.write(kDisk + "system@" + std::to_string(i) + ".journal", "");
  }
  EXPECT_EQ(open_journal_files(tree.root(), Time{}, kLimit)->size(), kLimit);
}

TEST(JournalFilesTest, WhatCanNotBeOpenedIsNoSilence) {
  const ScratchTree tree;
  EXPECT_EQ(open_journal_files(tree.root(), Time{}, kLimit).error().code, ErrorCode::NotFound);
  tree.broken(kDisk + "system.journal");
  EXPECT_NE(open_journal_files(tree.root(), Time{}, kLimit).error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace gpuskew
