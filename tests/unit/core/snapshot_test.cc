#include "core/snapshot.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

Snapshot healthy() {
  Snapshot s;
  s.node = "gpu-1";
  s.taken_at = from_unix_ms(1'000);
  s.boot_id = Fact<std::string>::known("b1", "boot_id");
  s.kernel = Fact<KernelRelease>::known(KernelRelease::parse("5.15.0-119-generic").value(), "osrelease");
  s.loaded_driver = Fact<DriverVersion>::known(DriverVersion::parse("550.90.07").value(), "version");
  s.gpus = Fact<std::vector<Gpu>>::known({Gpu{"0000:3b:00.0", 0x20b0, {}}, Gpu{"0000:86:00.0", 0x20b0, {}}}, "pci");
  return s;
}

TEST(Snapshot, SameFactsIgnoresOnlyTheTime) {
  const Snapshot a = healthy();
  Snapshot b = a;
  b.taken_at = from_unix_ms(2'000);
  EXPECT_TRUE(a.same_facts(b));
  b.gpus = Fact<std::vector<Gpu>>::known({}, "pci");
  EXPECT_FALSE(a.same_facts(b));
  b = a;
  b.remembered = good_state(a);
  EXPECT_FALSE(a.same_facts(b));
  b = a;
  b.agent_version = "0.2";
  EXPECT_FALSE(a.same_facts(b));
}

TEST(Snapshot, ProvesAGoodStateWhileTheModuleIsLoaded) {
  Snapshot s = healthy();
  const auto good = good_state(s);
  ASSERT_TRUE(good);
  EXPECT_EQ(good->at, from_unix_ms(1'000));
  EXPECT_EQ(good->boot_id, "b1");
  EXPECT_EQ(good->kernel.text(), "5.15.0-119-generic");
  EXPECT_EQ(good->driver.text(), "550.90.07");
  EXPECT_EQ(good->gpu_count, 2U);
  EXPECT_FALSE(good->from_container);

  s.driver_container = Fact<DriverContainer>::known({"/run/nvidia/driver", true}, "mounts");
  EXPECT_TRUE(good_state(s)->from_container);
  s.driver_container = Fact<DriverContainer>::known({"/run/nvidia/driver", false}, "mounts");
  EXPECT_FALSE(good_state(s)->from_container);
}

TEST(Snapshot, ProvesNothingWithoutModuleOrKernel) {
  Snapshot no_module = healthy();
  no_module.loaded_driver = Fact<DriverVersion>::absent("version");
  EXPECT_EQ(good_state(no_module), std::nullopt);
  Snapshot no_kernel = healthy();
  no_kernel.kernel = Fact<KernelRelease>::unknown({ErrorCode::Denied, "permission denied"}, "osrelease");
  EXPECT_EQ(good_state(no_kernel), std::nullopt);
  EXPECT_EQ(good_state(Snapshot{}), std::nullopt);
}

TEST(Snapshot, DoesNotCountGpusItCouldNotSee) {
  Snapshot s = healthy();
  s.gpus = Fact<std::vector<Gpu>>::unknown({ErrorCode::Denied, "permission denied"}, "pci");
  s.boot_id = {};
  EXPECT_EQ(good_state(s)->gpu_count, std::nullopt);
  EXPECT_EQ(good_state(s)->boot_id, "");
}

}  // namespace
}  // namespace gpuskew
