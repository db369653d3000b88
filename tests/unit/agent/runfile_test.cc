#include "agent/probes/runfile.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kLog =
    "nvidia-installer log file '/var/log/nvidia-installer.log'\ncreation time: Wed Jul  8 18:41:56 2020\n"
    "installer version: 550.90.07\n\nPATH: /usr/bin\n\nnvidia-installer command line:\n    ./nvidia-installer\n";
constexpr const char* kDone =
    "-> Installation of the NVIDIA Accelerated Graphics Driver (version 550.90.07) is now complete.\n";

void install(const ScratchTree& tree) {
  tree.write("/usr/bin/nvidia-installer", "program");
  tree.link("/usr/bin/nvidia-uninstall", "nvidia-installer");
}

TEST(Runfile, IsProvenByItsUninstallerAndToldByItsRecord) {
  const ScratchTree tree;
  install(tree);
  tree.write("/var/lib/nvidia/log",
             "1.0-5509007 (550.90.07)\nNVIDIA Accelerated Graphics Driver\n0: /usr/bin/nvidia-smi\n");
  tree.write("/var/log/nvidia-installer.log", "installer version: 560.35.03\nERROR: Installation has failed.\n");
  const auto traces = read_runfile_traces(tree.root());
  ASSERT_TRUE(traces.has_value());
  EXPECT_EQ(*traces, (InstallTraces{{InstallKind::Runfile, InstallPart::KernelModule, "/usr/bin/nvidia-uninstall",
                                     "550.90.07", "/var/lib/nvidia/log"},
                                    {InstallKind::Runfile, InstallPart::UserSpace, "/usr/bin/nvidia-uninstall",
                                     "550.90.07", "/var/lib/nvidia/log"}}));
}

TEST(Runfile, IsToldByTheLogOfAnInstallationThatCameToItsEnd) {
  const ScratchTree tree;
  install(tree);
  tree.write("/var/log/nvidia-installer.log", kLog + std::string(1 << 20, 'c') + "\n" + kDone);
  EXPECT_EQ(read_runfile_traces(tree.root())->front().version, "550.90.07");
  tree.write("/var/log/nvidia-installer.log", std::string(kLog) + "ERROR: Installation has failed.\n");
  EXPECT_EQ(read_runfile_traces(tree.root())->front().version, "") << "a later attempt says nothing of what is there";
}

TEST(Runfile, IsNotProvenByALogThatStayedBehind) {
  const ScratchTree tree;
  tree.write("/var/log/nvidia-installer.log", std::string(kLog) + kDone);
  EXPECT_TRUE(read_runfile_traces(tree.root())->empty());
}

TEST(Runfile, IsNotProvenByALinkToNothing) {
  const ScratchTree tree;
  tree.link("/usr/bin/nvidia-uninstall", "nvidia-installer");
  EXPECT_TRUE(read_runfile_traces(tree.root())->empty());
}

TEST(Runfile, IsProvenByItsRecordAlone) {
  const ScratchTree tree;
  tree.write("/var/lib/nvidia/log", "1.0-5509007 (550.90.07)\n");
  EXPECT_EQ(read_runfile_traces(tree.root())->front().name, "/var/lib/nvidia/log");
  tree.write("/var/lib/nvidia/log", "something else of that name\n");
  EXPECT_TRUE(read_runfile_traces(tree.root())->empty());
}

TEST(Runfile, WithoutKernelModulesBringsUserSpaceOnly) {
  const ScratchTree tree;
  install(tree);
  tree.write("/var/log/nvidia-installer.log", std::string(kLog) + "    --no-kernel-modules\n    --silent\n" + kDone);
  const auto traces = read_runfile_traces(tree.root());
  ASSERT_EQ(traces->size(), 1U);
  EXPECT_EQ(traces->front().part, InstallPart::UserSpace);
}

TEST(Runfile, IsAnErrorWhereItCanNotBeLookedFor) {
  const ScratchTree tree;
  tree.broken("/usr/bin/nvidia-uninstall");
  EXPECT_FALSE(read_runfile_traces(tree.root()).has_value());
  const ScratchTree record;
  record.fifo("/var/lib/nvidia/log");
  EXPECT_FALSE(read_runfile_traces(record.root()).has_value());
}

}  // namespace
}  // namespace gpuskew
