#include "agent/probes/kernel_settings.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

using namespace std::string_literals;
constexpr const char* kSecureBoot = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

TEST(CommandLine, IsOneLineOfPrintableText) {
  const ScratchTree tree;
  tree.write("/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 x=\xff\033[1m\n");
  const auto fact = read_command_line(tree.root());
  EXPECT_EQ(*fact, "BOOT_IMAGE=/vmlinuz root=/dev/sda1 x=??[1m");
  EXPECT_EQ(fact.source(), "/proc/cmdline");
}

TEST(CommandLine, IsUnknownWhenItCanNotBeRead) {
  const ScratchTree tree;
  EXPECT_TRUE(read_command_line(tree.root()).is_unknown());
  tree.write("/proc/cmdline", std::string(1 << 20, 'x'));
  EXPECT_EQ(read_command_line(tree.root()).why().code, ErrorCode::TooLarge);
}

TEST(Lockdown, IsTheLevelInBrackets) {
  const ScratchTree tree;
  for (const char* level : {"none", "integrity", "confidentiality"}) {
    std::string text = "none integrity confidentiality\n";
    text.replace(text.find(level), std::string(level).size(), "[" + std::string(level) + "]");
    tree.write("/sys/kernel/security/lockdown", text);
    EXPECT_EQ(*read_lockdown(tree.root()), level);
  }
  tree.write("/sys/kernel/security/lockdown", "none integrity\n");
  EXPECT_EQ(read_lockdown(tree.root()).why().code, ErrorCode::Malformed);
}

TEST(Lockdown, IsAbsentOnlyWhereTheKernelShowsThatItHasNone) {
  const ScratchTree tree;
  EXPECT_TRUE(read_lockdown(tree.root()).is_unknown());
  tree.directory("/sys/kernel/debug");
  EXPECT_TRUE(read_lockdown(tree.root()).is_absent());
  tree.directory("/sys/kernel/security");
  EXPECT_EQ(read_lockdown(tree.root()).why().what, "listing /sys/kernel/security: empty, so securityfs is not mounted");
  tree.write("/sys/kernel/security/lsm", "capability");
  EXPECT_TRUE(read_lockdown(tree.root()).is_absent());
  tree.fifo("/sys/kernel/security/lockdown");
  EXPECT_TRUE(read_lockdown(tree.root()).is_unknown());
}

TEST(SecureBoot, IsTheLastByteOfTheFirmwaresVariable) {
  const ScratchTree tree;
  tree.write(kSecureBoot, "\x06\0\0\0\x01"s);
  EXPECT_TRUE(*read_secure_boot(tree.root()));
  tree.write(kSecureBoot, "\x06\0\0\0\0"s);
  EXPECT_FALSE(*read_secure_boot(tree.root()));
}

TEST(SecureBoot, IsUnknownWhenTheVariableIsNone) {
  for (const std::string& bad : {""s, "\x06\0\0\0"s, "\x06\0\0\0\x02"s, std::string(1 << 20, '\1')}) {
    const ScratchTree tree;
    tree.write(kSecureBoot, bad);
    EXPECT_TRUE(read_secure_boot(tree.root()).is_unknown()) << bad.size();
  }
}

TEST(SecureBoot, IsAbsentOnlyWhereTheFirmwareIsShownToBeNoEfi) {
  const ScratchTree tree;
  EXPECT_TRUE(read_secure_boot(tree.root()).is_unknown());
  tree.directory("/sys/firmware");  // as containers mask it
  EXPECT_TRUE(read_secure_boot(tree.root()).is_unknown());
  tree.directory("/sys/firmware/acpi");
  EXPECT_TRUE(read_secure_boot(tree.root()).is_absent());
}

TEST(SecureBoot, IsUnknownWithoutTheVariablesAndOffWithoutThisOne) {
  const ScratchTree tree;
  tree.directory("/sys/firmware/efi/efivars");
  EXPECT_TRUE(read_secure_boot(tree.root()).is_unknown());
  tree.write("/sys/firmware/efi/efivars/BootCurrent-8be4df61-93ca-11d2-aa0d-00e098032b8c", "x");
  EXPECT_FALSE(*read_secure_boot(tree.root()));
}

TEST(SecureBootMemory, AsksTheFirmwareOnceABoot) {
  const ScratchTree tree;
  SecureBootMemory memory;
  const auto boot = [](const char* id) { return Fact<std::string>::known(id, "test"); };
  EXPECT_TRUE(memory.read(tree.root(), boot("a")).is_unknown());
  tree.write(kSecureBoot, "\x06\0\0\0\x01"s);
  EXPECT_TRUE(*memory.read(tree.root(), boot("a"))) << "an answer that failed is asked for again";
  tree.write(kSecureBoot, "\x06\0\0\0\0"s);
  EXPECT_TRUE(*memory.read(tree.root(), boot("a")));
  EXPECT_FALSE(*memory.read(tree.root(), boot("b")));
  tree.write(kSecureBoot, "\x06\0\0\0\x01"s);
  EXPECT_TRUE(*memory.read(tree.root(), Fact<std::string>())) << "without a boot id nothing is kept";
}

}  // namespace
}  // namespace gpuskew
