#include "agent/probes/dpkg_status.h"

#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "agent/probes/packages.h"
#include "tests/support/process.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

bool any(std::string_view) {
  return true;
}

Result<std::vector<DpkgPackage>> scanned(std::string_view text, std::size_t block = 1u << 20) {
  DpkgScanner scanner(any);
  for (std::size_t at = 0; at < text.size(); at += block) {
    scanner.feed(text.substr(at, block));
  }
  return std::move(scanner).finish();
}

std::string stanza(const std::string& package, const std::string& state, const std::string& version) {
  return "Package: " + package + "\nStatus: " + state + "\nPriority: optional\nVersion: " + version +
         "\nDescription: x\n Status: install ok installed\n .\n Package: fake\n\n";
}

TEST(DpkgScanner, KeepsPackagesWhoseFilesAreOnTheDisk) {
  const auto packages = scanned(
      stanza("installed", "install ok installed", "1") + stanza("held", "hold ok installed", "2") +
      stanza("removed", "deinstall ok config-files", "3") + stanza("purged", "purge ok not-installed", "4") +
      stanza("dkms-failed", "install ok half-configured", "5") + stanza("unpacked", "install ok unpacked", "6") +
      stanza("half", "install reinstreq half-installed", "7") + stanza("waits", "install ok triggers-pending", "8"));
  ASSERT_TRUE(packages.has_value()) << packages.error().what;
  EXPECT_EQ(*packages,
            (std::vector<DpkgPackage>{
                {"installed", "1"}, {"held", "2"}, {"dkms-failed", "5"}, {"unpacked", "6"}, {"waits", "8"}}));
}

TEST(DpkgScanner, ListsAPackageOfTwoArchitecturesOnce) {
  const std::string one = stanza("libnvidia-compute-550", "install ok installed", "550.90.07-0ubuntu1");
  EXPECT_EQ(scanned(one + one)->size(), 1U);
}

TEST(DpkgScanner, RefusesWhatIsNoList) {
  const std::string good = stanza("a", "install ok installed", "1");
  for (const std::string& bad :
       {std::string(), std::string("\n\n\n"), good.substr(0, good.size() - 1), good + "Package: nvidia-dri",
        good + "Package: b\nStatus: install ok installed\n", std::string(4096, '\0'),
        good + std::string(64, '\0') + "\n\n", "Status: install ok installed\nVersion: 1\n\n" + good,
        "Package: b\nVersion: 1\n\n" + good, stanza("evil\x1b[2J", "install ok installed", "1"),
        stanza("noversion", "install ok installed", ""),
        std::string("\x7f"
                    "ELF and so on\n\n")}) {
    EXPECT_EQ(scanned(bad).error().code, ErrorCode::Malformed) << bad;
  }
}

TEST(DpkgScanner, LooksOnlyAtTheBeginningOfALongLine) {
  const std::string packages = "Package: a\nStatus: install ok installed\nDepends: " + std::string(1 << 20, 'x') +
                               "\nVersion: 1\n" + " " + std::string(1 << 20, 'y') + "\n\n";
  EXPECT_EQ(*scanned(packages), (std::vector<DpkgPackage>{{"a", "1"}}));
}

RC_GTEST_PROP(DpkgScanner, DoesNotMindWhereBlocksEnd, ()) {
  const std::string text = stanza("a", "install ok installed", "1") + stanza("b", "hold ok installed", "2-1ubuntu3");
  const auto block = *rc::gen::inRange<std::size_t>(1, text.size() + 1);
  const auto cut = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
  const auto whole = scanned(text.substr(0, cut));
  const auto pieces = scanned(text.substr(0, cut), block);
  RC_ASSERT(whole.has_value() == pieces.has_value());
  if (whole) {
    RC_ASSERT(*whole == *pieces);
  }
}

TEST(DpkgPackages, OfThisMachineAreThoseDpkgItselfLists) {
  const Outcome outcome =
      run({"dpkg-query", "--show", "--showformat=${db:Status-Status} ${Package} ${Version}\n", "lib[a-g]*"});
  std::istringstream lines(outcome.out);
  std::vector<DpkgPackage> expected;
  for (std::string state, name, version; lines >> state && std::getline(lines, version);) {
    std::istringstream rest(version);
    rest >> name >> version;
    if (state == "installed") {
      expected.push_back({name, version});
    }
  }
  auto packages = read_dpkg_packages(root_at("/"), [](std::string_view name) {
    return name.size() > 3 && name.starts_with("lib") && name[3] >= 'a' && name[3] <= 'g';
  });
  ASSERT_TRUE(packages.has_value()) << packages.error().what;
  const auto by_name = [](const DpkgPackage& a, const DpkgPackage& b) { return a.name < b.name; };
  std::sort(packages->begin(), packages->end(), by_name);
  std::sort(expected.begin(), expected.end(), by_name);
  EXPECT_GT(expected.size(), 20U);
  EXPECT_EQ(*packages, expected);
}

TEST(DpkgPackages, OfDistrolessImagesAreInSmallFiles) {
  const ScratchTree tree;
  tree.write("/var/lib/dpkg/status.d/libcuda1", "Package: libcuda1\nVersion: 550.90.07-1\nDescription: x\n");
  tree.write("/var/lib/dpkg/status.d/libcuda1.md5sums", "0123 usr/lib\n");
  tree.write("/var/lib/dpkg/status.d/base", "Package: base\nVersion: 1\n");
  const auto traces = read_dpkg_traces(tree.root(), "", nullptr);
  ASSERT_TRUE(traces.has_value()) << traces.error().what;
  ASSERT_EQ(traces->size(), 1U);
  EXPECT_EQ(traces->front().name, "libcuda1");
  EXPECT_EQ(traces->front().source, "/var/lib/dpkg/status.d");
}

TEST(DpkgTraces, SayWhyTheyAreNotKnown) {
  const ScratchTree none;
  EXPECT_EQ(read_dpkg_traces(none.root(), "", nullptr).error().code, ErrorCode::NotFound);
  const ScratchTree fifo;
  fifo.fifo("/var/lib/dpkg/status");
  EXPECT_EQ(read_dpkg_traces(fifo.root(), "", nullptr).error().code, ErrorCode::Malformed);
  const ScratchTree cut;
  cut.write("/var/lib/dpkg/status", stanza("a", "install ok installed", "1") + "Package: nvidia-dri");
  const auto traces = read_dpkg_traces(cut.root(), "", nullptr);
  EXPECT_EQ(traces.error().what, "reading /var/lib/dpkg/status: no list of packages: it ends inside a line");
  const ScratchTree loop;
  loop.broken("/var/lib/dpkg");
  EXPECT_NE(read_dpkg_traces(loop.root(), "", nullptr).error().code, ErrorCode::NotFound);
}

TEST(DpkgTraces, AreReadOnceForOneFile) {
  PackageCache cache;
  const ScratchTree tree;
  tree.write("/var/lib/dpkg/status", stanza("libcuda1", "install ok installed", "550.90.07-1"));
  EXPECT_EQ(read_dpkg_traces(tree.root(), "", &cache)->size(), 1U);
  EXPECT_EQ(read_dpkg_traces(tree.root(), "", &cache)->size(), 1U);
  tree.write("/var/lib/dpkg/status", stanza("libcuda1", "deinstall ok config-files", "550.90.07-1"));
  EXPECT_EQ(read_dpkg_traces(tree.root(), "", &cache)->size(), 0U);
}

}  // namespace
}  // namespace gpuskew
