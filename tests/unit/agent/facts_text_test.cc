#include "agent/facts_text.h"

#include <string>

#include <gtest/gtest.h>

#include "agent/take_snapshot.h"
#include "tests/unit/agent/scratch_tree.h"
#include "tests/unit/proto/sample.h"

namespace gpuskew {
namespace {

std::string text_of(std::string_view scenario) {
  return facts_text(take_snapshot(host_fixture(scenario), "gpu-01", "0.1.0", Time{}));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(FactsText, ShowsEachFactWithItsSource) {
  EXPECT_EQ(facts_text(sample_snapshot()), R"(node                    gpu-7.rack-3

kernel and next boot
kernel                  5.15.0-119-generic  (from /proc/sys/kernel/osrelease)
architecture            x86_64  (from /proc/sys/kernel/arch)
boot id                 4d1f2b7e-51cc-43c8-9d1a-0d6b9f3b5c11  (from /proc/sys/kernel/random/boot_id)
boot time               2026-05-17T06:40:00Z  (from /proc/stat)
OS                      ubuntu 22.04 (Ubuntu 22.04.5 LTS)  (from /etc/os-release)
command line            root=/dev/sda1 ro quiet  (from /proc/cmdline)
secure boot             on  (from /sys/firmware/efi/efivars)
lockdown                integrity  (from /sys/kernel/security/lockdown)
installed kernels       2  (from /lib/modules)
  5.15.0-119-generic    nvidia module 550.90.07 (dkms)  (from /lib/modules/5.15.0-119-generic)
  5.15.0-122-generic    nvidia module none, no headers  (from /lib/modules/5.15.0-122-generic)
next kernel             5.15.0-122-generic, by first entry of grub.cfg  (from /boot/grub/grub.cfg)
dkms                    2  (from /var/lib/dkms)
  nvidia/550.90.07      installed, kernel 5.15.0-119-generic, x86_64
  nvidia/550.90.07      failed, kernel 5.15.0-122-generic, x86_64, see make.log
boot builders           1  (from /etc)
  dkms                  builds missing modules at boot  (from /etc/systemd/system/x.wants)
reboot required         yes, by linux-image-5.15.0-122-generic  (from /run/reboot-required)

driver
loaded driver           550.90.07  (from /sys/module/nvidia/version)
flavour                 open  (from /proc/driver/nvidia/version)
L4T release             none  (from /proc/driver/nvidia/version)
WSL                     none  (from /proc/sys/kernel/osrelease)
module file             /lib/modules/5.15.0-119-generic/updates/dkms/nvidia.ko  (from /lib/modules/5.15.0-119-generic)
  its version           550.90.07  (from /lib/modules/5.15.0-119-generic/updates/dkms/nvidia.ko)
  its flavour           open  (from /lib/modules/5.15.0-119-generic/updates/dkms/nvidia.ko)
  built for             5.15.0-119-generic  (from /lib/modules/5.15.0-119-generic/updates/dkms/nvidia.ko)
loaded modules          2  (from /proc/modules)
  nvidia                live, refcount 3, used by nvidia_uvm, nvidia_modeset, taints POE
  nvidia_uvm            unloading, since 2026-05-23T01:33:20Z, refcount not told, taints POE-
libraries               2  (from /usr/lib/x86_64-linux-gnu)
  libnvidia-ml          550.90.07  (from /usr/lib/x86_64-linux-gnu/libnvidia-ml.so.550.90.07)
  libcuda               550.90.07, in the driver container  (from /usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07)
fabric manager          550.90.07  (from /usr/bin/nv-fabricmanager)
driver container        /run/nvidia/driver, mounted  (from /run/nvidia/driver)
validations             1  (from /run/nvidia/validations)
  driver-ready          2026-05-17T06:43:20Z, the host's driver
installed by            2  (from /var/lib/dpkg/status)
  deb                   nvidia-driver-550, 550.90.07-0ubuntu1 (user-space), brought by /usr/bin/unattended-upgrade  (from /var/lib/dpkg/status)
  runfile               /usr/bin/nvidia-uninstall (kernel-module)  (from /usr/bin)

hardware
GPUs                    2  (from /sys/bus/pci/devices)
  0000:3b:00.0          10de:20b5, driver nvidia  (from /sys/bus/pci/devices/0000:3b:00.0/driver)
  10000:af:00.0         10de:20b5, driver none  (from /sys/bus/pci/devices/10000:af:00.0/driver)
expected GPUs           8  (from the agent's configuration)
other NVIDIA functions  2  (from /sys/bus/pci/devices)
  0000:3b:00.1          10de:1aef, audio
  0000:c4:00.0          10de:1af1, nvswitch
device nodes            2  (from /dev)
  /dev/nvidia0          195:0
  /dev/nvidiactl        195:255
device holders          3, unknown for 1 processes, because permission denied  (from /proc)
  4711                  python3, pod b1946ac9-2492-4d3e-8c5f-0a7d1e9c5b11, holds /dev/nvidia0, /dev/nvidiactl
  812                   Xorg, gdm.service, holds /dev/nvidia0

kernel log
causes in this boot     2  (from /run/log/journal)
  api-mismatch          7 times, 2026-05-17T06:41:00Z to 2026-05-17T06:42:00Z: NVRM: API mismatch
  fell-off-bus          7 times, 2026-05-17T06:41:00Z to 2026-05-17T06:42:00Z: NVRM: API mismatch

container runtime
runtime                 containerd 1.7.24, k3s  (from /etc/containerd/config.toml)
  configuration         /etc/containerd/config.toml, format 2
  started at            2026-05-17T06:40:30Z  (from /proc/1203/stat)
  newest change         2026-05-27T16:40:00Z  (from /etc/containerd/conf.d/99-nvidia.toml)
  toolkit               /usr/bin/nvidia-container-runtime
  default runtime       runc
  CDI enabled           yes
  nvidia handlers       1
    nvidia              /usr/bin/nvidia-container-runtime  (from /etc/containerd/conf.d/99-nvidia.toml)
  not imported          /etc/containerd/conf.d/nobody.toml
  conflict              plugins.cri: /etc/containerd/a.toml wins, without effect is /etc/containerd/b.toml, lost is runtime nvidia
CDI specifications      1  (from /var/run/cdi)
  nvidia.com/gpu        2 devices, driver 550.90.07  (from /var/run/cdi/nvidia.yaml)

kubelet
device plugins          nvidia-gpu.sock  (from /var/lib/kubelet/device-plugins)
  nvidia.com/gpu        2 registered
  pod b1946ac9          1 of nvidia.com/gpu, container trainer

remembered
last good state         550.90.07 on 5.15.0-117-generic, 2026-05-05T16:53:20Z, 2 GPUs, from the driver container
  its GPUs              0000:3b:00.0, 10000:af:00.0
)");
}

TEST(FactsText, ShowsAHostsOwnFacts) {
  const std::string text = text_of("gpu-gone-after-bump");
  EXPECT_TRUE(has(text, "5.15.0-122-generic  (from /proc/sys/kernel/osrelease)\n")) << text;
  EXPECT_TRUE(has(text, "ubuntu 22.04 (Ubuntu 22.04.4 LTS)  (from /etc/os-release)\n"));
  EXPECT_TRUE(has(text, "10de:20b0, driver none  (from /sys/bus/pci/devices/0000:3b:00.0/driver)\n"));
  const std::string container = text_of("driver-container");
  EXPECT_TRUE(has(container, "535.104.05, in the driver container  (from /run/nvidia/driver/usr/lib/"));
  EXPECT_TRUE(has(container, "/run/nvidia/driver, mounted"));
}

TEST(FactsText, SaysWhyAFactIsUnknown) {
  const ScratchTree tree;
  const std::string text = facts_text(take_snapshot(tree.root(), "n", "0.1.0", Time{}));
  EXPECT_TRUE(has(text,
                  "unknown, because reading /proc/sys/kernel/osrelease: no such file or directory  "
                  "(from /proc/sys/kernel/osrelease)\n"))
      << text;
  EXPECT_TRUE(has(text, "\nlibraries               unknown, because ")) << text;
  EXPECT_TRUE(has(text, "\nGPUs                    unknown, because ")) << text;
}

TEST(FactsText, AFactNobodyReadIsUnknownAndNotNone) {
  Snapshot snapshot;
  snapshot.node = "n";
  const std::string text = facts_text(snapshot);
  EXPECT_FALSE(has(text, "none")) << text;
  std::size_t unknown = 0;
  for (std::size_t at = text.find("unknown, because not reported"); at != std::string::npos;
       at = text.find("unknown, because not reported", at + 1)) {
    ++unknown;
  }
  EXPECT_EQ(unknown, 32u) << text;
}

TEST(FactsText, NamesAPodThatAskedForNoGpuAndWhatCouldNotBeRead) {
  Snapshot snapshot;
  DeviceHolders holders;
  holders.items = {{7, "dcgm", {"/dev/nvidia0"}, "b1946ac9", "f0", "", false}};
  holders.total = 1;
  holders.unread = 2;
  holders.unread_why = "permission denied";
  snapshot.holders = Fact<DeviceHolders>::known(holders, "/proc");
  const std::string text = facts_text(snapshot);
  EXPECT_TRUE(has(text, "1, unknown for 2 processes, because permission denied  (from /proc)\n")) << text;
  EXPECT_TRUE(has(text, "dcgm, pod b1946ac9, which asked for no GPU, holds /dev/nvidia0\n")) << text;
}

TEST(FactsText, ShowsNoControlCharacterOfAHostsFile) {
  const ScratchTree tree;
  tree.pci("0000:3b:00.0", "0x10de", "0x20b0", "0x030200", "evil \x1b]0;owned\x07 \xc2\x9b caf\xc3\xa9");
  const std::string text = facts_text(take_snapshot(tree.root(), "n", "0.1.0", Time{}));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("evil \\x1b]0;owned\\x07 \\u009b caf\xc3\xa9"), std::string::npos) << text;
}

}  // namespace
}  // namespace gpuskew
