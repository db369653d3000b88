// rpm's databases as rpm writes them, read without rpm.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "agent/probes/packages.h"
#include "agent/probes/rpm_bdb.h"
#include "agent/probes/rpm_ndb.h"
#include "tests/unit/agent/rpm_database.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

const std::vector<StubPackage> kPackages = {
    {"nvidia-driver", "550.90.07", "1.el9"},         {"nvidia-driver-cuda-libs", "550.90.07", "1.el9"},
    {"kmod-nvidia-open-dkms", "550.90.07", "1.el9"}, {"nvidia-fabric-manager", "550.90.07", "1"},
    {"nvidia-container-toolkit", "1.17.4", "1"},     {"bash", "5.1.8", "9.el9"},
};

class RpmPackages : public ::testing::Test {
 protected:
  // One database for all: building it takes a second.
  static void SetUpTestSuite() {
    tree_ = new ScratchTree;
    tree_->directory("/var/lib/rpm");
    make_rpm_database(tree_->path() / "var/lib/rpm", kPackages);
  }
  static void TearDownTestSuite() {
    delete tree_;
    tree_ = nullptr;
  }
  static std::vector<std::string> headers() { return rpm_headers(tree_->path() / "var/lib/rpm/rpmdb.sqlite"); }

  static ScratchTree* tree_;
};
ScratchTree* RpmPackages::tree_ = nullptr;

std::vector<std::string> listed(const Result<InstallTraces>& traces) {
  std::vector<std::string> text;
  for (const InstallTrace& trace : traces.value()) {
    text.push_back(std::string(to_string(trace.kind)) + " " + std::string(to_string(trace.part)) + " " + trace.name +
                   " " + trace.version);
  }
  std::sort(text.begin(), text.end());
  return text;
}

const std::vector<std::string> kExpected = {
    "rpm fabric-manager nvidia-fabric-manager 550.90.07-1",
    "rpm kernel-module kmod-nvidia-open-dkms 550.90.07-1.el9",
    "rpm user-space nvidia-driver 550.90.07-1.el9",
    "rpm user-space nvidia-driver-cuda-libs 550.90.07-1.el9",
};

TEST_F(RpmPackages, OfSqliteAreThoseRpmLists) {
  EXPECT_EQ(rpm_says(tree_->path() / "var/lib/rpm").size(), kPackages.size());
  const auto traces = read_rpm_traces(tree_->root(), "", nullptr);
  EXPECT_EQ(listed(traces), kExpected);
  EXPECT_EQ(traces->front().source, "/var/lib/rpm/rpmdb.sqlite");
  EXPECT_TRUE(traces->front().changed_by.starts_with("rpm, 20")) << traces->front().changed_by;
}

TEST_F(RpmPackages, OfABerkeleyDbAreThoseRpmListsInIt) {
  const ScratchTree tree;
  tree.directory("/var/lib/rpm");
  make_bdb(tree.path() / "var/lib/rpm/Packages", headers());
  EXPECT_EQ(rpm_says(tree.path() / "var/lib/rpm", "bdb_ro"), rpm_says(tree_->path() / "var/lib/rpm"));
  EXPECT_EQ(listed(read_rpm_traces(tree.root(), "", nullptr)), kExpected);
}

TEST_F(RpmPackages, OfALargeBerkeleyDbAreAllRead) {
  const std::vector<std::string> six = headers();
  const auto bash = std::find_if(six.begin(), six.end(), [](const std::string& header) {
    return header.find(std::string("bash\0", 5)) != std::string::npos;
  });
  ASSERT_NE(bash, six.end());
  std::vector<std::string> many(3000, *bash);
  for (const std::size_t at : {0U, 1500U, 2990U}) {
    std::copy(six.begin(), six.end(), many.begin() + static_cast<std::ptrdiff_t>(at));
  }
  const ScratchTree tree;
  tree.directory("/var/lib/rpm");
  make_bdb(tree.path() / "var/lib/rpm/Packages", many);
  const auto traces = read_rpm_traces(tree.root(), "", nullptr);
  ASSERT_TRUE(traces.has_value()) << traces.error().what;
  EXPECT_EQ(traces->size(), 3 * kExpected.size());
}

TEST_F(RpmPackages, OfSuseAreReadFromItsPlaceAndThroughItsLink) {
  const ScratchTree tree;
  tree.write("/usr/lib/sysimage/rpm/Packages.db", ndb_bytes(headers()));
  tree.link("/var/lib/rpm", "../../usr/lib/sysimage/rpm");
  const auto traces = read_rpm_traces(tree.root(), "", nullptr);
  EXPECT_EQ(listed(traces), kExpected);
  EXPECT_EQ(traces->front().source, "/usr/lib/sysimage/rpm/Packages.db");
  tree.remove("/usr/lib/sysimage/rpm");
  EXPECT_EQ(read_rpm_traces(tree.root(), "", nullptr).error().code, ErrorCode::NotFound);
}

TEST_F(RpmPackages, OfADatabaseWrittenByRpmsOwnCodeAreThoseOfCase128) {
  const HostRoot root = root_at(std::filesystem::path(GPUSKEW_FIXTURES) / "rpm/suse/root");
  EXPECT_EQ(listed(read_rpm_traces(root, "", nullptr)),
            (std::vector<std::string>{
                "kmod kernel-module nv-prefer-signed-open-driver 580.95.05-1.1",
                "kmod kernel-module nvidia-open-driver-G06-signed-kmp-default 580.95.05_k6.4.0_150700.51-150700.1.1",
                "rpm user-space nvidia-compute-utils-G06 580.95.05-1.1"}));
}

TEST_F(RpmPackages, AreNotFoundWhereThereIsNoDatabase) {
  const ScratchTree tree;
  EXPECT_EQ(read_rpm_traces(tree.root(), "", nullptr).error().code, ErrorCode::NotFound);
  tree.directory("/var/lib/rpm");  // Debian's rpm makes one
  EXPECT_EQ(read_rpm_traces(tree.root(), "", nullptr).error().code, ErrorCode::NotFound);
}

TEST_F(RpmPackages, OfADamagedDatabaseAreAnErrorThatNamesIt) {
  for (const char* file : {"rpmdb.sqlite", "Packages.db", "Packages"}) {
    for (const std::string& content : {std::string(), std::string("x"), std::string(1 << 20, '\0')}) {
      const ScratchTree tree;
      tree.write(std::string("/var/lib/rpm/") + file, content);
      const auto traces = read_rpm_traces(tree.root(), "", nullptr);
      ASSERT_FALSE(traces.has_value()) << file;
      EXPECT_NE(traces.error().code, ErrorCode::NotFound);
      EXPECT_TRUE(traces.error().what.starts_with(std::string("reading /var/lib/rpm/") + file)) << traces.error().what;
    }
  }
}

TEST_F(RpmPackages, OfADatabaseThatCanNotBeOpenedAreAnError) {
  const ScratchTree tree;
  tree.fifo("/var/lib/rpm/rpmdb.sqlite");
  EXPECT_EQ(read_rpm_traces(tree.root(), "", nullptr).error().code, ErrorCode::Malformed);
  const ScratchTree other;
  other.broken("/var/lib/rpm");
  EXPECT_NE(read_rpm_traces(other.root(), "", nullptr).error().code, ErrorCode::NotFound);
}

TEST_F(RpmPackages, OfAnOpenTransactionAreUnknown) {
  const ScratchTree tree;
  std::filesystem::create_directories(tree.path() / "var/lib/rpm");
  std::filesystem::copy_file(tree_->path() / "var/lib/rpm/rpmdb.sqlite", tree.path() / "var/lib/rpm/rpmdb.sqlite");
  tree.write("/var/lib/rpm/rpmdb.sqlite-journal", "half of a transaction");
  EXPECT_NE(read_rpm_traces(tree.root(), "", nullptr).error().what.find("a transaction is open"), std::string::npos);
}

TEST_F(RpmPackages, AreReadOnceForOneDatabase) {
  PackageCache cache;
  ScratchTree tree;
  tree.write("/var/lib/rpm/Packages.db", ndb_bytes(headers()));
  EXPECT_EQ(listed(read_rpm_traces(tree.root(), "", &cache)), kExpected);
  tree.write("/var/lib/rpm/Packages.db", ndb_bytes({headers().front()}));
  EXPECT_LT(read_rpm_traces(tree.root(), "", &cache)->size(), kExpected.size()) << "the file changed";
}

// Every byte of a small database set to every other kind of trouble: an answer or an error, and an end.
TEST_F(RpmPackages, OfDatabasesWithAWrongByteEndInAnAnswer) {
  const std::string ndb = ndb_bytes({headers().front()});
  ScratchTree tree;
  tree.directory("/var/lib/rpm");
  make_bdb(tree.path() / "var/lib/rpm/Packages", {headers().front()});
  std::ifstream in(tree.path() / "var/lib/rpm/Packages", std::ios::binary);
  std::stringstream bdb;
  bdb << in.rdbuf();
  const auto wanted = [](std::string_view) { return true; };
  for (const bool is_ndb : {true, false}) {
    const std::string good = is_ndb ? ndb : bdb.str();
    for (std::size_t at = 0; at < good.size(); at += at < 512 ? 1 : 7) {
      for (const char wrong : {'\0', '\x01', '\x7f', '\xff'}) {
        std::string bytes = good;
        bytes[at] = wrong;
        const ReadAt file = [&bytes](std::uint64_t offset, std::size_t size) -> Result<std::string> {
          return offset < bytes.size() ? bytes.substr(offset, size) : std::string();
        };
        const auto packages = is_ndb ? read_rpm_ndb(file, wanted) : read_rpm_bdb(file, wanted);
        EXPECT_TRUE(packages || !packages.error().what.empty());
      }
    }
  }
}

}  // namespace
}  // namespace gpuskew
