#pragma once

// Which processes have an NVIDIA device open, and whose they are.
//
// There is no list of them: the links in proc/<pid>/fd of every process have to be looked at, some three microseconds
// each, which for 600 processes is as much as all other facts together several times over. So:
// - the reference counts of the modules tell whether anybody holds a device at all, and whether that changed;
// - a search of all processes is cut into pieces of some milliseconds, one for each read;
// - the holders that are known are looked at again each time, which finds one that was replaced by another.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/facts/devices.h"
#include "core/facts/modules.h"
#include "core/time.h"

namespace gpuskew {

/// More processes than this: the holders are unknown.
inline constexpr std::size_t kMaxProcesses = 64u << 10;
/// A process with more descriptors than this counts as unread.
inline constexpr std::size_t kMaxDescriptors = 16u << 10;
/// What one piece of a search may cost: the price of a link is 1, of a process kProcessPrice. Some 5 ms.
inline constexpr std::size_t kSearchPrice = 1500;
inline constexpr std::size_t kProcessPrice = 2;
/// A whole search at once, however long it takes: some 100 ms for 600 processes with 40 descriptors each.
inline constexpr std::size_t kWholeSearch = SIZE_MAX;
/// Between the beginnings of two searches, however often the counts change.
inline constexpr Duration kMinSearchGap = std::chrono::seconds(30);
/// As the counts can stay the same by chance. Where the kernel tells none, kUncountedSearchGap.
inline constexpr Duration kMaxSearchAge = std::chrono::minutes(10);
inline constexpr Duration kUncountedSearchGap = std::chrono::minutes(2);

/// The device a descriptor's link leads to, as "/dev/nvidia0", whatever file system it was opened in; "" for none.
std::string device_of_link(std::string_view target);

/// How often the devices are open by the reference counts of the modules that own them, less the modules among the
/// holders: an open file holds one reference. nullopt: not told. `text` differs whenever a count does.
struct OpenCounts {
  bool any = false;
  std::string text;
};
std::optional<OpenCounts> open_counts(const Fact<std::vector<KernelModule>>& modules);

/// What the facts read before say, and the pods that were given a device.
struct HolderQuestion {
  const Fact<std::vector<DeviceNode>>& nodes;
  const Fact<std::vector<KernelModule>>& modules;
  const std::set<std::string>& pods_with_devices;  ///< their uids
};

class HolderCache {
 public:
  /// Takes up the search where the last read left it, for at most `price`. Until the first search has seen every
  /// process, those it has not seen count as unread; a later one shows what it finds as it goes, and lets go of what is
  /// gone at its end. Absent: no device node, and no sign that one is open elsewhere.
  Fact<DeviceHolders> read(const HostRoot& root, const HolderQuestion& question, Time now,
                           std::size_t price = kSearchPrice);
  /// A search is under way: another read soon would finish it.
  bool is_searching() const { return search_.has_value(); }

 private:
  struct Holder {
    DeviceHolder facts;
    std::string descriptor;  ///< one that leads to `link`
    std::string link;
  };
  struct Search {
    std::string counts;          ///< OpenCounts' text as it began
    std::uint32_t next_pid = 0;  ///< the first not yet looked at
    std::size_t left = 0;        ///< processes not yet looked at
    std::vector<Holder> found;   ///< by pid
    std::uint32_t unread = 0;
    std::string unread_why;
  };

  static std::size_t look_at(const HostRoot& root, std::uint32_t pid, Search& search);
  bool has_swapped(const HostRoot& root);
  bool is_due(const std::optional<OpenCounts>& counts, bool swapped, Time now) const;
  Result<void> go_on(const HostRoot& root, std::size_t price);
  void finish();
  DeviceHolders shown(const std::set<std::string>& pods_with_devices) const;

  std::optional<Search> search_;
  std::optional<Time> began_;  ///< the last search
  bool has_finished_ = false;  ///< any search
  std::string counts_;         ///< of the last finished one
  std::vector<Holder> holders_;
  std::uint32_t unread_ = 0;
  std::string unread_why_;
};

}  // namespace gpuskew
