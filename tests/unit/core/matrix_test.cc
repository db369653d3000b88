#include "core/matrix.h"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gpuskew {
namespace {

const std::string kHeader = "driver_branch,kernel,os_tag\n";

Tag tag(const std::string& driver, const std::string& kernel, const std::string& os) {
  return Tag{driver + "-" + kernel + "-" + os, driver, kernel, os, "", {}};
}

std::string error_of(const std::string& rows) {
  const auto matrix = Matrix::parse_csv(kHeader + rows);
  return matrix ? "" : matrix.error().what;
}

TEST(Matrix, HoldsRowsAsText) {
  const Matrix matrix = Matrix::parse_csv(kHeader +
                                          "550,5.15.0-119-generic,ubuntu22.04\n"
                                          "580.82.07,4.18.0-553.el8_10.x86_64,rhel8.10\n")
                            .value();
  EXPECT_EQ(matrix.size(), 2U);
  EXPECT_TRUE(matrix.contains(tag("550", "5.15.0-119-generic", "ubuntu22.04")));
  EXPECT_TRUE(matrix.contains(tag("580.82.07", "4.18.0-553.el8_10.x86_64", "rhel8.10")));
  EXPECT_FALSE(matrix.contains(tag("580.82.07", "4.18.0-553.el8_10.x86_64", "rhel8.1")));
  EXPECT_FALSE(matrix.contains(tag("580", "4.18.0-553.el8_10.x86_64", "rhel8.10")));
  EXPECT_FALSE(matrix.contains(tag("550", "5.15.0-122-generic", "ubuntu22.04")));
}

TEST(Matrix, TakesWhatSpreadsheetsAndPeopleWrite) {
  const Matrix matrix = Matrix::parse_csv(
                            "\xef\xbb\xbf# images\r\n\r\n\"driver_branch\",kernel,os_tag\r\n"
                            "\"550\", 5.15.0-119-generic ,\"ubuntu22.04\"\r\n"
                            "550,5.15.0-119-generic,ubuntu22.04\r\n"
                            "  # 560,x,y\r\n  \r\n"
                            "550,6.5.2-4-default,opensuse-tumbleweed20240115")
                            .value();
  EXPECT_EQ(matrix.size(), 2U);
  EXPECT_TRUE(matrix.contains(tag("550", "5.15.0-119-generic", "ubuntu22.04")));
  EXPECT_TRUE(matrix.contains(tag("550", "6.5.2-4-default", "opensuse-tumbleweed20240115")));
}

TEST(Matrix, MayBeEmptyButNotWithoutItsHeader) {
  EXPECT_EQ(Matrix::parse_csv(kHeader).value().size(), 0U);
  EXPECT_EQ(Matrix::parse_csv("").error().what, "line 1, column 1: the header driver_branch,kernel,os_tag is missing");
  EXPECT_EQ(Matrix::parse_csv("\n550,5.15.0-119-generic,ubuntu22.04\n").error().what,
            "line 2, column 1: the header is driver_branch,kernel,os_tag, not '550,5.15.0-119-generic,ubuntu22.04'");
  EXPECT_FALSE(Matrix::parse_csv("driver_branch,kernel,os_tag,x\n"));
  EXPECT_FALSE(Matrix::parse_csv("kernel,driver_branch,os_tag\n"));
}

TEST(Matrix, NamesLineAndColumnOfABadRow) {
  EXPECT_EQ(error_of("550,5.15.0-119-generic\n"), "line 2, column 3 (os_tag): missing");
  EXPECT_EQ(error_of("550\n"), "line 2, column 2 (kernel): missing");
  EXPECT_EQ(error_of("550,5.15.0,u,x\n"), "line 2, column 4: a row has three columns");
  EXPECT_EQ(error_of("550,5.15.0,u,\n"), "line 2, column 4: a row has three columns");
  EXPECT_EQ(error_of("550,5.15.0,\n"), "line 2, column 3 (os_tag): '' can not stand in a tag");
  EXPECT_EQ(error_of("R550,5.15.0,u\n"), "line 2, column 1 (driver_branch): 'R550' is no driver branch or version");
  EXPECT_EQ(error_of("550,6.6.72+,cos117\n"),
            "line 2, column 2 (kernel): '6.6.72+' is no kernel's label form; that of this release is '6.6.72'");
  EXPECT_EQ(error_of("550,,u\n"), "line 2, column 2 (kernel): '' is no kernel's label form");
  EXPECT_EQ(error_of("550,5.15.0,ubuntu 22.04\n"), "line 2, column 3 (os_tag): 'ubuntu 22.04' can not stand in a tag");
  EXPECT_EQ(error_of("\n#\n550,\"5.15.0,u\n"), "line 4, column 2 (kernel): the quote is not closed");
  EXPECT_EQ(error_of("550,5\"15,u\n"), "line 2, column 2 (kernel): a quote inside an unquoted field");
  EXPECT_EQ(error_of("550,\"5.15.0\"x,u\n"), "line 2, column 2 (kernel): something behind the closing quote");
  EXPECT_EQ(error_of("550,\"5\"\"15\",u\n"),
            "line 2, column 2 (kernel): '5\"15' is no kernel's label form; that of this release is '5_15'");
  EXPECT_EQ(error_of(std::string("550,5.15.0,u\0\n", 14)), "line 2, column 3 (os_tag): 'u?' can not stand in a tag");
}

TEST(Matrix, OneBadRowRefusesTheFile) {
  const auto matrix = Matrix::parse_csv(kHeader + "550,5.15.0-119-generic,ubuntu22.04\n550,5.15.0-122-generic\n");
  ASSERT_FALSE(matrix);
  EXPECT_EQ(matrix.error().code, ErrorCode::Malformed);
}

TEST(Matrix, RefusesMoreThanItsLimits) {
  EXPECT_EQ(Matrix::parse_csv(std::string(Matrix::kMaxBytes + 1, '\n')).error().code, ErrorCode::TooLarge);
  std::string rows;
  for (std::size_t i = 0; i <= Matrix::kMaxRows; ++i) {
    rows += "1,k" + std::to_string(i) + ",u\n";
  }
  const auto matrix = Matrix::parse_csv(kHeader + rows);
  ASSERT_FALSE(matrix);
  EXPECT_EQ(matrix.error().code, ErrorCode::TooLarge);
  EXPECT_EQ(matrix.error().what, "line 200002, column 1: more than 200000 rows");
}

RC_GTEST_PROP(MatrixProperty, HoldsEveryRowThatWasWritten, ()) {
  const auto rows = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(1, 1000), rc::gen::inRange(1, 1000)));
  std::string text = kHeader;
  for (const auto& [branch, abi] : rows) {
    text += std::to_string(branch) + ",5.15.0-" + std::to_string(abi) + "-generic,ubuntu22.04\n";
  }
  const Matrix matrix = Matrix::parse_csv(text).value();
  RC_ASSERT(matrix.size() <= rows.size());
  for (const auto& [branch, abi] : rows) {
    RC_ASSERT(
        matrix.contains(tag(std::to_string(branch), "5.15.0-" + std::to_string(abi) + "-generic", "ubuntu22.04")));
  }
}

RC_GTEST_PROP(MatrixProperty, AnyTextIsReadOrRefused, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("5,.\"\n\r# k\0\xff", 12)));
  const auto matrix = Matrix::parse_csv(kHeader + text);
  RC_ASSERT((matrix || !matrix.error().what.empty()));
}

}  // namespace
}  // namespace gpuskew
