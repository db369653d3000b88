#include "agent/probes/package_cache.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

FileStatus file(std::int64_t modified) {
  FileStatus status;
  status.kind = FileKind::Regular;
  status.inode = 7;
  status.modified_ns = modified;
  return status;
}

TEST(PackageCache, AsksAgainOnlyWhenAFileChanged) {
  PackageCache cache;
  int asked = 0;
  const auto read = [&asked]() -> Result<InstallTraces> {
    ++asked;
    return InstallTraces{};
  };
  EXPECT_TRUE(cache.get("a", {file(1), FileStatus{}}, read).has_value());
  EXPECT_TRUE(cache.get("a", {file(1), FileStatus{}}, read).has_value());
  EXPECT_EQ(asked, 1);
  EXPECT_TRUE(cache.get("a", {file(1), file(2)}, read).has_value());  // its log came
  EXPECT_TRUE(cache.get("b", {file(1), file(2)}, read).has_value());
  EXPECT_EQ(asked, 3);
}

TEST(PackageCache, GivesAFailureUpAfterSomeAttemptsUntilAFileChanges) {
  PackageCache cache;
  int asked = 0;
  const auto read = [&asked]() -> Result<InstallTraces> {
    ++asked;
    return fail(ErrorCode::Malformed, "damaged");
  };
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(cache.get("a", {file(1)}, read).error().what, "damaged");
  }
  EXPECT_EQ(asked, PackageCache::kMaxAttempts);
  EXPECT_FALSE(cache.get("a", {file(2)}, read).has_value());
  EXPECT_EQ(asked, PackageCache::kMaxAttempts + 1);
}

TEST(PackageCache, StaysSmall) {
  PackageCache cache;
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(cache.get(std::to_string(i), {file(i)}, [] { return Result<InstallTraces>(InstallTraces{}); }));
  }
}

}  // namespace
}  // namespace gpuskew
