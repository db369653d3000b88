#include "aggregator/file_lock.h"

#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

TEST(FileLock, IsHeldByOneOnlyAndFreeAgainWhenItGoes) {
  TempDir directory;
  const std::filesystem::path path = directory.path() / "lock";
  std::optional<FileLock> first = FileLock::acquire(path).value();
  const Result<FileLock> second = FileLock::acquire(path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::Timeout);
  first.reset();
  EXPECT_TRUE(FileLock::acquire(path));
}

TEST(FileLock, MoveAssignReleasesTheLockItHeld) {
  TempDir directory;
  FileLock a = FileLock::acquire(directory.path() / "a").value();
  FileLock b = FileLock::acquire(directory.path() / "b").value();
  a = std::move(b);
  EXPECT_TRUE(FileLock::acquire(directory.path() / "a"));
  EXPECT_FALSE(FileLock::acquire(directory.path() / "b"));
}

TEST(FileLock, NamesADirectoryThatIsNotThere) {
  TempDir directory;
  const Result<FileLock> lock = FileLock::acquire(directory.path() / "no" / "lock");
  ASSERT_FALSE(lock);
  EXPECT_EQ(lock.error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace gpuskew
