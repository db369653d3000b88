#include "agent/facts_text.h"

#include <string>

#include <gtest/gtest.h>

#include "agent/take_snapshot.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

std::string text_of(std::string_view scenario) {
  return facts_text(take_snapshot(host_fixture(scenario), "gpu-01", "0.1.0", Time{}));
}

TEST(FactsText, ShowsEachFactWithItsSource) {
  EXPECT_EQ(text_of("gpu-gone-after-bump"),
            "node              gpu-01\n"
            "kernel            5.15.0-122-generic  (from /proc/sys/kernel/osrelease)\n"
            "architecture      x86_64  (from /sbin/init)\n"
            "boot id           b7e0d914-26c3-4f58-a1d7-90c4e83f5d12  (from /proc/sys/kernel/random/boot_id)\n"
            "boot time         2024-10-31T08:00:00Z  (from /proc/stat)\n"
            "OS                ubuntu 22.04 (Ubuntu 22.04.4 LTS)  (from /etc/os-release)\n"
            "loaded driver     none  (from /sys/module)\n"
            "flavour           none  (from /sys/module)\n"
            "L4T release       none  (from /etc/nv_tegra_release)\n"
            "module file       none  (from /lib/modules/5.15.0-122-generic)\n"
            "libnvidia-ml      550.90.07  (from /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07)\n"
            "libcuda           550.90.07  (from /usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07)\n"
            "driver container  none  (from /run/nvidia/driver)\n"
            "GPUs              2  (from /sys/bus/pci/devices)\n"
            "  0000:3b:00.0    10de:20b0, driver none  (from /sys/bus/pci/devices/0000:3b:00.0/driver)\n"
            "  0000:86:00.0    10de:20b2, driver none  (from /sys/bus/pci/devices/0000:86:00.0/driver)\n");
}

TEST(FactsText, ShowsTheModuleFilesVersionAndAContainersLibraries) {
  EXPECT_NE(text_of("library-mismatch").find("  its version     535.183.06  (from "), std::string::npos);
  const std::string container = text_of("driver-container");
  EXPECT_NE(container.find("535.104.05, in the driver container  (from /run/nvidia/driver/usr/lib/"),
            std::string::npos);
  EXPECT_NE(container.find("/run/nvidia/driver, mounted"), std::string::npos);
}

TEST(FactsText, SaysWhyAFactIsUnknown) {
  const ScratchTree tree;
  const std::string text = facts_text(take_snapshot(tree.root(), "n", "0.1.0", Time{}));
  EXPECT_NE(
      text.find("kernel            unknown, because reading /proc/sys/kernel/osrelease: no such file or directory  "
                "(from /proc/sys/kernel/osrelease)\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("libraries         unknown, because "), std::string::npos);
  EXPECT_NE(text.find("GPUs              unknown, because "), std::string::npos);
}

TEST(FactsText, ShowsNoControlCharacterOfAHostsFile) {
  const ScratchTree tree;
  tree.pci("0000:3b:00.0", "0x10de", "0x20b0", "0x030200", "evil \x1b]0;owned\x07 \xc2\x9b caf\xc3\xa9");
  const std::string text = facts_text(take_snapshot(tree.root(), "n", "0.1.0", Time{}));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("evil \\x1b]0;owned\\x07 \\x9b caf\xc3\xa9"), std::string::npos) << text;
}

}  // namespace
}  // namespace gpuskew
