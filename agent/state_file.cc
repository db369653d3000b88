#include "agent/state_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include "agent/sealed_text.h"
#include "proto/convert.h"
#include "runtime/file.h"

namespace gpuskew {
namespace {

constexpr std::string_view kName = "last-good";
constexpr std::string_view kFormatVersion = "1";
constexpr std::string_view kCorruptPrefix = "last-good.corrupt-";
constexpr mode_t kDirectoryMode = 0700;

Result<LastGood> parse_state(std::string_view text) {
  const auto body = unsealed(text, kName, kFormatVersion);
  if (!body) {
    return tl::unexpected(body.error());
  }
  return decode_last_good(*body);
}

}  // namespace

Result<void> StateFile::check() const {
  std::error_code error;
  const auto status = std::filesystem::status(directory_, error);
  const bool is_missing = status.type() == std::filesystem::file_type::not_found;
  const std::filesystem::path place = is_missing ? std::filesystem::absolute(directory_).parent_path() : directory_;
  if (!is_missing && !std::filesystem::is_directory(status)) {
    return fail(ErrorCode::Malformed,
                "state directory " + directory_.string() + (error ? ": " + error.message() : " is not a directory"));
  }
  if (::access(place.c_str(), W_OK | X_OK) != 0) {
    return tl::unexpected(
        errno_error("state directory " + directory_.string() + ": writing in " + place.string(), errno));
  }
  return {};
}

Result<void> StateFile::prepare() const {
  if (::mkdir(directory_.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
    return tl::unexpected(errno_error("making state directory " + directory_.string(), errno));
  }
  return check();
}

Result<std::optional<LastGood>> StateFile::read() const {
  auto text = read_file(path(), kMaxBytes);
  if (!text && text.error().code == ErrorCode::NotFound) {
    return std::nullopt;
  }
  if (!text) {
    return tl::unexpected(text.error());
  }
  auto good = parse_state(*text);
  if (!good) {
    return fail(path().string(), good.error());
  }
  return std::move(*good);
}

StateFile::Loaded StateFile::load(Time now) const {
  auto good = read();
  if (good) {
    return {std::move(*good), ""};
  }
  if (good.error().code == ErrorCode::Denied) {
    return {std::nullopt, "the last good state can not be read: " + good.error().what};
  }
  return {std::nullopt, "the last good state does not read: " + good.error().what + "; " + move_aside(now)};
}

// Only the newest is kept: a disk that corrupts a file at each boot must not fill up with them.
std::string StateFile::move_aside(Time now) const {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(kCorruptPrefix)) {
      std::error_code ignored;
      std::filesystem::remove(entry->path(), ignored);
    }
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
  const std::filesystem::path aside = directory_ / (std::string(kCorruptPrefix) + std::to_string(seconds));
  std::filesystem::rename(path(), aside, error);
  return error ? "moving it aside: " + error.message() : "moved to " + aside.string();
}

Result<void> StateFile::save(const LastGood& good) const {
  const std::string body = encode(good);
  return write_file_atomically(path(), sealed(kName, kFormatVersion, body));
}

namespace {

bool is_same_state(const LastGood& a, const LastGood& b) {
  LastGood at_one_time = a;
  at_one_time.at = b.at;
  // Another spelling of one version ("570.133.7") compares equal and is no news.
  return at_one_time == b;
}

bool is_refresh_due(const LastGood& from, const LastGood& to) {
  // A clock that was set back must not leave a moment of the future behind.
  return to.at < from.at || to.at - from.at >= Memory::kRefreshInterval;
}

std::string driver_text(const Snapshot& snapshot) {
  if (snapshot.loaded_driver.is_known()) {
    return snapshot.loaded_driver->text();
  }
  if (snapshot.l4t_release.is_known()) {
    return "Jetson L4T " + snapshot.l4t_release.value();
  }
  return snapshot.loaded_driver.is_absent() ? "nothing" : "an unknown driver";
}

std::string kernel_text(const Snapshot& snapshot) {
  return snapshot.kernel.is_known() ? snapshot.kernel->text() : "an unknown kernel";
}

}  // namespace

void Memory::attach(Snapshot& snapshot) {
  std::optional<LastGood> good = good_state(snapshot);
  if (good) {
    keep_known_gpus(remembered_, *good);
    if (!remembered_ || !is_same_state(*remembered_, *good) || is_refresh_due(*remembered_, *good)) {
      remembered_ = good;
    }
  } else if (latest_) {
    // The module went: from here on its last moment is exact.
    remembered_ = std::move(latest_);
  }
  latest_ = std::move(good);
  snapshot.remembered = remembered_;
}

std::optional<LastGood> Memory::unsaved() const {
  return remembered_ == stored_ ? std::nullopt : remembered_;
}

std::string driver_summary(const Snapshot& snapshot) {
  const bool none = snapshot.loaded_driver.is_absent() && !snapshot.l4t_release.is_known();
  const std::string driver = snapshot.loaded_driver.is_known() ? "driver " + driver_text(snapshot)
                                                               : (none ? "no driver" : driver_text(snapshot));
  return driver + " on " + kernel_text(snapshot);
}

std::optional<std::string> boot_comparison(const LastGood& before, const Snapshot& now) {
  const bool boots_known = !before.boot_id.empty() && now.boot_id.is_known();
  const bool another_boot = boots_known ? before.boot_id != now.boot_id.value()
                                        : now.kernel.is_known() && !(before.kernel == now.kernel.value());
  if (!another_boot) {
    return std::nullopt;
  }
  return "before: " + before.driver.text() + " on " + before.kernel.text() + "; now: " + driver_text(now) + " on " +
         kernel_text(now);
}

}  // namespace gpuskew
