#include "core/tag.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/label.h"

namespace gpuskew {
namespace {

Fact<DriverVersion> driver(std::string_view text) {
  return Fact<DriverVersion>::known(DriverVersion::parse(text).value(), "module");
}
Fact<KernelRelease> kernel(std::string_view text) {
  return Fact<KernelRelease>::known(KernelRelease::parse(text).value(), "osrelease");
}
OsIdentity identity(const std::string& id, std::optional<std::string> version_id) {
  return {id, std::move(version_id), "", "", "", ""};
}
Fact<OsIdentity> os(const std::string& id, std::optional<std::string> version_id) {
  return Fact<OsIdentity>::known(identity(id, std::move(version_id)), "/etc/os-release");
}
OsTag os_tag_for(const std::string& id, const std::string& version_id, std::string_view version) {
  return os_tag(identity(id, version_id), OperatorVersion::parse(version).value()).value();
}

const Fact<KernelRelease> kKernel = kernel("5.15.0-119-generic");
const Fact<OsIdentity> kUbuntu = os("ubuntu", "22.04");

TEST(OperatorVersion, ReadsWhatReleasesAreCalled) {
  EXPECT_EQ(OperatorVersion::parse("v25.10").value().text(), "v25.10");
  EXPECT_LT(OperatorVersion::parse("v25.10").value(), OperatorVersion::parse("26.3.1").value());
  EXPECT_LT(OperatorVersion::parse("26.3").value(), OperatorVersion::parse("26.3.0").value());
  EXPECT_EQ(OperatorVersion::parse("v26.3.1").value(), OperatorVersion::parse("26.3.1").value());
  for (const std::string text : {"", "v", "26", "vv26.3", "26.3.1-rc1", "26.3.1.2", "latest", "26.3 "}) {
    EXPECT_FALSE(OperatorVersion::parse(text)) << text;
  }
  EXPECT_EQ(OperatorVersion::parse("latest").error().what, "'latest' is not a gpu-operator version (26.3.1 or v25.10)");
}

TEST(OsTag, FollowsTheOperatorsVersion) {
  EXPECT_EQ(os_tag(identity("rhel", "9.4"), std::nullopt).value().text, "rhel9.4");
  EXPECT_EQ(os_tag_for("rhel", "9.4", "v25.10").text, "rhel9.4");
  EXPECT_EQ(os_tag_for("rhel", "9.4", "26.3.2").text, "rhel9.4");
  EXPECT_EQ(os_tag_for("rhel", "10.1", "25.10.1").text, "rhel10.1");
  EXPECT_EQ(os_tag_for("rhel", "10.1", "26.3").text, "rhel10");
  EXPECT_EQ(os_tag_for("rhel", "9.4", "26.7").text, "rhel9");
  EXPECT_EQ(os_tag_for("rocky", "9.4", "26.3").text, "rocky9");
  EXPECT_EQ(os_tag_for("ol", "8.10", "26.3").text, "ol8.10");
  EXPECT_EQ(os_tag_for("ol", "8.10", "27.1.0").text, "ol8");
  EXPECT_EQ(os_tag_for("rhcos", "4.19", "26.7").text, "rhcos4.19");
  EXPECT_EQ(os_tag_for("ubuntu", "22.04", "26.7").text, "ubuntu22.04");
  EXPECT_EQ(os_tag_for("sles", "15-SP6", "26.7").text, "sles15-SP6");
}

TEST(OsTag, SaysWhichRuleMadeIt) {
  EXPECT_EQ(os_tag(identity("rhel", "9.4"), std::nullopt).value().rule, "ID and VERSION_ID");
  EXPECT_EQ(os_tag_for("ubuntu", "22.04", "26.7").rule, "ID and VERSION_ID");
  EXPECT_EQ(os_tag_for("rhel", "10.1", "26.3").rule, "rhel >= 10: major only (operator >= 26.3)");
  EXPECT_EQ(os_tag_for("rhel", "9.4", "26.7").rule, "rhel: major only (operator >= 26.7)");
}

TEST(OsTag, NamesTheKeyThatIsMissing) {
  EXPECT_EQ(os_tag(identity("arch", std::nullopt), {}).error(),
            (Error{ErrorCode::NotFound, "os VERSION_ID is missing"}));
  EXPECT_EQ(os_tag(identity("arch", ""), {}).error().what, "os VERSION_ID is missing");
  EXPECT_EQ(os_tag(identity("", "1"), {}).error().what, "os ID is missing");
  EXPECT_EQ(os_tag(identity("", std::nullopt), {}).error().what, "os ID and VERSION_ID are missing");
}

TEST(OsTag, RefusesWhatNoTagCanHold) {
  EXPECT_EQ(os_tag(identity("Ubuntu", "22.04"), {}).error().what, "os ID 'Ubuntu' can not stand in a tag");
  EXPECT_EQ(os_tag(identity("a/b", "1"), {}).error().what, "os ID 'a/b' can not stand in a tag");
  EXPECT_EQ(os_tag(identity("a", "1 LTS"), {}).error().what, "os VERSION_ID '1 LTS' can not stand in a tag");
  EXPECT_EQ(os_tag(identity("a", std::string(1 << 20, '1')), {}).error().code, ErrorCode::Malformed);
  EXPECT_EQ(os_tag(identity("rhel", "A.10"), OperatorVersion::parse("26.7").value()).error().what,
            "os VERSION_ID 'A.10' has no major number");
}

TEST(Tag, IsBranchKernelAndOs) {
  const Tag tag = compute_tag(driver("550.90.07"), kKernel, kUbuntu, {}).value();
  EXPECT_EQ(tag.text, "550-5.15.0-119-generic-ubuntu22.04");
  EXPECT_EQ(tag.driver, "550");
  EXPECT_EQ(tag.kernel, "5.15.0-119-generic");
  EXPECT_EQ(tag.os, "ubuntu22.04");
  EXPECT_EQ(tag.os_rule, "ID and VERSION_ID");
  EXPECT_TRUE(tag.notes.empty());
}

TEST(Tag, HoldsTheFullVersionWhereThePolicySaysSo) {
  const Tag tag = compute_tag(driver("580.159.04"), kernel("4.18.0-513.9.1.el8_9.x86_64"), os("rhcos", "4.13"),
                              {DriverPart::Version, std::nullopt})
                      .value();
  EXPECT_EQ(tag.text, "580.159.04-4.18.0-513.9.1.el8_9.x86_64-rhcos4.13");
}

TEST(Tag, ListsEveryPartThatIsMissing) {
  const auto denied =
      Fact<DriverVersion>::unknown({ErrorCode::Denied, "reading /sys/module/nvidia/version: permission denied"}, "");
  const auto tag =
      compute_tag(denied, Fact<KernelRelease>::absent("/proc/sys/kernel/osrelease"), os("arch", std::nullopt), {});
  ASSERT_FALSE(tag);
  EXPECT_EQ(tag.error().code, ErrorCode::Denied);
  EXPECT_EQ(tag.error().what,
            "no tag: driver version is unknown, because reading /sys/module/nvidia/version: permission denied; "
            "kernel release is missing in /proc/sys/kernel/osrelease; os VERSION_ID is missing in /etc/os-release");
}

TEST(Tag, IsNotFoundOnlyWhereEveryMissingPartIsCertainlyNotThere) {
  const auto no_driver = Fact<DriverVersion>::absent("/sys/module/nvidia");
  EXPECT_EQ(compute_tag(no_driver, kKernel, kUbuntu, {}).error(),
            (Error{ErrorCode::NotFound, "no tag: driver version is missing in /sys/module/nvidia"}));
  EXPECT_EQ(compute_tag(no_driver, kKernel, {}, {}).error(),
            (Error{ErrorCode::Unsupported,
                   "no tag: driver version is missing in /sys/module/nvidia; os (ID, VERSION_ID) is unknown, because "
                   "not reported"}));
}

TEST(Tag, IsRefusedWhenNoPartOfTheKernelIsLeft) {
  const auto tag = compute_tag(driver("550.90.07"), kernel("+++"), kUbuntu, {});
  EXPECT_EQ(tag.error(), (Error{ErrorCode::Malformed,
                                "no tag: kernel release '+++' is no release a tag can hold (5.15.0-119-generic)"}));
}

TEST(Tag, IsRefusedForAKernelThatIsNoRelease) {
  EXPECT_FALSE(compute_tag(driver("550.90.07"), kernel("foo"), kUbuntu, {}));
}

TEST(Tag, IsRefusedPastARegistrysLimit) {
  const auto tag = compute_tag(driver("550.90.07"), kKernel, os("a", std::string(110, '1')), {});
  ASSERT_FALSE(tag);
  EXPECT_EQ(tag.error().code, ErrorCode::TooLarge);
  EXPECT_TRUE(compute_tag(driver("550.90.07"), kKernel, os("a", std::string(104, '1')), {}));
}

TEST(Tag, NotesFlavoursNvidiaDoesNotPublish) {
  const auto notes_of = [](std::string_view release) {
    return compute_tag(driver("550.90.07"), kernel(release), kUbuntu, {}).value().notes;
  };
  EXPECT_TRUE(notes_of("6.8.0-1046-azure-fde").empty());
  ASSERT_EQ(notes_of("5.15.0-1061-gke").size(), 1U);
  EXPECT_TRUE(notes_of("5.15.0-1061-gke").front().starts_with("flavour gke: NVIDIA publishes"));
  ASSERT_EQ(notes_of("6.8.12-060812-generic").size(), 1U);
  EXPECT_TRUE(notes_of("6.8.12-060812-generic").front().starts_with("this kernel has no Ubuntu flavour: "));
}

TEST(Tag, NotesTheOperatorsTroubleOnlyForVersionsItCanNotRead) {
  TagPolicy policy;
  policy.operator_version = OperatorVersion::parse("26.3.0").value();
  const auto notes =
      compute_tag(driver("550.90.07"), kernel("6.5.2-4-default"), os("opensuse-leap", "20240115"), policy)
          .value()
          .notes;
  EXPECT_TRUE(notes.empty());
}

RC_GTEST_PROP(TagProperty, PartsConcatenateToItsText, ()) {
  const auto word = rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(std::string("aZ09._-+/"))));
  const auto release = KernelRelease::parse((*word).substr(0, KernelRelease::kMaxLength)).value();
  const auto tag =
      compute_tag(driver("550.90.07"), Fact<KernelRelease>::known(release, ""), os("a" + *word, *word), {});
  if (!tag) {
    RC_ASSERT(tag.error().what.starts_with("no tag: "));
    return;
  }
  RC_ASSERT(tag->text == tag->driver + "-" + tag->kernel + "-" + tag->os);
  RC_ASSERT(is_tag_text(tag->text));
  RC_ASSERT(tag->kernel == nfd_kernel_form(release));
}

}  // namespace
}  // namespace gpuskew
