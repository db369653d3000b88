#include "agent/uevents.h"

#include <sched.h>

#include <string>

#include <gtest/gtest.h>

#include "agent/limited_child.h"

namespace gpuskew {
namespace {

std::string uevent(const std::string& header, const std::string& subsystem) {
  return header + '\0' + "ACTION=x" + '\0' + "SUBSYSTEM=" + subsystem + '\0' + "SEQNUM=1" + '\0';
}

TEST(UeventTest, ModulesPciDevicesAndDriversMatter) {
  EXPECT_TRUE(is_relevant_uevent(uevent("remove@/module/nvidia", "module")));
  EXPECT_TRUE(is_relevant_uevent(uevent("unbind@/devices/pci0000:00/0000:3b:00.0", "pci")));
  EXPECT_TRUE(is_relevant_uevent(uevent("add@/bus/pci/drivers/nvidia", "drivers")));
  EXPECT_FALSE(is_relevant_uevent(uevent("add@/devices/virtual/net/veth0", "net")));
  EXPECT_FALSE(is_relevant_uevent("libudev"));
  EXPECT_FALSE(is_relevant_uevent(""));
  EXPECT_FALSE(is_relevant_uevent(std::string("\0\0\0", 3)));
}

TEST(UeventTest, AUserNamespaceOfItsOwnHearsNone) {
  std::string doubt;
  const ChildLimits limits{std::chrono::seconds(20), 10, std::uint64_t{1} << 30, 4096};
  const auto ran = run_limited_child(
      "asking", limits,
      [](const ChildAnswer& say) { say(::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 ? uevents_doubt() : "skip"); },
      [&doubt](std::string_view piece) { doubt += piece; });
  ASSERT_TRUE(ran);
  if (doubt == "skip") {
    GTEST_SKIP() << "no user namespaces here";
  }
  EXPECT_EQ(doubt, "none come here, because this network namespace belongs to a user namespace of its own");
}

}  // namespace
}  // namespace gpuskew
