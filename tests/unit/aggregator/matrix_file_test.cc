#include "aggregator/matrix_file.h"

#include <gtest/gtest.h>

#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

constexpr const char* kOneRow = "driver_branch,kernel,os_tag\n550,5.15.0-119-generic,ubuntu22.04\n";
constexpr const char* kTwoRows =
    "driver_branch,kernel,os_tag\n550,5.15.0-119-generic,ubuntu22.04\n550,5.15.0-122-generic,ubuntu22.04\n";

class MatrixFileTest : public testing::Test {
 protected:
  void replace(const char* content) { std::filesystem::rename(directory.write("new.csv", content), path); }

  TempDir directory;
  std::filesystem::path path = directory.write("matrix.csv", kOneRow);
  MatrixFile file{path};
};

TEST_F(MatrixFileTest, ReadsTheMatrix) {
  EXPECT_TRUE(file.reload());
  EXPECT_EQ(file.status(), (MatrixStatus{true, 1, path.string(), std::nullopt}));
  EXPECT_FALSE(file.reload()) << "it is the same";
}

TEST_F(MatrixFileTest, TakesAReplacedFileAtOnce) {
  file.reload();
  EXPECT_FALSE(file.poll());
  replace(kTwoRows);
  EXPECT_TRUE(file.poll());
  EXPECT_EQ(file.matrix()->size(), 2u);
  EXPECT_FALSE(file.poll());
}

TEST_F(MatrixFileTest, WaitsForAFileThatIsStillBeingWritten) {
  file.reload();
  directory.write("matrix.csv", "driver_branch,kernel,os_tag\n");
  EXPECT_FALSE(file.poll());
  directory.write("matrix.csv", kTwoRows);
  EXPECT_FALSE(file.poll());
  EXPECT_TRUE(file.poll());
  EXPECT_EQ(file.matrix()->size(), 2u);
}

TEST_F(MatrixFileTest, ABrokenEditKeepsTheLastGoodMatrixAndSaysWhy) {
  file.reload();
  replace("driver_branch,kernel,os_tag\n550,only-two\n");
  EXPECT_TRUE(file.poll());
  EXPECT_EQ(file.matrix()->size(), 1u);
  ASSERT_TRUE(file.status().error);
  EXPECT_NE(file.status().error->find("line 2"), std::string::npos) << *file.status().error;
  replace(kTwoRows);
  EXPECT_TRUE(file.poll());
  EXPECT_FALSE(file.status().error);
}

TEST_F(MatrixFileTest, AFileThatGoesAwayKeepsTheLastGoodMatrix) {
  file.reload();
  std::filesystem::remove(path);
  EXPECT_FALSE(file.poll());
  EXPECT_TRUE(file.poll());
  EXPECT_TRUE(file.status().error);
  EXPECT_EQ(file.status().rows, 1u);
}

TEST_F(MatrixFileTest, WithoutAPathNothingIsConfigured) {
  file.reload();
  file.set_path(std::nullopt);
  EXPECT_TRUE(file.reload());
  EXPECT_EQ(file.matrix(), nullptr);
  EXPECT_EQ(file.status(), MatrixStatus{});
  EXPECT_FALSE(file.poll());
}

}  // namespace
}  // namespace gpuskew
