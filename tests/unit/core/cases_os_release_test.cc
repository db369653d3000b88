#include "case_files.h"
#include "core/label.h"

namespace gpuskew::test {
namespace {

const std::string kPrefix = "feature.node.kubernetes.io/system-os_release.";

void expect_os(const OsIdentity& os, const std::string& id, const std::string& version_id) {
  EXPECT_EQ(os.id, id);
  EXPECT_EQ(os.version_id, version_id);
  const Labels labels = os_labels(os);
  EXPECT_EQ(labels.at(kPrefix + "ID"), id);
  EXPECT_EQ(labels.at(kPrefix + "VERSION_ID"), version_id);
  EXPECT_EQ(os_tag_text(os), id + version_id);
}

std::vector<std::string> notes_of(const OsIdentity& os, const std::string& kernel, std::string_view version = "") {
  TagPolicy policy;
  if (!version.empty()) {
    policy.operator_version = operator_version(version);
  }
  return compute_tag(driver("580.65.06"), known(KernelRelease::parse(kernel).value()), known(os), policy).value().notes;
}

TEST(CasesOsRelease, Case018TakesTheOpenshiftVersion) {
  const OsRelease release = parse_os_release(case_file("018-rhcos-411-before-419", "os-release"));
  const OsIdentity os = os_identity(release).value();
  expect_os(os, "rhcos", "4.11");
  EXPECT_EQ(release.get("RHEL_VERSION"), "8.6");
  EXPECT_EQ(release.get("OPENSHIFT_VERSION"), "4.11");
  EXPECT_EQ(os.ostree_version, "411.86.202212072103-0");
}

TEST(CasesOsRelease, Case020DoesNotPutRhelInCentosPlace) {
  const OsIdentity os = case_os("020-okd-scos-centos10");
  expect_os(os, "centos", "10");
  EXPECT_EQ(os_tag_text(os, "26.7.0"), "centos10");
  EXPECT_TRUE(any_holds(notes_of(os, "6.12.0-1.el10.x86_64"), "its relative there is rhel10"));

  const OsIdentity older{"scos", "4.18", "", "", "", ""};
  EXPECT_EQ(os_tag_text(older), "scos4.18");
  EXPECT_TRUE(any_holds(notes_of(older, "5.14.0-1.el9.x86_64"), "publishes no driver image for scos"));
}

TEST(CasesOsRelease, Case022SaysThatAnOddMinorWillNotAppear) {
  const OsIdentity os = case_os("022-rhel-97-odd-minor");
  expect_os(os, "rhel", "9.7");
  const auto notes = notes_of(os, "5.14.0-611.el9_7.x86_64");
  EXPECT_TRUE(any_holds(notes, "even minors only"));
  EXPECT_TRUE(any_holds(notes, "rhel9.7 is not expected to appear later"));
  EXPECT_TRUE(any_holds(notes, "no drop-in"));
  EXPECT_TRUE(notes_of(os, "5.14.0-611.el9_7.x86_64", "26.7").empty()) << "that rule drops the minor";
}

TEST(CasesOsRelease, Case023RockysTagDependsOnTheOperator) {
  const OsIdentity os = case_os("023-rocky-tag-depends-on-operator");
  expect_os(os, "rocky", "9.4");
  EXPECT_EQ(os_tag_text(os, "25.10.1"), "rocky9.4");
  EXPECT_EQ(os_tag_text(os, "26.3.0"), "rocky9");
  EXPECT_EQ(os_tag_text(os, "26.7.0"), "rocky9");
  EXPECT_EQ(os_tag(os, operator_version("26.3.0")).value().rule, "rocky: major only (operator >= 26.3)");
  EXPECT_EQ(os_tag(os, operator_version("25.10.1")).value().rule, "ID and VERSION_ID");
}

TEST(CasesOsRelease, Case025ReadsOnBehindTheBlankLine) {
  const OsRelease release = parse_os_release(case_file("025-oracle-linux-810", "os-release"));
  EXPECT_EQ(release.get("ORACLE_SUPPORT_PRODUCT_VERSION"), "8.10");
  EXPECT_TRUE(release.notes.empty());
  const OsIdentity os = os_identity(release).value();
  expect_os(os, "ol", "8.10");
  EXPECT_EQ(os_tag_text(os, "26.3.1"), "ol8.10");
  EXPECT_EQ(os_tag_text(os, "26.7.0"), "ol8");
  const KernelRelease kernel = case_kernel("025-oracle-linux-810");
  EXPECT_EQ(kernel_label(kernel).value(), "5.15.0-206.153.7.1.el8uek.x86_64");
  const auto notes = notes_of(os, kernel.text());
  EXPECT_TRUE(any_holds(notes, "publishes no driver image for ol"));
  EXPECT_TRUE(any_holds(notes, "a private registry may have one"));
}

TEST(CasesOsRelease, Case027KeepsTheImagesDateOutOfTheTag) {
  OsIdentity os = case_os("027-amazon-linux-2023");
  expect_os(os, "amzn", "2023");
  EXPECT_EQ(kernel_label(case_kernel("027-amazon-linux-2023")).value(), "6.1.66-91.160.amzn2023.x86_64");
  const std::string tag = os_tag_text(os);
  os.pretty_name = "Amazon Linux 2023.11.20260401";
  EXPECT_EQ(os_tag_text(os), tag);
}

TEST(CasesOsRelease, Case028TakesVersionIdNotVersion) {
  const OsIdentity os = case_os("028-bottlerocket-unquoted");
  expect_os(os, "bottlerocket", "1.47.0");
  const Labels labels = os_labels(os);
  EXPECT_EQ(labels.at(kPrefix + "VERSION_ID.major"), "1");
  EXPECT_EQ(labels.at(kPrefix + "VERSION_ID.minor"), "47");
  EXPECT_EQ(os.variant_id, "aws-k8s-1.34");
  EXPECT_EQ(os.build_id, "6154605b");
  EXPECT_TRUE(any_holds(notes_of(os, "6.1.0"), "-nvidia variant"));
}

TEST(CasesOsRelease, Case030KeepsTheRawReleaseOutOfTheLabel) {
  const std::string folder = "030-cos-121";
  const OsIdentity os = case_os(folder);
  expect_os(os, "cos", "117");
  EXPECT_EQ(os_tag_text({"cos", "121", "", "", "", ""}), "cos121");
  const KernelRelease kernel = case_kernel(folder);
  EXPECT_EQ(kernel.text(), "6.6.72+");
  EXPECT_EQ(kernel_label(kernel).value(), "6.6.72");
  EXPECT_TRUE(any_holds(notes_of(os, kernel.text()), "publishes no driver image for cos"));
}

TEST(CasesOsRelease, Case030TellsBuildsOfOneVersionApart) {
  const OsIdentity os = case_os("030-cos-121");
  EXPECT_EQ(os.build_id, "18613.164.98");
  OsIdentity other = os;
  other.build_id = "18613.164.99";
  EXPECT_NE(os, other);
}

TEST(CasesOsRelease, Case032HasNoTagWithoutVersionId) {
  const OsIdentity os = case_os("032-debian-sid-no-version-id");
  EXPECT_EQ(os.version_id, std::nullopt);
  EXPECT_EQ(os_labels(os), (Labels{{kPrefix + "ID", "debian"}}));
  const auto fact = Fact<OsIdentity>::known(os, "/etc/os-release");
  const auto tag = compute_tag(driver("550.90.07"), known(KernelRelease::parse("6.1.0-25-amd64").value()), fact, {});
  ASSERT_FALSE(tag);
  EXPECT_EQ(tag.error().code, ErrorCode::NotFound);
  EXPECT_EQ(tag.error().what, "no tag: os VERSION_ID is missing in /etc/os-release");
}

TEST(CasesOsRelease, Case033DoesNotTakeBuildIdForTheVersion) {
  const OsIdentity os = case_os("033-arch-no-version-id-build-id");
  EXPECT_EQ(os.id, "arch");
  EXPECT_EQ(os.version_id, std::nullopt);
  EXPECT_EQ(os.build_id, "rolling");
  EXPECT_EQ(os_tag(os, std::nullopt).error().what, "os VERSION_ID is missing");
  EXPECT_EQ(case_kernel("033-arch-no-version-id-build-id").text(), "6.14.4-arch1-2");
}

TEST(CasesOsRelease, Case035TakesVersionIdNotTheServicePack) {
  const OsRelease release = parse_os_release(case_file("035-sles-15-sp5", "os-release"));
  expect_os(os_identity(release).value(), "sles", "15.5");
  EXPECT_EQ(release.get("ANSI_COLOR"), "0;32");
}

TEST(CasesOsRelease, Case037TakesANonNumericMajor) {
  const OsIdentity os = case_os("037-talos-v-prefix");
  EXPECT_EQ(os_labels(os), (Labels{{kPrefix + "ID", "talos"}, {kPrefix + "VERSION_ID", "v1.12.6"}}));
  EXPECT_EQ(os_tag_text(os), "talosv1.12.6");
  EXPECT_EQ(os_tag_text(os, "26.7.0"), "talosv1.12.6");
  const std::string kernel = case_kernel("037-talos-v-prefix").text();
  EXPECT_TRUE(any_holds(notes_of(os, kernel), "system extension"));
  EXPECT_TRUE(any_holds(notes_of(os, kernel, "26.3.0"), "keeps the whole ClusterPolicy notReady"));
  EXPECT_FALSE(any_holds(notes_of(os, kernel, "26.3.1"), "notReady"));
  EXPECT_FALSE(any_holds(notes_of(os, kernel, "25.10.1"), "notReady"));
}

TEST(CasesOsRelease, Case038KeepsThePointZero) {
  const std::string folder = "038-azurelinux3-and-mariner2";
  const OsIdentity quoted_mariner = case_os(folder, "os-release.2");
  const OsIdentity bare_mariner = case_os(folder, "os-release.3");
  expect_os(case_os(folder), "azurelinux", "3.0");
  expect_os(quoted_mariner, "mariner", "2.0");
  expect_os(bare_mariner, "mariner", "2.0");
  EXPECT_EQ(case_kernel(folder).text(), "6.6.150.1-1.azl3");
}

TEST(CasesOsRelease, Case040KeepsTheZeroInTheMiddle) {
  const OsIdentity os = case_os("040-buildroot-minikube");
  expect_os(os, "buildroot", "2021.02.12");
  EXPECT_TRUE(any_holds(notes_of(os, "4.19.202"), "publishes no driver image for buildroot"));
}

TEST(CasesOsRelease, Case042ReadsWhatTheFormatAllows) {
  const OsRelease release = parse_os_release(case_file("042-quoting-escapes-comments", "os-release"));
  EXPECT_EQ(release.get("ID"), "centos");
  EXPECT_EQ(release.get("VERSION_ID"), "9");
  EXPECT_EQ(release.get("NAME"), "something long \"and weird\"");
  EXPECT_EQ(release.get("PRETTY_NAME"), "a \"quoted\" $name with \\ and `tick`");
  EXPECT_EQ(release.get("EMPTY"), "");
  EXPECT_EQ(release.get("URL"), "https://example.org/?a=b;c");
  EXPECT_EQ(release.get("VARIANT_ID"), "coreos");
  EXPECT_EQ(release.notes, std::vector<std::string>{"line 8: 'FOO BAR' is not a key, ignoring the line"});
}

TEST(CasesOsRelease, Case042NotesEveryBadLine) {
  const std::string bad_lines = case_file("042-quoting-escapes-comments", "os-release.bad-lines");
  const OsRelease release = parse_os_release(bad_lines);
  EXPECT_TRUE(release.fields.empty());
  EXPECT_EQ(release.notes.size(), 5U);
  EXPECT_EQ(parse_os_release(bad_lines + "ID=debian\n").get("ID"), "debian") << "the rest of the file still counts";
}

TEST(CasesOsRelease, Case043TakesCrlfAndTheLastOfAKey) {
  const OsIdentity os = case_os("043-crlf-and-duplicates");
  expect_os(os, "ubuntu", "22.04");
  for (const auto& [key, value] : os_labels(os)) {
    EXPECT_EQ(value.find('\r'), std::string::npos) << key;
  }
}

TEST(CasesOsRelease, Case047KeepsThePointZeroQuotedOrNot) {
  const std::string folder = "047-photon-quoting-differs";
  expect_os(case_os(folder), "photon", "5.0");
  expect_os(case_os(folder, "os-release.2"), "photon", "2.0");
  EXPECT_TRUE(any_holds(notes_of(case_os(folder), "6.1.10-10.ph5"), "publishes no driver image for photon"));
}

TEST(CasesOsRelease, Case048FedoraCoreosIsFedora) {
  const OsIdentity os = case_os("048-fedora-coreos-is-fedora");
  expect_os(os, "fedora", "41");
  EXPECT_EQ(os.variant_id, "coreos");
  EXPECT_EQ(os.ostree_version, "41.20241109.3.0");
}

TEST(CasesOsRelease, Case050HoldsADashInTheOsTag) {
  const std::string folder = "050-tumbleweed-dash-in-id";
  const OsRelease release = parse_os_release(case_file(folder, "os-release"));
  EXPECT_EQ(release.get("VERSION"), std::nullopt);
  const OsIdentity os = os_identity(release).value();
  expect_os(os, "opensuse-tumbleweed", "20240115");
  const Tag tag = compute_tag(driver("550.90.07"), known(case_kernel(folder)), known(os), {}).value();
  EXPECT_EQ(tag.text, "550-6.5.2-4-default-opensuse-tumbleweed20240115");
  EXPECT_EQ(tag.kernel, "6.5.2-4-default");
  EXPECT_EQ(tag.os, "opensuse-tumbleweed20240115");
  EXPECT_TRUE(any_holds(tag.notes, "rolling release"));
}

}  // namespace
}  // namespace gpuskew::test
