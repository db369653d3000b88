#include "case_files.h"
#include "core/label.h"

namespace gpuskew::test {
namespace {

const std::string kPrefix = "feature.node.kubernetes.io/kernel-version.";

void expect_kernel_labels(const KernelRelease& kernel, const std::string& full, const std::string& major,
                          const std::string& minor, const std::string& revision) {
  const Labels expected{{kPrefix + "full", full},
                        {kPrefix + "major", major},
                        {kPrefix + "minor", minor},
                        {kPrefix + "revision", revision}};
  EXPECT_EQ(kernel_labels(kernel), expected);
}

TEST(CasesKernel, Case051TrimsTheTrailingPlus) {
  const KernelRelease first = case_kernel("051-cos-plus-suffix");
  const KernelRelease second = case_kernel("051-cos-plus-suffix", "uname.2.txt");
  expect_kernel_labels(first, "6.6.72", "6", "6", "72");
  expect_kernel_labels(second, "6.12.55", "6", "12", "55");
  EXPECT_EQ(first.text(), "6.6.72+") << "the raw release stays a fact";
  EXPECT_EQ(second.text(), "6.12.55+");
  const OsIdentity cos{"cos", "117", "", "", "", ""};
  EXPECT_EQ(compute_tag(driver("570.148.08"), known(first), known(cos), {}).value().text, "570-6.6.72-cos117");
}

TEST(CasesKernel, Case053ReplacesThePlusInside) {
  const KernelRelease first = case_kernel("053-l4t-git-suffix");
  const KernelRelease second = case_kernel("053-l4t-git-suffix", "uname.2.txt");
  expect_kernel_labels(first, "4.9.140-l4t-r32.3.1_g47e7e1cb0b49", "4", "9", "140");
  expect_kernel_labels(second, "5.15.136-l4t-r36.3-1009.9_g46cdb595bebc", "5", "15", "136");
  EXPECT_EQ(first.text(), "4.9.140-l4t-r32.3.1+g47e7e1cb0b49") << "the form is lossy, so the raw release is kept";
}

TEST(CasesKernel, Case055SaysThatNoDaemonSetCanCarryAnRtKernel) {
  const std::string folder = "055-rt-kernel-double-dot";
  const KernelRelease kernel = case_kernel(folder);
  EXPECT_EQ(kernel_label(kernel).value(), "5.14.0-427.33.1.el9_4.x86_64_rt");

  const std::string object_form = operator_object_form(nfd_kernel_form(kernel));
  EXPECT_EQ(object_form, "5.14.0-427.33.1.el9.4..rt");
  EXPECT_FALSE(is_dns_subdomain(object_form));

  const Tag tag = compute_tag(driver("550.90.07"), known(kernel), known(case_os(folder)), {}).value();
  EXPECT_EQ(tag.text, "550-5.14.0-427.33.1.el9_4.x86_64_rt-rhcos4.16");
  EXPECT_TRUE(any_holds(tag.notes, "RT kernel: precompiled DaemonSet name invalid"));
}

TEST(CasesKernel, Case055TellsTheRtKernelFromThePlainOne) {
  const KernelRelease rt = case_kernel("055-rt-kernel-double-dot");
  const KernelRelease plain = KernelRelease::parse("5.14.0-427.33.1.el9_4.x86_64").value();
  EXPECT_NE(rt, plain);
  EXPECT_NE(nfd_kernel_form(rt), nfd_kernel_form(plain));
}

TEST(CasesKernel, Case056TwoKernelsShareOneObjectForm) {
  const std::string folder = "056-64k-pages-pool-collision";
  const KernelRelease a = case_kernel(folder, "uname.node-a.txt");
  const KernelRelease b = case_kernel(folder, "uname.node-b.txt");
  const std::string label_a = kernel_label(a).value();
  const std::string label_b = kernel_label(b).value();
  EXPECT_EQ(label_a, "5.14.0-570.19.1.el9_6.aarch64_64k");
  EXPECT_EQ(label_b, "5.14.0-570.19.1.el9_6.aarch64");
  EXPECT_EQ(operator_object_form(label_a), "5.14.0-570.19.1.el9.6");
  EXPECT_EQ(operator_object_form(label_b), "5.14.0-570.19.1.el9.6");

  const OsIdentity rhel{"rhel", "9.6", "", "", "", ""};
  EXPECT_NE(compute_tag(driver("580.65.06"), known(a), known(rhel), {}).value().text,
            compute_tag(driver("580.65.06"), known(b), known(rhel), {}).value().text);

  const auto notes = shared_object_form_notes({label_a, label_b, "6.8.0-59-generic"});
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(any_holds(notes, label_a + " and ") || any_holds(notes, " and " + label_a));
  EXPECT_TRUE(any_holds(notes, "form 5.14.0-570.19.1.el9.6:"));
  EXPECT_TRUE(any_holds(notes, "may make one node pool"));
}

TEST(CasesKernel, Case058FlavourIsEveryPartBehindTheAbiNumber) {
  std::string rest = case_file("058-flavours-ubuntu", "kernels.txt");
  const std::vector<std::string> expected{"generic", "aws",    "aws-64k", "azure", "azure-fde",
                                          "gke",     "oracle", "nvidia",  "nvidia"};
  const OsIdentity ubuntu{"ubuntu", "22.04", "", "", "", ""};
  for (const std::string& flavour : expected) {
    const auto end = rest.find('\n');
    const KernelRelease kernel = KernelRelease::parse(rest.substr(0, end)).value();
    rest.erase(0, end + 1);
    EXPECT_EQ(kernel.flavour(), flavour) << kernel.text();
    EXPECT_EQ(kernel_label(kernel).value(), kernel.text());

    const Tag tag = compute_tag(driver("580.65.06"), known(kernel), known(ubuntu), {}).value();
    EXPECT_EQ(tag.text, "580-" + kernel.text() + "-ubuntu22.04");
    const bool published = flavour != "gke" && flavour != "aws-64k";
    EXPECT_EQ(tag.notes.empty(), published) << kernel.text();
  }
  EXPECT_EQ(rest, "");
}

TEST(CasesKernel, Case060NeverCutsAReleaseThatIsTooLongForALabel) {
  const KernelRelease kernel = case_kernel("060-release-of-64-characters");
  ASSERT_EQ(kernel.text().size(), KernelRelease::kMaxLength);
  ASSERT_FALSE(kernel_label(kernel));
  EXPECT_EQ(kernel_label(kernel).error().code, ErrorCode::TooLarge);
  const Labels without_full{{kPrefix + "major", "6"}, {kPrefix + "minor", "8"}, {kPrefix + "revision", "12"}};
  EXPECT_EQ(kernel_labels(kernel), without_full);

  const OsIdentity debian{"debian", "12", "", "", "", ""};
  const Tag tag = compute_tag(driver("550.90.07"), known(kernel), known(debian), {}).value();
  EXPECT_EQ(tag.text, "550-" + kernel.text() + "-debian12");
  EXPECT_TRUE(any_holds(tag.notes, "NFD drops kernel-version.full"));
}

}  // namespace
}  // namespace gpuskew::test
