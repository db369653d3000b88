#include "agent/probes/dpkg_status.h"

#include <algorithm>
#include <array>
#include <utility>

#include "agent/probes/package_names.h"

namespace gpuskew {
namespace {

// The third word of a Status line in which the package's files are on the disk.
constexpr std::array<std::string_view, 5> kOnDisk = {"installed", "unpacked", "half-configured", "triggers-awaited",
                                                     "triggers-pending"};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  const std::size_t end = text.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin + 1);
}

// "Version: 1.2" is "1.2" for "Version:".
bool take_field(std::string_view line, std::string_view field, std::string& value) {
  if (!line.starts_with(field)) {
    return false;
  }
  value = trimmed(line.substr(field.size()));
  return true;
}

}  // namespace

void DpkgScanner::feed(std::string_view block) {
  while (!block.empty()) {
    const std::size_t end = block.find('\n');
    const std::string_view part = block.substr(0, end);
    if (line_.size() < kMaxLine) {
      line_.append(part.substr(0, kMaxLine - line_.size()));
    }
    line_open_ = end == std::string_view::npos;
    if (line_open_) {
      return;
    }
    line_ends();
    line_.clear();
    block.remove_prefix(end + 1);
  }
}

void DpkgScanner::line_ends() {
  if (line_.empty()) {
    stanza_ends();
    return;
  }
  if (line_.front() == ' ' || line_.front() == '\t') {
    return;
  }
  in_stanza_ = true;
  switch (line_.front()) {
    case 'P':
      if (take_field(line_, "Package:", package_)) {
        return;
      }
      break;
    case 'S':
      if (take_field(line_, "Status:", state_)) {
        return;
      }
      break;
    case 'V':
      if (take_field(line_, "Version:", version_)) {
        return;
      }
      break;
    default:
      break;
  }
  const std::size_t colon = line_.find(':');
  if (colon == std::string::npos || line_.find('\0') < colon) {
    note("a line that is no field");
  }
}

void DpkgScanner::stanza_ends() {
  if (!in_stanza_) {
    return;
  }
  ++stanzas_;
  const std::size_t last_word = state_.rfind(' ');
  const std::string_view state = std::string_view(state_).substr(last_word == std::string::npos ? 0 : last_word + 1);
  if (package_.empty() || (states_ && state.empty())) {
    note(package_.empty() ? "a package without a name" : "a package without a state");
  } else if (wanted_(package_) && (!states_ || std::find(kOnDisk.begin(), kOnDisk.end(), state) != kOnDisk.end())) {
    const DpkgPackage package{package_, version_};
    if (!is_plain_package_text(package_) || !is_plain_package_text(version_)) {
      note("a package whose name or version is none");
    } else if (found_.size() == kMaxFound) {
      too_many_ = true;
    } else if (std::find(found_.begin(), found_.end(), package) == found_.end()) {
      found_.push_back(package);  // once, though it may be there for two architectures
    }
  }
  package_.clear();
  version_.clear();
  state_.clear();
  in_stanza_ = false;
}

void DpkgScanner::note(std::string what) {
  if (problem_.empty()) {
    problem_ = std::move(what);
  }
}

Result<std::vector<DpkgPackage>> DpkgScanner::finish() && {
  if (line_open_) {
    note("it ends inside a line");
  } else if (states_ && in_stanza_) {
    note("it ends inside a package");  // dpkg closes each with an empty line
  }
  stanza_ends();
  if (stanzas_ == 0) {
    note("it names no package");
  }
  if (!problem_.empty()) {
    return fail(ErrorCode::Malformed, "no list of packages: " + problem_);
  }
  if (too_many_) {
    return fail(ErrorCode::TooLarge, "more than " + std::to_string(kMaxFound) + " packages of the driver");
  }
  return std::move(found_);
}

}  // namespace gpuskew
