#include "agent/probes/apt_history.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace gpuskew {
namespace {

constexpr std::size_t kMaxCommand = 120;

// One line each; no byte of theirs may steer a terminal.
std::string shown(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, kMaxCommand)) {
    const bool blank = c == ' ' || c == '\t';
    if (blank && (result.empty() || result.back() == ' ')) {
      continue;
    }
    const bool printable = c > ' ' && c < '\x7f';
    result += blank ? ' ' : printable ? c : '?';
  }
  return result;
}

struct Change {
  std::string_view package;
  std::string_view version;  ///< the one that is there afterwards
};

// "nvidia-utils-460:amd64 (460.56, 460.73.01), ..."; the last version of an Upgrade, the first of an Install.
std::vector<Change> nvidia_changes(std::string_view list, bool is_upgrade) {
  std::vector<Change> changes;
  while (!list.empty()) {
    const std::size_t open = list.find(" (");
    const std::size_t close = list.find(')');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
      break;
    }
    std::string_view name = list.substr(0, open);
    name.remove_prefix(std::min(name.find_first_not_of(", "), name.size()));
    name = name.substr(0, name.find(':'));
    std::string_view version = list.substr(open + 2, close - open - 2);
    const std::size_t comma = version.find(", ");
    if (is_upgrade) {
      version.remove_prefix(comma == std::string_view::npos ? 0 : comma + 2);
    } else {
      version = version.substr(0, comma);
    }
    if (name.find("nvidia") != std::string_view::npos || name.find("cuda") != std::string_view::npos) {
      changes.push_back({name, version});
    }
    list.remove_prefix(close + 1);
  }
  return changes;
}

class History {
 public:
  explicit History(InstallTraces& traces) : traces_(traces), exact_(traces.size()), alike_(traces.size()) {}

  void line(std::string_view text) {
    if (text.empty()) {
      date_.clear();
      command_.clear();
    } else if (text.starts_with("Start-Date:")) {
      date_ = shown(text.substr(11));
    } else if (text.starts_with("Commandline:")) {
      command_ = shown(text.substr(12));
    } else if (!date_.empty()) {
      const bool upgrade = text.starts_with("Upgrade:") || text.starts_with("Downgrade:");
      if (upgrade || text.starts_with("Install:") || text.starts_with("Reinstall:")) {
        note(nvidia_changes(text.substr(text.find(':') + 1), upgrade));
      }
    }
  }

  void finish() {
    for (std::size_t i = 0; i < traces_.size(); ++i) {
      traces_[i].changed_by = exact_[i].empty() ? alike_[i] : exact_[i];
    }
  }

 private:
  void note(const std::vector<Change>& changes) {
    const std::string who = (command_.empty() ? "apt" : command_) + ", " + date_ + " by the node's clock";
    for (const Change& change : changes) {
      for (std::size_t i = 0; i < traces_.size(); ++i) {
        if (change.version != traces_[i].version) {
          continue;
        }
        // Packages of one version come from one source; the log may name only some of them.
        alike_[i] = who;
        if (change.package == traces_[i].name) {
          exact_[i] = who;
        }
      }
    }
  }

  InstallTraces& traces_;
  std::vector<std::string> exact_;
  std::vector<std::string> alike_;
  std::string date_;
  std::string command_;
};

}  // namespace

void note_apt_changes(std::string_view log, InstallTraces& traces) {
  if (traces.empty()) {
    return;
  }
  History history(traces);
  while (!log.empty()) {
    const std::size_t end = std::min(log.find('\n'), log.size());
    history.line(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  history.finish();
}

void note_apt_changes(const HostRoot& root, InstallTraces& traces) {
  const auto file = root.open_file(kAptHistory);
  const auto status = file ? file->status() : tl::unexpected(file.error());
  if (!status) {
    return;
  }
  const std::uint64_t from = status->size > kMaxAptHistory ? status->size - kMaxAptHistory : 0;
  if (const auto log = file->read_at(from, kMaxAptHistory)) {
    note_apt_changes(std::string_view(*log), traces);
  }
}

}  // namespace gpuskew
