#include "agent/probes/modinfo.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

ReadAt from_bytes(std::string_view bytes) {
  return [bytes](std::uint64_t offset, std::size_t size) -> Result<std::string> {
    return std::string(offset < bytes.size() ? bytes.substr(offset, size) : "");
  };
}

template <class Change>
std::string changed_header(std::string bytes, Change change) {
  Elf64_Ehdr header{};
  std::memcpy(&header, bytes.data(), sizeof(header));
  change(header);
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

std::string scan(std::string_view bytes, std::size_t block) {
  ModinfoScanner scanner;
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    scanner.feed(bytes.substr(at, block));
  }
  const auto version = scanner.finish().version;
  return version ? version->text() : "error: " + version.error().what;
}

TEST(FindModinfo, ReadsTheSectionByItsHeaders) {
  const std::string modinfo = modinfo_with_version("550.90.07");
  EXPECT_EQ(find_modinfo(from_bytes(elf_module(modinfo))).value(), modinfo);
}

TEST(FindModinfo, RefusesWhatIsNoModule) {
  const std::string good = elf_module(modinfo_with_version("550.90.07"));
  EXPECT_EQ(find_modinfo(from_bytes("")).error().code, ErrorCode::Malformed);
  EXPECT_EQ(find_modinfo(from_bytes(std::string(4096, 'x'))).error().what, "not an ELF file");
  const auto error_of = [&good](auto change) { return find_modinfo(from_bytes(changed_header(good, change))).error(); };
  EXPECT_EQ(error_of([](Elf64_Ehdr& h) { h.e_ident[EI_CLASS] = ELFCLASS32; }).code, ErrorCode::Malformed);
  EXPECT_EQ(error_of([](Elf64_Ehdr& h) { h.e_shnum = 0; }).code, ErrorCode::Malformed);
  EXPECT_EQ(error_of([](Elf64_Ehdr& h) { h.e_shstrndx = 3; }).code, ErrorCode::Malformed);
  EXPECT_EQ(error_of([](Elf64_Ehdr& h) { h.e_shoff = UINT64_MAX - 3; }).code, ErrorCode::Malformed);
  EXPECT_EQ(error_of([](Elf64_Ehdr& h) { h.e_shnum = 60000; }).code, ErrorCode::TooLarge);
  EXPECT_EQ(error_of([](Elf64_Ehdr& h) { h.e_shnum = 1, h.e_shstrndx = 0; }).what, "no .modinfo section");
}

TEST(FindModinfo, RefusesEveryTruncation) {
  const std::string good = elf_module(modinfo_with_version("550.90.07"));
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(find_modinfo(from_bytes(std::string_view(good).substr(0, size)))) << size;
  }
}

RC_GTEST_PROP(FindModinfo, SurvivesAnyDamage, (std::vector<std::pair<std::uint16_t, char>> damage)) {
  std::string bytes = elf_module(modinfo_with_version("550.90.07"));
  for (const auto& [at, byte] : damage) {
    bytes[at % bytes.size()] = byte;
  }
  const auto modinfo = find_modinfo(from_bytes(bytes));
  RC_ASSERT(modinfo.has_value() || !modinfo.error().what.empty());
}

TEST(ModinfoValue, TakesTheWholeKeyOnly) {
  const std::string_view modinfo("srcversion=AA\0version=550.90.07\0version=1.1\0empty=\0noequals", 59);
  EXPECT_EQ(modinfo_value(modinfo, "version"), "550.90.07");
  EXPECT_EQ(modinfo_value(modinfo, "srcversion"), "AA");
  EXPECT_EQ(modinfo_value(modinfo, "empty"), "");
  EXPECT_EQ(modinfo_value(modinfo, "noequals"), std::nullopt);
  EXPECT_EQ(modinfo_value("", "version"), std::nullopt);
}

TEST(ModinfoScanner, FindsTheVersionWhereverABlockEnds) {
  const std::string bytes =
      std::string(100, '\0') + elf_module(modinfo_with_version("570.133.07")) + std::string(70, 'z');
  for (std::size_t block = 1; block < 64; ++block) {
    EXPECT_EQ(scan(bytes, block), "570.133.07") << "blocks of " << block;
  }
  EXPECT_EQ(scan(bytes, bytes.size()), "570.133.07");
}

TEST(ModinfoScanner, TakesNeitherOtherKeysNorCutNorOddValues) {
  const auto text_of = [](std::string_view text) { return scan(text, 7); };
  const std::string none = "error: no version entry with a driver version";
  EXPECT_EQ(text_of(std::string_view("\0srcversion=550.90.07\0", 22)), none);
  EXPECT_EQ(text_of(std::string_view("xversion=550.90.07\0", 19)), none);
  EXPECT_EQ(text_of(std::string_view("\0version=550.90.07", 18)), none);
  EXPECT_EQ(text_of(std::string_view("\0version=\0", 10)), none);
  EXPECT_EQ(text_of(std::string_view("\0version=1.2.3.4\0", 17)), none);
  EXPECT_EQ(text_of(""), none);
}

TEST(ModinfoScanner, DoesNotChooseBetweenTwoVersions) {
  const std::string_view twice("\0version=550.90.07\0license=x\0version=550.90.07\0", 47);
  EXPECT_EQ(scan(twice, 5), "550.90.07");
  const std::string_view differ("\0version=550.90.07\0version=535.183.01\0", 38);
  EXPECT_EQ(scan(differ, 5), "error: two version entries, 550.90.07 and 535.183.01");
}

}  // namespace
}  // namespace gpuskew
