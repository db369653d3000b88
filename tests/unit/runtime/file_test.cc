#include "runtime/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

std::ptrdiff_t entries(const std::filesystem::path& directory) {
  return std::distance(std::filesystem::directory_iterator(directory), {});
}

TEST(ReadFile, ReadsAllOfALongFile) {
  const TemporaryDirectory directory;
  const std::string content(100'000, 'x');
  std::ofstream(directory.path() / "long") << content;
  EXPECT_EQ(read_file(directory.path() / "long").value(), content);
}

TEST(ReadFile, NamesThePathAndTheReasonOfAMissingFile) {
  const auto read = read_file("/nonexistent/file");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::NotFound);
  EXPECT_EQ(read.error().what, "reading /nonexistent/file: no such file or directory");
}

TEST(ReadFile, RefusesAFileOfOneByteOverTheLimit) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "file") << "12345";
  EXPECT_EQ(read_file(directory.path() / "file", 5).value(), "12345");
  const auto read = read_file(directory.path() / "file", 4);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::TooLarge);
}

TEST(ReadFile, RefusesADirectory) {
  const TemporaryDirectory directory;
  const auto read = read_file(directory.path());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::Malformed);
}

TEST(ReadFile, DoesNotWaitForTheWriterOfAFifo) {
  const TemporaryDirectory directory;
  const auto fifo = directory.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(read_file(fifo).value_or("an error"), "");
}

TEST(WriteFileAtomically, ReplacesTheContentAndSetsTheMode) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "state";
  ASSERT_TRUE(write_file_atomically(path, "old"));
  ASSERT_TRUE(write_file_atomically(path, "new", 0640));
  EXPECT_EQ(read_file(path).value(), "new");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
  EXPECT_EQ(entries(directory.path()), 1);
}

TEST(WriteFileAtomically, KeepsTheOldFileAndLeavesNoTemporaryOneWhenItFails) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "state";
  std::filesystem::create_directories(path / "in-the-way");
  const auto written = write_file_atomically(path, "new");
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().what.find("writing " + path.string()), std::string::npos) << written.error().what;
  EXPECT_EQ(entries(directory.path()), 1);
  EXPECT_TRUE(std::filesystem::is_directory(path / "in-the-way"));
}

TEST(WriteFileAtomically, NamesAMissingDirectory) {
  const auto written = write_file_atomically("/nonexistent/state", "new");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::NotFound);
  EXPECT_EQ(written.error().what, "writing /nonexistent/state: no such file or directory");
}

TEST(WriteFileAtomically, WritesAFileNamedWithoutADirectory) {
  const TemporaryDirectory directory;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  const auto written = write_file_atomically("state", "new");
  std::filesystem::current_path(before);
  EXPECT_TRUE(written);
  EXPECT_EQ(read_file(directory.path() / "state").value(), "new");
}

TEST(ErrnoError, TellsDeniedFromMissing) {
  EXPECT_EQ(errno_error("x", EACCES), (Error{ErrorCode::Denied, "x: permission denied"}));
  EXPECT_EQ(errno_error("x", ENOENT).code, ErrorCode::NotFound);
  EXPECT_EQ(errno_error("x", ECONNREFUSED).code, ErrorCode::Unreachable);
}

}  // namespace
}  // namespace gpuskew
