#pragma once

// Labels by way of NFD: a feature file that nfd-worker reads and nfd-master makes labels of. It says until when it
// counts, so that what it says does not outlive an agent that is gone.

#include <filesystem>
#include <optional>
#include <string>

#include "core/label.h"
#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

/// NFD reads no longer file.
inline constexpr std::size_t kMaxNfdFileBytes = std::size_t{64} << 10;
/// From a write to its expiry. Longer than a node's reboot or an upgrade of the agent takes: that must cost no label.
inline constexpr Duration kNfdLifetime = std::chrono::hours(1);
/// Written again when this much is left.
inline constexpr Duration kNfdRefresh = std::chrono::minutes(30);

/// The file's text: "# +expiry-time=2026-12-01T04:00:00Z", then "key=value" a line.
std::string nfd_feature_text(const Labels& labels, Time expires);

class NfdFile {
 public:
  /// `directory` is the worker's features.d, which must be there: without it nobody reads the file.
  explicit NfdFile(const std::filesystem::path& directory) : path_(directory / "gpuskew") {}

  /// Whether files can be written in the directory. Changes nothing.
  Result<void> check() const;

  /// true: written. false: the file says so already, long enough. Errors name the path: NotFound, Denied, TooLarge, ...
  Result<bool> publish(const Labels& labels, Time now);

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::string written_;  ///< "" before the first write
  Time expires_{};
};

}  // namespace gpuskew
