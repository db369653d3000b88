#pragma once

// What tells the agent to read its node again: inotify on the directories that hold what the probes read, the kernel's
// own events (modules, PCI devices, drivers), and a slow poll for everything that announces itself by neither.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <asio/awaitable.hpp>

#include "core/snapshot.h"
#include "core/time.h"

namespace asio {
class io_context;
}

namespace gpuskew {

class HostRoot;

/// Directories beyond these are left to the poll.
inline constexpr std::size_t kMaxWatches = 256;
/// After a first event, so that the rest of a change (a package unpacked, four modules unloaded) is one read.
inline constexpr Duration kWakeSettle = std::chrono::milliseconds(50);
/// Between two reads that events asked for: at most ten a second, whatever happens on the node.
inline constexpr Duration kMinWakeGap = std::chrono::milliseconds(100);

/// The paths beneath the host root whose change can change a fact: those the probes always read, and those this
/// snapshot's facts came from. nullptr: before the first snapshot.
std::vector<std::string> paths_to_watch(const Snapshot* snapshot);

class Wake {
 public:
  /// Opens what sources it can; never fails, because the poll is always there. `io` and `root` must outlive the object.
  Wake(asio::io_context& io, const HostRoot& root, Duration poll);
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  /// Watches these paths and no others: a directory itself, a file by its directory and, where it is a link, by the
  /// directory it ends in; of what is not there, the deepest directory that is. A directory that was made meanwhile in
  /// a watched one of a kernel's modules is watched, too. A watch that is new asks for one more read, because what
  /// changed before it was set went unseen.
  void watch(const std::vector<std::string>& paths);

  /// Ends when the node should be read again. One caller at a time.
  asio::awaitable<void> wait();

  /// Makes wait() end, as an event would.
  void request();
  void set_poll(Duration poll);

  /// "inotify: 9 directories; kernel events: yes; poll every 15s", with the reason for what does not work, or may not.
  std::string sources() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the handlers that wait on its descriptors
};

}  // namespace gpuskew
