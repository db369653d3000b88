#include "core/xid.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

TEST(XidMeaningTest, TellsApplicationsFromTheGpu) {
  for (const std::uint32_t xid : {13u, 31u, 43u, 45u, 94u}) {
    EXPECT_EQ(xid_meaning(xid).weight, XidWeight::Application) << xid;
  }
  for (const std::uint32_t xid : {48u, 62u, 64u, 79u, 95u, 119u, 120u, 140u}) {
    EXPECT_EQ(xid_meaning(xid).weight, XidWeight::Fatal) << xid;
    EXPECT_FALSE(xid_meaning(xid).meaning.empty()) << xid;
    EXPECT_FALSE(xid_meaning(xid).helps.empty()) << xid;
  }
  for (const std::uint32_t xid : {61u, 63u, 92u, 154u, 9999u}) {
    EXPECT_EQ(xid_meaning(xid).weight, XidWeight::Noted) << xid;
  }
}

TEST(RecoveryActionTest, IsTheOneThatIsNeededNow) {
  EXPECT_EQ(recovery_action(
                "Xid (PCI:0008:01:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"),
            "GPU Reset Required");
  EXPECT_EQ(recovery_action("GPU recovery action changed from 0x2 (OS Reboot) to 0x0 (None)"), "None");
  EXPECT_EQ(recovery_action("GPU recovery action changed"), "");
  EXPECT_EQ(recovery_action(" to 0x1 (cut"), "");
}

}  // namespace
}  // namespace gpuskew
