#include "core/node_labels.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/label_names.h"
#include "tests/unit/core/nodes.h"

namespace gpuskew {
namespace {

using testing::absent;
using testing::bumped_node;
using testing::denied;
using testing::driver;
using testing::gpu;
using testing::healthy_node;
using testing::kBoot;
using testing::kernel;
using testing::known;
using testing::library;

Verdict verdict_of(NodeState state) {
  Verdict verdict;
  verdict.state = state;
  return verdict;
}

Snapshot whole_node() {
  Snapshot s = healthy_node();
  s.installs = known(std::vector<InstallTrace>{
      {InstallKind::Dkms, InstallPart::KernelModule, "/var/lib/dkms/nvidia", "550.90.07", "/var/lib/dkms"},
      {InstallKind::Deb, InstallPart::KernelModule, "nvidia-dkms-550", "550.90.07-0ubuntu1", "/var/lib/dpkg/status"},
      {InstallKind::Runfile, InstallPart::UserSpace, "/usr/bin/nvidia-uninstall", "", "/usr/bin"}});
  s.next_kernel = known(NextKernel{kernel("5.15.0-122-generic"), "first entry of grub.cfg"});
  return s;
}

NodeLabels labels_of(const Snapshot& snapshot) {
  return node_labels(snapshot, verdict_of(NodeState::Ok));
}

std::string why_left_out(const NodeLabels& labels, std::string_view key) {
  const auto found = std::find_if(labels.left_out.begin(), labels.left_out.end(), [key](const LeftOutLabels& each) {
    return each.keys.find(key) != std::string::npos;
  });
  return found == labels.left_out.end() ? "" : found->why;
}

bool is_driver_key(std::string_view key) {
  return key.starts_with("gpuskew.io/driver-") || key.starts_with("nvidia.com/cuda.driver");
}

bool has_driver_label(const NodeLabels& labels) {
  const auto is_driver = [](const auto& label) { return is_driver_key(label.first); };
  return std::any_of(labels.own.begin(), labels.own.end(), is_driver) ||
         std::any_of(labels.standard.begin(), labels.standard.end(), is_driver);
}

TEST(NodeLabels, SayWhatTheNodeIs) {
  const NodeLabels labels = labels_of(whole_node());
  EXPECT_EQ(labels.own, (Labels{{"gpuskew.io/boot-id", "boot-a"},
                                {"gpuskew.io/driver-branch", "550"},
                                {"gpuskew.io/driver-flavour", "proprietary"},
                                {"gpuskew.io/driver-version", "550.90.07"},
                                {"gpuskew.io/install-kind", "deb_dkms"},
                                {"gpuskew.io/kernel", "5.15.0-119-generic"},
                                {"gpuskew.io/library-version", "550.90.07"},
                                {"gpuskew.io/next-kernel", "5.15.0-122-generic"},
                                {"gpuskew.io/os", "ubuntu"},
                                {"gpuskew.io/os-version", "22.04"},
                                {"gpuskew.io/state", "ok"}}));
  EXPECT_EQ(labels.standard, (Labels{{"feature.node.kubernetes.io/kernel-version.full", "5.15.0-119-generic"},
                                     {"feature.node.kubernetes.io/kernel-version.major", "5"},
                                     {"feature.node.kubernetes.io/kernel-version.minor", "15"},
                                     {"feature.node.kubernetes.io/kernel-version.revision", "0"},
                                     {"feature.node.kubernetes.io/system-os_release.ID", "ubuntu"},
                                     {"feature.node.kubernetes.io/system-os_release.VERSION_ID", "22.04"},
                                     {"feature.node.kubernetes.io/system-os_release.VERSION_ID.major", "22"},
                                     {"feature.node.kubernetes.io/system-os_release.VERSION_ID.minor", "04"},
                                     {"nvidia.com/cuda.driver-version.full", "550.90.07"},
                                     {"nvidia.com/cuda.driver-version.major", "550"},
                                     {"nvidia.com/cuda.driver-version.minor", "90"},
                                     {"nvidia.com/cuda.driver-version.revision", "07"},
                                     {"nvidia.com/cuda.driver.major", "550"},
                                     {"nvidia.com/cuda.driver.minor", "90"},
                                     {"nvidia.com/cuda.driver.rev", "07"},
                                     {"nvidia.com/gpu.present", "true"}}));
  EXPECT_EQ(to_text(labels.left_out), "");
}

TEST(NodeLabels, LoseEveryDriverLabelWithTheDriver) {
  const NodeLabels labels = node_labels(bumped_node(), verdict_of(NodeState::Broken));
  EXPECT_FALSE(has_driver_label(labels));
  EXPECT_EQ(why_left_out(labels, kDriverVersionLabel), "") << "what is certainly gone is no fact we failed to read";
  EXPECT_EQ(labels.own.at("gpuskew.io/state"), "broken");
  EXPECT_EQ(labels.own.at("gpuskew.io/kernel"), "5.15.0-122-generic");
  EXPECT_EQ(labels.own.at("gpuskew.io/library-version"), "550.90.07") << "the library is still installed";
  EXPECT_EQ(labels.standard.at("nvidia.com/gpu.present"), "true") << "the GPU is still on the bus";
}

TEST(NodeLabels, LeaveOutWhatIsUnknownAndSayWhy) {
  Snapshot s = whole_node();
  s.loaded_driver = denied<DriverVersion>();
  s.loaded_flavour = denied<ModuleFlavour>();
  s.gpus = denied<std::vector<Gpu>>();
  s.os = denied<OsIdentity>();
  const NodeLabels labels = node_labels(s, verdict_of(NodeState::Unknown));
  EXPECT_FALSE(has_driver_label(labels));
  for (const std::string_view key : {kDriverVersionLabel, kDriverBranchLabel, kDriverFlavourLabel, kGpuPresentLabel,
                                     kOsLabel, kOsVersionLabel, std::string_view("nvidia.com/cuda.driver*")}) {
    EXPECT_EQ(why_left_out(labels, key), "unknown, because permission denied") << key;
  }
  EXPECT_EQ(labels.own.count("gpuskew.io/os"), 0U);
  EXPECT_EQ(labels.standard.count("nvidia.com/gpu.present"), 0U);
  EXPECT_EQ(labels.own.at("gpuskew.io/state"), "unknown");
}

TEST(NodeLabels, LeaveOutAKernelThatIsTooLongAndKeepItsNumbers) {
  Snapshot s = whole_node();
  s.kernel = known(kernel("6.8.0-1046-" + std::string(53, 'x')));
  const NodeLabels labels = labels_of(s);
  EXPECT_EQ(labels.own.count("gpuskew.io/kernel"), 0U);
  EXPECT_EQ(labels.standard.count("feature.node.kubernetes.io/kernel-version.full"), 0U);
  EXPECT_EQ(labels.standard.at("feature.node.kubernetes.io/kernel-version.major"), "6");
  const std::string why = why_left_out(labels, "feature.node.kubernetes.io/kernel-version.full");
  EXPECT_NE(why.find("a label value holds at most 63"), std::string::npos) << why;
}

TEST(NodeLabels, HaveNoOsVersionOnARollingSystem) {
  Snapshot s = whole_node();
  s.os = known(OsIdentity{"arch", std::nullopt, "Arch Linux", "", "rolling", ""});
  const NodeLabels labels = labels_of(s);
  EXPECT_EQ(labels.own.at("gpuskew.io/os"), "arch");
  EXPECT_EQ(labels.own.count("gpuskew.io/os-version"), 0U);
  EXPECT_EQ(to_text(labels.left_out), "");
}

TEST(NodeLabels, SayThatAGpuIsPresentAsTheOperatorDoes) {
  Snapshot s = whole_node();
  s.gpus = known(std::vector<Gpu>{});
  EXPECT_EQ(labels_of(s).standard.count("nvidia.com/gpu.present"), 0U) << "a node that never had one";
  s.remembered = LastGood{kBoot, "boot-a", kernel("5.15.0-119-generic"), driver("550.90.07"), 2U};
  EXPECT_EQ(labels_of(s).standard.at("nvidia.com/gpu.present"), "false");
  s.remembered.reset();
  s.expected_gpus = 8;
  EXPECT_EQ(labels_of(s).standard.at("nvidia.com/gpu.present"), "false");
}

TEST(NodeLabels, TakeTheLibraryThatProgramsAreHanded) {
  Snapshot s = whole_node();
  s.libraries = known(std::vector<Library>{library("535.183.01"), library("550.90.07", DriverRoot::Container)});
  EXPECT_EQ(labels_of(s).own.at("gpuskew.io/library-version"), "535.183.01");
  s.driver_container = known(DriverContainer{"/run/nvidia/driver", true});
  EXPECT_EQ(labels_of(s).own.at("gpuskew.io/library-version"), "550.90.07");
  s.driver_container = denied<DriverContainer>();
  EXPECT_EQ(labels_of(s).own.count("gpuskew.io/library-version"), 0U);
  EXPECT_EQ(why_left_out(labels_of(s), kLibraryVersionLabel), "unknown, because permission denied");
}

TEST(NodeLabels, LeaveOutALibraryOfTwoVersions) {
  Snapshot s = whole_node();
  s.libraries = known(std::vector<Library>{library("550.90.07"), library("535.183.01")});
  const NodeLabels labels = labels_of(s);
  EXPECT_EQ(labels.own.count("gpuskew.io/library-version"), 0U);
  const std::string why = why_left_out(labels, kLibraryVersionLabel);
  EXPECT_NE(why.find("550.90.07"), std::string::npos) << why;
  EXPECT_NE(why.find("535.183.01"), std::string::npos) << why;
}

TEST(NodeLabels, NameEveryInstallerInOneWord) {
  std::vector<InstallTrace> all;
  for (int kind = static_cast<int>(InstallKind::OsImage); kind >= 0; --kind) {
    all.push_back({static_cast<InstallKind>(kind), InstallPart::KernelModule, "x", "", "x"});
  }
  Snapshot s = whole_node();
  s.installs = known(all);
  EXPECT_EQ(labels_of(s).own.at("gpuskew.io/install-kind"),
            "runfile_deb_rpm_dkms_prebuilt_akmod_kmod_container_os-image");
  s.installs = known(std::vector<InstallTrace>{});
  EXPECT_EQ(labels_of(s).own.count("gpuskew.io/install-kind"), 0U);
}

// Anything a host may hold: bytes of every kind and length.
std::string any_bytes() {
  return *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
}

template <class T>
Fact<T> maybe(T value) {
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      return absent<T>();
    case 1:
      return denied<T>();
    default:
      return known(std::move(value));
  }
}

KernelRelease any_kernel() {
  const std::string text = *rc::gen::container<std::string>(rc::gen::inRange<char>(33, 127));
  return KernelRelease::parse(text.substr(0, KernelRelease::kMaxLength)).value_or(kernel("6.8.0+"));
}

Snapshot any_node() {
  Snapshot s = whole_node();
  s.kernel = maybe(any_kernel());
  s.next_kernel = maybe(NextKernel{any_kernel(), "rule"});
  s.boot_id = maybe(any_bytes());
  s.os = maybe(OsIdentity{any_bytes(), any_bytes(), "", "", "", ""});
  s.loaded_driver = maybe(driver(*rc::gen::element<std::string>("550.90.07", "460.56", "99999.99999.99999")));
  s.loaded_flavour = maybe(ModuleFlavour::Open);
  s.libraries = maybe(std::vector<Library>{library("550.90.07"), library("550.90.7")});
  s.gpus = maybe(std::vector<Gpu>(*rc::gen::inRange<std::size_t>(0, 3), gpu("0000:3b:00.0")));
  s.installs = maybe(s.installs.value());
  return s;
}

RC_GTEST_PROP(NodeLabelsOfAnyNode, AreAlwaysValidAndInTheirPlace, ()) {
  const NodeLabels labels = labels_of(any_node());
  for (const auto& [key, value] : labels.own) {
    RC_ASSERT(key.starts_with(kOwnLabelPrefix) && is_label_value(value) && !value.empty());
  }
  for (const auto& [key, value] : labels.standard) {
    RC_ASSERT(!key.starts_with(kOwnLabelPrefix) && is_label_value(value));
  }
  RC_ASSERT(labels.own.count(kStateLabel) == 1);
}

RC_GTEST_PROP(NodeLabelsOfAnyNode, NameNoDriverUnlessOneIsKnownToBeLoaded, ()) {
  const Snapshot s = any_node();
  const NodeLabels labels = labels_of(s);
  RC_ASSERT(s.loaded_driver.is_known() == (labels.own.count(kDriverVersionLabel) == 1));
  if (s.loaded_driver.is_absent()) {
    RC_ASSERT(!has_driver_label(labels));
  }
  if (s.loaded_driver.is_unknown()) {
    RC_ASSERT(labels.standard.count(kCudaDriverMajorLabel) == 0);
    RC_ASSERT(!why_left_out(labels, kDriverVersionLabel).empty());
  }
}

RC_GTEST_PROP(NodeLabelsOfAnyNode, AreTheSameForTheSameFacts, ()) {
  const Snapshot s = any_node();
  RC_ASSERT(labels_of(s) == labels_of(s));
}

}  // namespace
}  // namespace gpuskew
