#include "agent/probes/apt_history.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

InstallTrace deb(std::string name, std::string version) {
  return {InstallKind::Deb, InstallPart::UserSpace, std::move(name), std::move(version), "/var/lib/dpkg/status"};
}

constexpr std::string_view kLog =
    "\nStart-Date: 2024-08-01  10:00:00\nCommandline: apt-get install nvidia-driver-550\nRequested-By: ops (1000)\n"
    "Install: nvidia-driver-550:amd64 (550.54.15-0ubuntu1), libnvidia-compute-550:amd64 (550.54.15-0ubuntu1, "
    "automatic)\n"
    "End-Date: 2024-08-01  10:01:00\n"
    "\nStart-Date: 2024-09-05  06:12:01\nCommandline: /usr/bin/unattended-upgrade\n"
    "Upgrade: bash:amd64 (5.1, 5.2), libnvidia-compute-550:amd64 (550.54.15-0ubuntu1, 550.90.07-0ubuntu1)\n"
    "End-Date: 2024-09-05  06:12:09\n"
    "\nStart-Date: 2024-09-06  06:12:01\nCommandline: apt-get purge\nRemove: nvidia-utils-550:amd64 "
    "(550.90.07-0ubuntu1)\n"
    "End-Date: 2024-09-06  06:12:09\n";

TEST(AptHistory, NamesTheNewestCommandThatBroughtTheVersion) {
  InstallTraces traces = {deb("libnvidia-compute-550", "550.90.07-0ubuntu1"),
                          deb("nvidia-driver-550", "550.54.15-0ubuntu1"), deb("libcuda1", "535.1-1")};
  note_apt_changes(kLog, traces);
  EXPECT_EQ(traces[0].changed_by, "/usr/bin/unattended-upgrade, 2024-09-05 06:12:01 by the node's clock");
  EXPECT_EQ(traces[1].changed_by, "apt-get install nvidia-driver-550, 2024-08-01 10:00:00 by the node's clock");
  EXPECT_EQ(traces[2].changed_by, "");
}

TEST(AptHistory, TakesAPackageOfTheSameVersionForOneOfTheSameSource) {
  InstallTraces traces = {deb("nvidia-utils-550", "550.90.07-0ubuntu1")};
  note_apt_changes(kLog, traces);
  EXPECT_TRUE(traces[0].changed_by.starts_with("/usr/bin/unattended-upgrade"));
}

TEST(AptHistory, SkipsAnEntryWhoseBeginningIsCutOff) {
  InstallTraces traces = {deb("libnvidia-compute-550", "550.90.07-0ubuntu1")};
  note_apt_changes("Upgrade: libnvidia-compute-550:amd64 (550.54.15-0ubuntu1, 550.90.07-0ubuntu1)\n", traces);
  EXPECT_EQ(traces[0].changed_by, "");
}

TEST(AptHistory, ShowsNoByteThatIsNoText) {
  InstallTraces traces = {deb("libcuda1", "1")};
  note_apt_changes("Start-Date: 2024\x1b[2J\nCommandline: \xff\x01 x\nInstall: libcuda1:amd64 (1)\n\n", traces);
  EXPECT_EQ(traces[0].changed_by, "?? x, 2024?[2J by the node's clock");
}

TEST(AptHistory, SurvivesAnything) {
  for (const std::string& log :
       {std::string(1 << 20, '('), std::string(1 << 16, '\0'), std::string("Start-Date: x\nUpgrade: ((((("),
        std::string("Start-Date: x\nUpgrade: nvidia:a (1, 2"), std::string("\n\n\n"),
        "Start-Date: x\nInstall: " + std::string(1 << 20, ')')}) {
    InstallTraces traces = {deb("libcuda1", "1")};
    note_apt_changes(log, traces);
    EXPECT_EQ(traces[0].changed_by, "");
  }
}

TEST(AptHistory, IsReadFromItsEnd) {
  const ScratchTree tree;
  tree.write("/var/log/apt/history.log", std::string(1 << 20, 'x') + std::string(kLog));
  InstallTraces traces = {deb("libnvidia-compute-550", "550.90.07-0ubuntu1")};
  note_apt_changes(tree.root(), traces);
  EXPECT_TRUE(traces[0].changed_by.starts_with("/usr/bin/unattended-upgrade"));
}

TEST(AptHistory, ThatIsNotThereTellsNothing) {
  const ScratchTree tree;
  InstallTraces traces = {deb("libcuda1", "1")};
  note_apt_changes(tree.root(), traces);
  EXPECT_EQ(traces[0].changed_by, "");
}

}  // namespace
}  // namespace gpuskew
