#include "agent/probes/validations.h"

#include <string>
#include <utility>

namespace gpuskew {
namespace {

constexpr const char* kRun = "/run";
constexpr const char* kFolder = "/run/nvidia/validations";
constexpr std::string_view kDriverReady = "driver-ready";
constexpr std::size_t kMaxMark = 4096;
constexpr std::size_t kMaxName = 64;
constexpr std::int64_t kNanosecondsInAMillisecond = 1'000'000;

using Marks = Fact<std::vector<ValidationMark>>;

// A line of its own: IS_HOST_DRIVER=true
bool says_host_driver(const std::string& text) {
  constexpr std::string_view kLine = "IS_HOST_DRIVER=true";
  for (std::size_t at = text.find(kLine); at != std::string::npos; at = text.find(kLine, at + 1)) {
    const std::size_t end = at + kLine.size();
    const bool begins = at == 0 || text[at - 1] == '\n';
    const bool ends = end == text.size() || text[end] == '\n' || text[end] == '\r';
    if (begins && ends) {
      return true;
    }
  }
  return false;
}

Result<ValidationMark> read_mark(const HostRoot& root, const std::string& name) {
  const std::string path = std::string(kFolder) + "/" + name;
  const auto status = root.status(path);
  if (!status) {
    return tl::unexpected(status.error());
  }
  ValidationMark mark;
  mark.name = name;
  mark.written = from_unix_ms(status->modified_ns / kNanosecondsInAMillisecond);
  if (name == kDriverReady) {
    const auto text = root.read(path, kMaxMark);
    if (!text) {
      return tl::unexpected(text.error());
    }
    mark.host_driver = says_host_driver(*text);
  }
  return mark;
}

Marks without_folder(const HostRoot& root, Error why) {
  if (why.code != ErrorCode::NotFound) {
    return Marks::unknown(std::move(why), kFolder);
  }
  // A mount of the host's / without what is mounted below it shows an empty /run.
  const auto run = root.list(kRun);
  if (run && !run->empty()) {
    return Marks::absent(kFolder);
  }
  return Marks::unknown(
      run ? Error{ErrorCode::NotFound, std::string(kRun) + " is empty, as where it is not mounted"} : run.error(),
      kRun);
}

}  // namespace

Marks read_validations(const HostRoot& root) {
  const auto entries = root.list(kFolder, HostRoot::kMaxEntries);
  if (!entries) {
    return without_folder(root, entries.error());
  }
  std::vector<ValidationMark> marks;
  for (const auto& entry : *entries) {
    if (entry.kind != FileKind::Regular || entry.name.size() > kMaxName) {
      continue;  // the validator writes plain files with short names
    }
    if (marks.size() == kMaxValidationMarks) {
      return Marks::unknown({ErrorCode::TooLarge, std::string("listing ") + kFolder + ": more than " +
                                                      std::to_string(kMaxValidationMarks) + " marks"},
                            kFolder);
    }
    auto mark = read_mark(root, entry.name);
    if (!mark && mark.error().code == ErrorCode::NotFound) {
      continue;  // taken away between the listing and now
    }
    if (!mark) {
      return Marks::unknown(std::move(mark.error()), kFolder);
    }
    marks.push_back(std::move(*mark));
  }
  return Marks::known(std::move(marks), kFolder);
}

}  // namespace gpuskew
