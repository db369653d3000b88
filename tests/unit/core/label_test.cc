#include "core/label.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gpuskew {
namespace {

KernelRelease kernel(std::string_view text) {
  return KernelRelease::parse(text).value();
}
OsIdentity os(const std::string& id, std::optional<std::string> version_id) {
  return {id, std::move(version_id), "", "", "", ""};
}

TEST(LabelValue, FollowsKubernetes) {
  for (const std::string& value :
       {std::string(), std::string("a"), std::string("22.04"), std::string("a_b-c.D9"), std::string(63, 'x')}) {
    EXPECT_TRUE(is_label_value(value)) << value;
  }
  for (const std::string& value :
       {std::string(64, 'x'), std::string("-a"), std::string("a."), std::string("6.6.72+"), std::string("a b"),
        std::string("ubuntu\r"), std::string("a\0b", 3), std::string("\xd0\xb0"), std::string("_")}) {
    EXPECT_FALSE(is_label_value(value)) << value;
  }
}

TEST(KernelForm, IsNfds) {
  EXPECT_EQ(nfd_kernel_form(kernel("5.15.0+")), "5.15.0");
  EXPECT_EQ(nfd_kernel_form(kernel("5.14.0-1.el9.x86_64+rt")), "5.14.0-1.el9.x86_64_rt");
  EXPECT_EQ(nfd_kernel_form(kernel("+-5.15.0_.~")), "5.15.0");
  EXPECT_EQ(nfd_kernel_form(kernel("+~-")), "");
  EXPECT_EQ(nfd_kernel_form(kernel("6.1\xff-x")), "6.1_-x");
}

TEST(KernelLabels, LeaveNumbersOutWhereNfdDoes) {
  const Labels full_only{{"feature.node.kubernetes.io/kernel-version.full", "6.12.43_deb13-amd64"}};
  EXPECT_EQ(kernel_labels(kernel("6.12.43+deb13-amd64")), full_only);
  EXPECT_EQ(kernel_labels(kernel("6.6.150.1-1.azl3")).size(), 1U);
  EXPECT_EQ(kernel_labels(kernel("6.8-rc1")).size(), 3U);
  EXPECT_EQ(kernel_labels(kernel("custom")).size(), 1U);
  EXPECT_EQ(kernel_labels(kernel("+")).size(), 0U);
}

TEST(OsLabels, KeepMinorAsTextAndLeaveOutWhatIsNoLabel) {
  const std::string prefix = "feature.node.kubernetes.io/system-os_release.";
  EXPECT_EQ(os_labels(os("ubuntu", "22.04")), (Labels{{prefix + "ID", "ubuntu"},
                                                      {prefix + "VERSION_ID", "22.04"},
                                                      {prefix + "VERSION_ID.major", "22"},
                                                      {prefix + "VERSION_ID.minor", "04"}}));
  EXPECT_EQ(os_labels(os("debian", "12")).size(), 3U);
  EXPECT_EQ(os_labels(os("sles", "15-SP6")).size(), 2U);
  EXPECT_EQ(os_labels(os("arch", std::nullopt)).size(), 1U);
  EXPECT_EQ(os_labels(os("arch", "")).size(), 1U);
  EXPECT_EQ(os_labels(os("ubuntu\r", "22.04 LTS")).size(), 0U);
  EXPECT_EQ(os_labels(os("", std::nullopt)).size(), 0U);
}

TEST(DriverLabels, WriteAnEmptyRevisionForTwoParts) {
  const Labels labels = driver_labels(DriverVersion::parse("555.58").value());
  EXPECT_EQ(labels.size(), 7U);
  EXPECT_EQ(labels.at("nvidia.com/cuda.driver-version.full"), "555.58");
  EXPECT_EQ(labels.at("nvidia.com/cuda.driver-version.revision"), "");
  EXPECT_EQ(labels.at("nvidia.com/cuda.driver.major"), "555");
  EXPECT_EQ(labels.at("nvidia.com/cuda.driver.minor"), "58");
  EXPECT_EQ(labels.at("nvidia.com/cuda.driver.rev"), "");
}

TEST(OperatorObjectForm, DropsTheArchitecture) {
  EXPECT_EQ(operator_object_form("5.14.0-427.13.1.el9_4.x86_64"), "5.14.0-427.13.1.el9.4");
  EXPECT_EQ(operator_object_form("5.14.0-1.el9.x86_64_64k"), "5.14.0-1.el9");
  EXPECT_EQ(operator_object_form("5.15.0-119-Generic"), "5.15.0-119-generic");
  EXPECT_EQ(operator_object_form("aarch64"), "");
  EXPECT_EQ(operator_object_form(""), "");
}

TEST(SharedObjectForm, IsSilentWhereEveryKernelHasItsOwn) {
  EXPECT_TRUE(shared_object_form_notes({}).empty());
  EXPECT_TRUE(shared_object_form_notes({"5.15.0-119-generic", "5.15.0-122-generic"}).empty());
}

TEST(SharedObjectForm, NamesEveryKernelThatSharesOne) {
  const auto notes = shared_object_form_notes(
      {"5.14.0-1.el9.x86_64", "5.14.0-1.el9.aarch64", "5.14.0-1.el9.aarch64_64k", "6.1.0.x86_64", "6.1.0.aarch64"});
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_TRUE(notes[0].starts_with(
      "kernels 5.14.0-1.el9.aarch64, 5.14.0-1.el9.aarch64_64k and 5.14.0-1.el9.x86_64 share the gpu-operator's"));
  EXPECT_TRUE(notes[1].starts_with("kernels 6.1.0.aarch64 and 6.1.0.x86_64 share"));
}

TEST(DnsSubdomain, FollowsRfc1123) {
  for (const std::string& name :
       {std::string("a"), std::string("5.14.0-427.el9.4"), std::string("a-b.c"), std::string(253, 'a')}) {
    EXPECT_TRUE(is_dns_subdomain(name)) << name;
  }
  for (const std::string& name :
       {std::string(), std::string("a..b"), std::string(".a"), std::string("a."), std::string("-a"), std::string("a-"),
        std::string("a.-b"), std::string("a-.b"), std::string("A"), std::string("a_b"), std::string(254, 'a')}) {
    EXPECT_FALSE(is_dns_subdomain(name)) << name;
  }
}

rc::Gen<std::string> release_text() {
  return rc::gen::resize(
      KernelRelease::kMaxLength,
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123456789.-_+~:aXx64\xff\x80"))));
}

RC_GTEST_PROP(KernelFormProperty, IsIdempotentAndOfLabelCharacters, ()) {
  const auto release = KernelRelease::parse(*release_text());
  RC_PRE(release.has_value());
  const std::string form = nfd_kernel_form(*release);
  RC_ASSERT((is_label_value(form) || form.size() > kMaxLabelValue));
  RC_ASSERT((form.empty() || nfd_kernel_form(KernelRelease::parse(form).value()) == form));
}

RC_GTEST_PROP(KernelLabelsProperty, AreAlwaysLabelValues, ()) {
  const auto release = KernelRelease::parse(*release_text());
  RC_PRE(release.has_value());
  for (const auto& [key, value] : kernel_labels(*release)) {
    RC_ASSERT(is_label_value(value));
  }
}

RC_GTEST_PROP(OsLabelsProperty, AreAlwaysLabelValues, (const std::string& id, const std::string& version_id)) {
  for (const auto& [key, value] : os_labels(os(id, version_id))) {
    RC_ASSERT(is_label_value(value));
  }
}

}  // namespace
}  // namespace gpuskew
