#include "core/version.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gpuskew {
namespace {

DriverVersion driver(std::string_view text) {
  return DriverVersion::parse(text).value();
}
KernelRelease kernel(std::string_view text) {
  return KernelRelease::parse(text).value();
}

rc::Gen<std::string> dotted_text() {
  const auto part = rc::gen::map(rc::gen::pair(rc::gen::inRange(0, 1000), rc::gen::arbitrary<bool>()), [](auto pair) {
    const auto [number, padded] = pair;
    return (padded ? "0" : "") + std::to_string(number);
  });
  return rc::gen::map(rc::gen::tuple(part, part, part, rc::gen::arbitrary<bool>()), [](auto parts) {
    const auto& [a, b, c, three] = parts;
    return a + "." + b + (three ? "." + c : "");
  });
}

TEST(DriverVersion, KeepsTheTextOfEachPart) {
  const DriverVersion version = driver("550.90.07");
  EXPECT_EQ(version.text(), "550.90.07");
  EXPECT_EQ(version.branch(), "550");
  EXPECT_EQ(version.minor_text(), "90");
  EXPECT_EQ(version.revision_text(), "07");
  EXPECT_EQ(version.branch_number(), 550U);
  EXPECT_EQ(driver("460.56").revision_text(), "");
}

TEST(DriverVersion, OrdersPartByPart) {
  EXPECT_LT(driver("450.36.06"), driver("450.80.02"));
  EXPECT_LT(driver("450.80.02"), driver("450.102.04"));
  EXPECT_LT(driver("99.1"), driver("100.0"));
  EXPECT_LT(driver("460.56"), driver("460.56.00"));
  EXPECT_EQ(driver("570.133.7"), driver("570.133.07"));
}

TEST(DriverVersion, PrefersTheSpellingWithTheZero) {
  const DriverVersion zero = driver("570.133.07");
  const DriverVersion bare = driver("570.133.7");
  EXPECT_EQ(&fuller_spelling(zero, bare), &zero);
  EXPECT_EQ(&fuller_spelling(bare, zero), &zero);
  EXPECT_EQ(&fuller_spelling(zero, zero), &zero);
}

TEST(DriverVersion, RefusesEverythingElse) {
  const std::vector<std::string> bad{"",
                                     "550",
                                     "550.",
                                     ".550",
                                     "550..07",
                                     "550.90.07.1",
                                     "550.90.07 ",
                                     " 550.90",
                                     "550.90\n",
                                     "550.90.07a",
                                     "v550.90",
                                     "550,90",
                                     "550.-1",
                                     "999999.1",
                                     "1.000001",
                                     "0x10.2",
                                     "550.90-1",
                                     "550.9 0",
                                     "\xef\xbb\xbf"
                                     "550.90",
                                     "550.90\r",
                                     std::string("550.90\0", 7),
                                     std::string("\0", 1),
                                     "\xff\xfe.1",
                                     std::string(1 << 20, '5'),
                                     "(null)"};
  for (const std::string& text : bad) {
    const auto version = DriverVersion::parse(text);
    ASSERT_FALSE(version) << text.substr(0, 20);
    EXPECT_EQ(version.error().code, ErrorCode::Malformed);
    EXPECT_LT(version.error().what.size(), 200U);
  }
}

TEST(CudaVersion, TakesTenForNewerThanNine) {
  EXPECT_LT(CudaVersion::parse("12.9").value(), CudaVersion::parse("12.10").value());
  EXPECT_EQ(CudaVersion::parse("12.8.1").value().major_number(), 12U);
  EXPECT_EQ(CudaVersion::parse("12.8.1").value().minor_number(), 8U);
  EXPECT_FALSE(CudaVersion::parse("12"));
  EXPECT_FALSE(CudaVersion::parse("12.8.1.0"));
  EXPECT_FALSE(CudaVersion::parse("CUDA 12.8"));
}

TEST(KernelRelease, KeepsTheTextAndTakesOneLineEndOff) {
  EXPECT_EQ(kernel("5.15.0-119-generic\n").text(), "5.15.0-119-generic");
  EXPECT_EQ(kernel("6.6.72+").text(), "6.6.72+");
  EXPECT_NE(kernel("6.6.72+"), kernel("6.6.72"));
}

TEST(KernelRelease, ReadsTheNumbersThatAreThere) {
  using Numbers = std::vector<std::uint32_t>;
  EXPECT_EQ(kernel("6.6.72+").numbers(), (Numbers{6, 6, 72}));
  EXPECT_EQ(kernel("5.15.0-119-generic").numbers(), (Numbers{5, 15, 0}));
  EXPECT_EQ(kernel("6.6.150.1-1.azl3").numbers(), (Numbers{6, 6, 150}));
  EXPECT_EQ(kernel("6.8-rc1").numbers(), (Numbers{6, 8}));
  EXPECT_EQ(kernel("6.x").numbers(), (Numbers{6}));
  EXPECT_EQ(kernel("6.123456.7").numbers(), (Numbers{6}));
  EXPECT_EQ(kernel("custom").numbers(), (Numbers{}));
}

TEST(KernelRelease, FindsAFlavourOnlyBehindAnAbiNumber) {
  EXPECT_EQ(kernel("6.8.0-1046-azure-fde").flavour(), "azure-fde");
  EXPECT_EQ(kernel("6.5.2-4-default").flavour(), "default");
  for (const std::string text :
       {"6.6.72+", "6.14.4-arch1-2", "7.0.12-zen1-1-zen", "5.14.0-427.13.1.el9_4.x86_64", "6.8.12-060812-generic",
        "6.8.12-00123-gabcdef0123456-dirty", "6.8.12-123-gabcdef0123456", "6.8-119-generic", "6.8.0-119", "6.8.0-119-",
        "6.8.0", "6.8.0--generic", "4.9.140-l4t-r32.3.1+g47e7e1cb0b49", "x"}) {
    EXPECT_EQ(kernel(text).flavour(), "") << text;
  }
}

TEST(KernelRelease, RefusesWhatUnameCanNotSay) {
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string("5.15.0\n\n"), std::string("5.15.0\r\n"),
        std::string("5.15.0 generic"), std::string("5.15.0\0-x", 8), std::string("5\t15"), std::string("5.15\x7f")}) {
    const auto release = KernelRelease::parse(text);
    ASSERT_FALSE(release);
    EXPECT_EQ(release.error().code, ErrorCode::Malformed);
  }
  EXPECT_TRUE(KernelRelease::parse(std::string(64, 'x') + "\n"));
  EXPECT_EQ(KernelRelease::parse(std::string(65, 'x')).error().code, ErrorCode::TooLarge);
  EXPECT_EQ(KernelRelease::parse(std::string(1 << 20, 'x')).error().code, ErrorCode::TooLarge);
}

TEST(NvrmVersion, ReadsTheWordingOfTegraModules) {
  const auto nvrm = parse_nvrm_version(
      "NVRM version: NVIDIA UNIX Kernel Module for aarch64  34.1.1  Release Build  (buildbrain@mobile-u64-5414-d7000)  "
      "Mon May 16 21:12:24 PDT 2022\n");
  EXPECT_EQ(nvrm.value().flavour, ModuleFlavour::Proprietary);
  EXPECT_EQ(nvrm.value().l4t_release, "34.1.1");
}

TEST(NvrmVersion, TellsJetpack6sOwnNumberFromADriverToo) {
  const NvrmVersion nvrm = parse_nvrm_version(
                               "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build  "
                               "(buildbrain@mobile-u64-6336-d8000)  Tue Jan  7 17:35:12 PST 2025\n")
                               .value();
  EXPECT_EQ(nvrm.version.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(nvrm.l4t_release, std::nullopt);
}

TEST(NvrmVersion, TakesAnOldX86DriverBelow100ForADriver) {
  const auto nvrm =
      parse_nvrm_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  96.43.20  Sun Jul 17 21:48:43 PDT 2011\n");
  EXPECT_EQ(nvrm.value().version.value().branch(), "96");
}

TEST(NvrmVersion, NeverTakesACutVersion) {
  const std::string line = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n";
  for (std::size_t length = 0; length < line.size(); ++length) {
    const auto nvrm = parse_nvrm_version(std::string_view(line).substr(0, length));
    if (nvrm && nvrm->version) {
      EXPECT_EQ(nvrm->version->text(), "550.90.07") << length;
      EXPECT_GT(length, line.find("550.90.07") + 9);
    }
  }
  const auto whole = parse_nvrm_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07\r\n");
  EXPECT_EQ(whole.value().version.value().text(), "550.90.07") << "a line end proves the version whole";
}

TEST(NvrmVersion, SaysWhatALineLacks) {
  EXPECT_EQ(parse_nvrm_version("").error().what, "no line begins with 'NVRM version:'");
  EXPECT_EQ(parse_nvrm_version(std::string(1 << 20, '\0')).error().code, ErrorCode::Malformed);
  EXPECT_EQ(parse_nvrm_version(std::string(1 << 20, '\n')).error().code, ErrorCode::Malformed);
  EXPECT_EQ(parse_nvrm_version("NVRM version: NVIDIA UNIX Open Ker").error().code, ErrorCode::Malformed);
  EXPECT_EQ(parse_nvrm_version("NVRM version: NVIDIA UNIX Open Kernel Module for aar").value().architecture, "");
  const auto no_version = parse_nvrm_version("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  \n");
  EXPECT_EQ(no_version.value().version.error().what, "the NVRM line ends before the version");
  const auto word = parse_nvrm_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  Release Build\n");
  EXPECT_EQ(word.value().version.error().code, ErrorCode::Malformed);
}

RC_GTEST_PROP(DriverVersionProperty, TextSurvivesAndPartsRebuildIt, ()) {
  const std::string text = *dotted_text();
  const DriverVersion version = driver(text);
  RC_ASSERT(version.text() == text);
  const std::string revision(version.revision_text());
  RC_ASSERT(std::string(version.branch()) + "." + std::string(version.minor_text()) +
                (revision.empty() ? "" : "." + revision) ==
            text);
}

RC_GTEST_PROP(DriverVersionProperty, OrderIsTotal, ()) {
  const DriverVersion a = driver(*dotted_text());
  const DriverVersion b = driver(*dotted_text());
  const DriverVersion c = driver(*dotted_text());
  RC_ASSERT((a < b) + (a == b) + (a > b) == 1);
  RC_ASSERT((a < b) == (b > a));
  RC_ASSERT((!(a <= b && b <= c) || a <= c));
}

RC_GTEST_PROP(KernelReleaseProperty, AnyTextIsKeptOrRefused, (const std::string& text)) {
  const auto release = KernelRelease::parse(text);
  RC_ASSERT((!release || release->text() == text || release->text() + "\n" == text));
  if (release) {
    RC_ASSERT(release->text().ends_with(release->flavour()));
  }
}

RC_GTEST_PROP(NvrmVersionProperty, AnyTextIsReadOrRefused, (const std::string& text)) {
  const auto nvrm = parse_nvrm_version("NVRM version: NVIDIA UNIX " + text);
  RC_ASSERT((!nvrm || !nvrm->version || text.find(nvrm->version->text()) != std::string::npos));
}

}  // namespace
}  // namespace gpuskew
