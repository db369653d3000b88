#include "agent/probes/next_kernel.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/unit/agent/boot_tree.h"

namespace gpuskew {
namespace {

constexpr const char* kOld = "6.1.0-50-amd64";
constexpr const char* kNew = "6.1.0-57-amd64";
constexpr const char* kLoader = "-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
constexpr const char* kFirmware = "-8be4df61-93ca-11d2-aa0d-00e098032b8c";

// A BIOS machine with two kernels.
class NextKernelFact : public ::testing::Test {
 protected:
  NextKernelFact() {
    tree.directory("/sys/firmware");
    install_kernel(tree, kOld);
    install_kernel(tree, kNew);
  }

  std::string next() const {
    const auto fact = read_next_boot_entry(tree.root()).kernel;
    if (fact.is_known()) {
      return fact->release.text();
    }
    return fact.is_absent() ? "absent" : "unknown: " + fact.why().what;
  }
  std::string rule() const { return read_next_boot_entry(tree.root()).kernel->rule; }

  void grub(std::string_view chosen, std::string_view environment = "") const {
    tree.write("/boot/grub/grub.cfg", grub_config({kNew, kOld}, chosen));
    tree.write("/boot/grub/grubenv", grub_environment(environment));
  }
  void make_efi() const { tree.write(std::string("/sys/firmware/efi/efivars/BootCurrent") + kFirmware, "1"); }
  void efi_variable(std::string_view name, std::string_view text) const {
    tree.write("/sys/firmware/efi/efivars/" + std::string(name) + kLoader, efi_text(text));
  }
  void install_systemd_boot() const {
    make_efi();
    tree.write("/boot/EFI/systemd/systemd-bootx64.efi", "MZ");
    efi_variable("LoaderInfo", "systemd-boot 252.5-2~deb12u1");
    tree.write("/boot/loader/entries/deb-6.1.0-50-amd64.conf", loader_entry("Debian", kOld, "/vmlinuz-6.1.0-50-amd64"));
    tree.write("/boot/loader/entries/deb-6.1.0-57-amd64.conf", loader_entry("Debian", kNew, "/vmlinuz-6.1.0-57-amd64"));
  }

  const ScratchTree tree;
};

TEST_F(NextKernelFact, IsGrubsFirstEntry) {
  grub("\"0\"");
  EXPECT_EQ(next(), kNew);
  EXPECT_EQ(rule(), "default of /boot/grub/grub.cfg");
  EXPECT_EQ(read_next_boot_entry(tree.root()).kernel.source(), "/boot/grub/grub.cfg");
}

TEST_F(NextKernelFact, IsTheSubmenusEntryByNumberByIdAndByTitle) {
  for (const char* chosen :
       {"\"1>2\"", "\"gnulinux-advanced-12-34>gnulinux-6.1.0-50-amd64-advanced-12-34\"",
        "'Advanced options for Debian GNU/Linux>Debian GNU/Linux, with Linux 6.1.0-50-amd64'", "\"1>3\""}) {
    grub(chosen);
    EXPECT_EQ(next(), kOld) << chosen;
  }
  grub("\"1\"");  // a submenu alone: its first entry
  EXPECT_EQ(next(), kNew);
}

TEST_F(NextKernelFact, FollowsTheSavedEntryAndTheNextOneOverIt) {
  grub("\"${saved_entry}\"", "saved_entry=1>2\n");
  EXPECT_EQ(next(), kOld);
  EXPECT_EQ(rule(), "saved_entry of grubenv");
  grub("\"${saved_entry}\"", "saved_entry=1>2\nnext_entry=0\n");
  EXPECT_EQ(next(), kNew);
  EXPECT_EQ(rule(), "next_entry of grubenv");
}

TEST_F(NextKernelFact, IsTheFirstEntryWhereTheSavedOneIsGone) {
  grub("\"${saved_entry}\"", "saved_entry=gnulinux-advanced-12-34>gnulinux-5.10.0-9-amd64-advanced-12-34\n");
  EXPECT_EQ(next(), kNew);
  EXPECT_EQ(rule(), "first entry of /boot/grub/grub.cfg, because saved_entry of grubenv names one that is not there");
  tree.remove("/boot/grub/grubenv");
  EXPECT_EQ(next(), kNew);
  EXPECT_EQ(rule(), "first entry of /boot/grub/grub.cfg");
}

TEST_F(NextKernelFact, IsNotWhatEtcDefaultGrubSays) {
  grub("\"0\"");
  tree.write("/etc/default/grub", "GRUB_DEFAULT=\"1>2\"\n");
  EXPECT_EQ(next(), kNew);
}

TEST_F(NextKernelFact, IsKnownFromASeparateBootPartitionAndFromASubvolume) {
  tree.write("/boot/grub2/grub.cfg", grub_config({kNew, kOld}, "\"0\"", ""));
  EXPECT_EQ(next(), kNew);
  tree.write("/boot/grub2/grub.cfg", grub_config({kOld, kNew}, "\"0\"", "/@/boot"));
  EXPECT_EQ(next(), kOld);
}

TEST_F(NextKernelFact, IsWhatTheImageCallsItselfWhateverItsName) {
  tree.write("/boot/vmlinuz-linux", bzimage("6.14.4-arch1-2"));
  tree.write("/boot/grub/grub.cfg", "menuentry 'Arch Linux' {\n linux /vmlinuz-linux root=/dev/sda2\n}\n");
  EXPECT_EQ(next(), "6.14.4-arch1-2");
}

TEST_F(NextKernelFact, OfAnotherArchitectureIsKnownByItsFilesName) {
  tree.write("/boot/vmlinuz-6.1.0-57-arm64", "MZ an arm64 image");
  tree.write("/boot/grub/grub.cfg", grub_config({"6.1.0-57-arm64"}, "\"0\""));
  EXPECT_EQ(next(), "unknown: /boot/vmlinuz-6.1.0-57-arm64 does not say which of the installed kernels it is");
  tree.directory("/lib/modules/6.1.0-57-arm64");
  EXPECT_EQ(next(), "6.1.0-57-arm64");
}

TEST_F(NextKernelFact, IsUnknownWhereTheKernelIsNotThere) {
  grub("\"0\"");
  tree.remove("/boot/vmlinuz-6.1.0-57-amd64");
  EXPECT_EQ(next(), "unknown: /boot/grub/grub.cfg boots '/boot/vmlinuz-6.1.0-57-amd64', which is not there");
  EXPECT_EQ(read_next_boot_entry(tree.root()).kernel.why().code, ErrorCode::NotFound);
  tree.write("/boot/vmlinuz-6.1.0-57-amd64", "");
  EXPECT_EQ(next(), "unknown: /boot/vmlinuz-6.1.0-57-amd64 is empty");
}

TEST_F(NextKernelFact, IsUnknownWhereGrubsEnvironmentIsSomewhereElseOrDamaged) {
  grub("\"${saved_entry}\"", "env_block=512+1\n");  // btrfs
  EXPECT_TRUE(next().starts_with("unknown: the default entry of /boot/grub/grub.cfg depends on")) << next();
  grub("\"${saved_entry}\"");
  tree.write("/boot/grub/grubenv", std::string(1024, '\0'));
  EXPECT_TRUE(next().starts_with("unknown: the default entry")) << next();
  tree.remove("/boot/grub/grubenv");
  tree.fifo("/boot/grub/grubenv");
  EXPECT_TRUE(next().starts_with("unknown: the default entry")) << next();
}

TEST_F(NextKernelFact, FollowsACustomConfiguration) {
  grub("\"0\"");
  tree.write("/boot/grub/custom.cfg", "set default=\"1>2\"\n");
  EXPECT_EQ(next(), kOld);
}

TEST_F(NextKernelFact, IsUnknownWhereTheDefaultStartsAnotherLoader) {
  tree.write("/boot/grub/grub.cfg", "menuentry 'Windows' {\n chainloader +1\n}\n" + grub_config({kNew}, "0"));
  EXPECT_EQ(next(),
            "unknown: following /boot/grub/grub.cfg: its entry 'Windows' starts another boot loader, or leaves "
            "it to the firmware");
}

TEST_F(NextKernelFact, TakesOneKernelFromBothBranchesOfAnEntry) {
  const std::string linux_line = "linux /boot/vmlinuz-6.1.0-57-amd64 root=PARTUUID=1";
  tree.write("/boot/grub/grub.cfg", "menuentry 'Ubuntu' {\n if [ $root = hd0 ]; then\n " + linux_line + "\n else\n " +
                                        linux_line + " panic=-1\n fi\n}\n");
  EXPECT_EQ(next(), kNew);
  tree.write("/boot/grub/grub.cfg", "menuentry 'Ubuntu' {\n if [ $root = hd0 ]; then\n " + linux_line +
                                        "\n else\n linux /boot/vmlinuz-6.1.0-50-amd64\n fi\n}\n");
  EXPECT_TRUE(next().starts_with("unknown: ")) << next();
}

// ---- Fedora and RHEL: blscfg

class BlsNextKernel : public NextKernelFact {
 protected:
  BlsNextKernel() {
    tree.write("/boot/grub2/grub.cfg",
               "if [ -f ${config_directory}/grubenv ]; then\n  load_env -f ${config_directory}/grubenv\n"
               "elif [ -s $prefix/grubenv ]; then\n  load_env\nfi\n"
               "if [ \"${next_entry}\" ] ; then\n  set default=\"${next_entry}\"\nelse\n"
               "  set default=\"${saved_entry}\"\nfi\n"
               "if [ \"${boot_counter}\" -a \"${boot_success}\" = \"0\" ]; then\n"
               "  if [ \"${boot_counter}\" = \"0\" ]; then\n    set default=1\n  fi\nfi\n"
               "insmod blscfg\nblscfg\n");
    for (const char* release : {"5.14.0-427.9.1.el9_4.x86_64", "5.14.0-427.13.1.el9_4.x86_64"}) {
      install_kernel(tree, release);
      tree.write("/boot/loader/entries/" + machine + "-" + release + ".conf",
                 loader_entry("Red Hat Enterprise Linux", release, "/vmlinuz-" + std::string(release)));
    }
    tree.write("/boot/loader/entries/" + machine + "-0-rescue.conf",
               loader_entry("Rescue", "0-rescue-" + machine, "/vmlinuz-0-rescue-" + machine));
  }
  void environment(std::string_view lines) const { tree.write("/boot/grub2/grubenv", grub_environment(lines)); }

  const std::string machine = "9f2c1d0e3b4a59687766554433221100";
};

TEST_F(BlsNextKernel, IsTheNewestByVersionAndNotByText) {
  environment("");
  EXPECT_EQ(next(), "5.14.0-427.13.1.el9_4.x86_64");
  EXPECT_EQ(rule(), "newest entry of /boot/loader/entries, by /boot/grub2/grub.cfg");
}

TEST_F(BlsNextKernel, IsTheSavedEntryThoughItsIdBeginsWithADigit) {
  environment("saved_entry=" + machine + "-5.14.0-427.9.1.el9_4.x86_64\n");
  EXPECT_EQ(next(), "5.14.0-427.9.1.el9_4.x86_64");
  EXPECT_EQ(rule(), "saved_entry of grubenv");
}

TEST_F(BlsNextKernel, IsTheEntryBeforeWhereBootCountingRanOut) {
  environment("boot_counter=0\nboot_success=0\n");
  EXPECT_EQ(next(), "5.14.0-427.9.1.el9_4.x86_64");
}

TEST_F(BlsNextKernel, IsNotTakenFromEntriesThatAFedoraWithoutSystemdBootHas) {
  make_efi();
  environment("saved_entry=" + machine + "-5.14.0-427.9.1.el9_4.x86_64\n");
  tree.write("/boot/efi/EFI/redhat/grub.cfg",
             "search --no-floppy --fs-uuid --set=dev 12-34\nset prefix=($dev)/grub2\nexport $prefix\n"
             "configfile $prefix/grub.cfg\n");
  EXPECT_EQ(next(), "5.14.0-427.9.1.el9_4.x86_64");
}

TEST_F(BlsNextKernel, IsUnknownWhenAnEntryCanNotBeRead) {
  environment("");
  tree.fifo("/boot/loader/entries/" + machine + "-6.0.conf");
  EXPECT_TRUE(next().starts_with("unknown: following /boot/grub2/grub.cfg: reading ")) << next();
}

TEST_F(BlsNextKernel, SaysWhereItIsAnotherOstreeDeployment) {
  tree.remove("/boot/loader");
  tree.write("/proc/cmdline", "BOOT_IMAGE=/ostree/a/vmlinuz ostree=/ostree/boot.1/fedora/aa/0 ro\n");
  const auto deploy = [this](const char* number, const char* hash) {
    const std::string image = std::string("/ostree/fedora-") + hash + "/vmlinuz-6.5.6-300.fc39.x86_64";
    tree.write("/boot" + image, bzimage("6.5.6-300.fc39.x86_64"));
    tree.write(
        std::string("/boot/loader.1/entries/ostree-") + number + "-fedora.conf",
        loader_entry("Fedora", number, image, std::string("options ostree=/ostree/boot.1/fedora/") + hash + "/0\n"));
  };
  tree.link("/boot/loader", "loader.1");
  deploy("1", "aa");
  EXPECT_EQ(next(), "6.5.6-300.fc39.x86_64");
  EXPECT_FALSE(read_next_boot_entry(tree.root()).is_other_deployment);
  deploy("2", "bb");
  EXPECT_EQ(next(), "6.5.6-300.fc39.x86_64");
  EXPECT_TRUE(read_next_boot_entry(tree.root()).is_other_deployment);
}

// ---- systemd-boot

TEST_F(NextKernelFact, IsSystemdBootsNewestEntryOrTheOneItIsTold) {
  install_systemd_boot();
  EXPECT_EQ(next(), kNew);
  EXPECT_EQ(rule(), "newest entry of systemd-boot");
  tree.write("/boot/loader/loader.conf", "#timeout 3\ndefault deb-*-50-*\n");
  EXPECT_EQ(next(), kOld);
  EXPECT_EQ(rule(), "default of loader.conf");
  efi_variable("LoaderEntryDefault", "deb-6.1.0-57-amd64.conf");
  EXPECT_EQ(next(), kNew);
  efi_variable("LoaderEntryOneShot", "deb-6.1.0-50-amd64.conf");
  EXPECT_EQ(next(), kOld);
  EXPECT_EQ(rule(), "LoaderEntryOneShot");
}

TEST_F(NextKernelFact, IsAUnifiedImagesKernel) {
  install_systemd_boot();
  tree.remove("/boot/loader/entries");
  tree.write("/efi/EFI/Linux/debian-a.efi",
             unified_image({{".linux", bzimage("6.1.0-58-amd64")}, {".osrel", "ID=debian\nVERSION_ID=12\n"}}));
  tree.write("/efi/EFI/Linux/debian-b+0-3.efi",
             unified_image({{".uname", "6.1.0-99-amd64"}, {".linux", "x"}, {".osrel", "ID=debian\nVERSION_ID=13\n"}}));
  EXPECT_EQ(next(), "6.1.0-58-amd64");  // the other has no tries left
}

TEST_F(NextKernelFact, IsOfTheLoaderThatLoaderInfoNames) {
  install_systemd_boot();
  grub("\"1>2\"");
  EXPECT_EQ(next(), kNew);
  efi_variable("LoaderInfo", "GRUB 2.12");
  EXPECT_EQ(next(), kOld);
  efi_variable("LoaderInfo", "rEFInd 0.14");
  EXPECT_EQ(next(), "unknown: the boot loader calls itself 'rEFInd 0.14', which is not read");
}

TEST_F(NextKernelFact, HasToBeTheSameForAllLoadersWhereNothingSaysWhichIsUsed) {
  install_systemd_boot();
  tree.remove("/sys");  // sysfs is not mounted: nothing tells
  grub("\"0\"");
  EXPECT_EQ(next(), kNew);
  EXPECT_EQ(rule(), "default of /boot/grub/grub.cfg; newest entry of systemd-boot");
  grub("\"1>2\"");
  EXPECT_EQ(next(),
            "unknown: several boot loaders are set up and name different kernels: 6.1.0-50-amd64 by "
            "/boot/grub/grub.cfg, 6.1.0-57-amd64 by /boot/loader/entries/deb-6.1.0-57-amd64.conf");
}

TEST_F(NextKernelFact, IsUnknownWhenTheFirmwareTakesAnotherEntryOnce) {
  make_efi();
  grub("\"0\"");
  EXPECT_EQ(next(), kNew);
  tree.write(std::string("/sys/firmware/efi/efivars/BootNext") + kFirmware, "2");
  EXPECT_EQ(next(), "unknown: the firmware's BootNext is set: it takes another of its boot entries once");
}

// ---- none

TEST(NextKernelOfAMachineWithoutALoader, IsAbsentOnlyWhereNothingSpeaksForOne) {
  const ScratchTree tree;
  const auto read = [&tree] { return read_next_boot_entry(tree.root()).kernel; };
  EXPECT_TRUE(read().is_unknown());  // not even sysfs
  tree.directory("/sys/firmware");
  EXPECT_TRUE(read().is_absent());
  tree.write("/boot/vmlinuz-6.1.0-57-amd64", bzimage(kNew));
  EXPECT_EQ(read().why().what, "/boot holds kernels and no boot loader's configuration");
  tree.write("/boot/extlinux/extlinux.conf", "default l0\n");
  EXPECT_EQ(read().why().what,
            "there is a configuration of extlinux (/boot/extlinux/extlinux.conf), which is not read");
}

TEST(NextKernelOfAMachineWithoutALoader, IsUnknownWhereEfiMustHaveLoadedSomething) {
  const ScratchTree tree;
  tree.directory("/sys/firmware/efi");
  const auto fact = read_next_boot_entry(tree.root()).kernel;
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_NE(fact.why().what.find("may not be mounted"), std::string::npos);
}

TEST(OstreeDeployment, IsAWordOfTheCommandLine) {
  EXPECT_EQ(ostree_deployment("ro ostree=/ostree/boot.1/x/0 quiet\n"), "/ostree/boot.1/x/0");
  EXPECT_EQ(ostree_deployment("ro notostree=/a"), "");
}

}  // namespace
}  // namespace gpuskew
