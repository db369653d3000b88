#include "agent/probes/device_holders.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "agent/paths.h"
#include "agent/probes/cgroup.h"
#include "agent/probes/device_nodes.h"
#include "core/printable.h"

namespace gpuskew {
namespace {

// The modules whose devices are dev/nvidia*.
constexpr std::array<std::string_view, 3> kOwners{"nvidia", "nvidia_uvm", "nvidia_modeset"};

std::string process(std::uint32_t pid, std::string_view file = "") {
  std::string path = std::string(kProcesses) + "/" + std::to_string(pid);
  return file.empty() ? path : path.append("/").append(file);
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

Result<std::vector<std::uint32_t>> list_processes(const HostRoot& root) {
  const auto entries = root.list(kProcesses, kMaxProcesses);
  if (!entries) {
    return tl::unexpected(entries.error());
  }
  std::vector<std::uint32_t> pids;
  for (const DirectoryEntry& entry : *entries) {
    if (const auto pid = number(entry.name)) {
      pids.push_back(*pid);
    }
  }
  if (pids.empty()) {
    return fail(ErrorCode::NotFound, std::string("listing ").append(kProcesses) + ": no process is in it");
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

// A kernel thread has no descriptors, and a process without privileges is refused the look that would show it. The
// flags are the seventh field behind the name, which may hold anything but ends at the last ")".
bool is_kernel_thread(const HostRoot& root, std::uint32_t pid) {
  const auto stat = root.read_line(process(pid, "stat"));
  const std::size_t name_end = stat ? stat->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) {
    return false;
  }
  constexpr int kFlagsField = 7;
  constexpr std::uint32_t kKernelThread = 0x00200000;  // PF_KTHREAD
  std::string_view rest = std::string_view(*stat).substr(name_end + 1);
  std::string_view field;
  for (int at = 0; at < kFlagsField; ++at) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    field = rest.substr(0, rest.find(' '));
    rest.remove_prefix(field.size());
  }
  return (number(field).value_or(0) & kKernelThread) != 0;
}

// Any program may call itself anything.
std::string command_of(const HostRoot& root, std::uint32_t pid) {
  return ascii_only(root.read_line(process(pid, "comm")).value_or(""));
}

void note_device(std::string device, DeviceHolder& holder) {
  std::vector<std::string>& devices = holder.devices;
  if (devices.size() < DeviceHolder::kMaxDevices &&
      std::find(devices.begin(), devices.end(), device) == devices.end()) {
    devices.push_back(std::move(device));
  }
}

// Answers that need no look at any process.
std::optional<Fact<DeviceHolders>> settled(const HolderQuestion& question, const std::optional<OpenCounts>& counts) {
  const bool no_node = question.nodes.is_known() && question.nodes->empty();
  const bool may_be_open = counts ? counts->any : question.modules.is_known();
  if (no_node && !may_be_open) {
    return Fact<DeviceHolders>::absent(question.nodes.source());
  }
  if (counts && !counts->any) {
    return Fact<DeviceHolders>::known({}, question.modules.source());
  }
  return std::nullopt;
}

}  // namespace

std::string device_of_link(std::string_view target) {
  constexpr std::string_view kDeleted = " (deleted)";  // the node was made anew since
  constexpr std::string_view kFolder = "/dev/";
  if (target.ends_with(kDeleted)) {
    target.remove_suffix(kDeleted.size());
  }
  const std::size_t at = target.rfind("/dev/nvidia");
  if (at == std::string_view::npos || !is_nvidia_device_name(target.substr(at + kFolder.size()))) {
    return "";
  }
  return std::string(target.substr(at));
}

std::optional<OpenCounts> open_counts(const Fact<std::vector<KernelModule>>& modules) {
  if (!modules.is_known()) {
    return std::nullopt;
  }
  OpenCounts counts;
  for (const KernelModule& module : modules.value()) {
    if (std::find(kOwners.begin(), kOwners.end(), module.name) == kOwners.end()) {
      continue;
    }
    if (!module.refcount || *module.refcount < module.used_by.size()) {
      return std::nullopt;
    }
    const std::size_t open = *module.refcount - module.used_by.size();
    counts.any = counts.any || open > 0;
    counts.text += module.name + " " + std::to_string(open) + "\n";
  }
  return counts;
}

// Returns what the look cost.
std::size_t HolderCache::look_at(const HostRoot& root, std::uint32_t pid, Search& search) {
  Holder holder;
  const auto links = root.each_link(process(pid, "fd"), kMaxDescriptors,
                                    [&holder](std::string_view descriptor, std::string_view target) {
                                      std::string device = device_of_link(target);
                                      if (device.empty()) {
                                        return;
                                      }
                                      holder.descriptor = descriptor;
                                      holder.link = target;
                                      note_device(std::move(device), holder.facts);
                                    });
  const std::size_t price = kProcessPrice + (links ? *links : 0);
  if (holder.facts.devices.empty()) {
    // A process that ends while it is looked at holds nothing any more.
    if (!links && links.error().code != ErrorCode::NotFound && root.status(process(pid)) &&
        !(links.error().code == ErrorCode::Denied && is_kernel_thread(root, pid))) {
      ++search.unread;
      search.unread_why = search.unread_why.empty() ? links.error().what : search.unread_why;
    }
    return price;
  }
  std::sort(holder.facts.devices.begin(), holder.facts.devices.end());
  holder.facts.pid = pid;
  holder.facts.command = command_of(root, pid);
  CgroupOwner owner = parse_cgroup(root.read(process(pid, "cgroup")).value_or(""));
  holder.facts.pod_uid = std::move(owner.pod_uid);
  holder.facts.container_id = std::move(owner.container_id);
  holder.facts.unit = std::move(owner.unit);
  search.found.push_back(std::move(holder));
  return price;
}

// Looks again at the holders that are shown. A restarted program leaves every count as it was.
bool HolderCache::has_swapped(const HostRoot& root) {
  bool swapped = false;
  std::vector<Holder> still;
  for (std::size_t at = 0; at < holders_.size(); ++at) {
    Holder& holder = holders_[at];
    if (at >= DeviceHolders::kMaxItems ||
        root.read_link(process(holder.facts.pid, "fd/" + holder.descriptor)).value_or("") == holder.link) {
      still.push_back(std::move(holder));
      continue;
    }
    swapped = true;
    Search again;
    look_at(root, holder.facts.pid, again);
    std::move(again.found.begin(), again.found.end(), std::back_inserter(still));
  }
  holders_ = std::move(still);
  return swapped;
}

bool HolderCache::is_due(const std::optional<OpenCounts>& counts, bool swapped, Time now) const {
  if (!has_finished_ || !began_ || now < *began_) {
    return true;
  }
  const Duration age = now - *began_;
  if (age < kMinSearchGap) {
    return false;
  }
  return swapped || age >= kMaxSearchAge || (counts ? counts->text != counts_ : age >= kUncountedSearchGap);
}

void HolderCache::finish() {
  has_finished_ = true;
  counts_ = std::move(search_->counts);
  holders_ = std::move(search_->found);
  unread_ = search_->unread;
  unread_why_ = std::move(search_->unread_why);
  search_.reset();
}

Result<void> HolderCache::go_on(const HostRoot& root, std::size_t price) {
  const auto pids = list_processes(root);
  if (!pids) {
    search_.reset();
    return tl::unexpected(pids.error());
  }
  auto next = std::lower_bound(pids->begin(), pids->end(), search_->next_pid);
  while (next != pids->end() && price > 0) {
    price -= std::min(price, look_at(root, *next, *search_));
    ++next;
  }
  if (next == pids->end()) {
    finish();
    return {};
  }
  search_->next_pid = *next;
  search_->left = static_cast<std::size_t>(pids->end() - next);
  return {};
}

DeviceHolders HolderCache::shown(const std::set<std::string>& pods_with_devices) const {
  std::map<std::uint32_t, const DeviceHolder*> by_pid;
  for (const Holder& holder : holders_) {
    by_pid.emplace(holder.facts.pid, &holder.facts);
  }
  DeviceHolders all;
  all.unread = unread_;
  all.unread_why = unread_why_;
  if (search_) {
    for (const Holder& holder : search_->found) {
      by_pid[holder.facts.pid] = &holder.facts;
    }
    if (!has_finished_) {
      all.unread = search_->unread + static_cast<std::uint32_t>(search_->left);
      all.unread_why = "the first search of all processes is not at its end yet";
    }
  }
  all.total = static_cast<std::uint32_t>(by_pid.size());
  for (const auto& [pid, holder] : by_pid) {
    if (all.items.size() == DeviceHolders::kMaxItems) {
      break;
    }
    all.items.push_back(*holder);
    all.items.back().asked_for_gpu = pods_with_devices.contains(holder->pod_uid);
  }
  return all;
}

Fact<DeviceHolders> HolderCache::read(const HostRoot& root, const HolderQuestion& question, Time now,
                                      std::size_t price) {
  const auto counts = open_counts(question.modules);
  if (auto answer = settled(question, counts)) {
    *this = HolderCache();
    return std::move(*answer);
  }
  const bool swapped = has_swapped(root);
  if (!search_ && is_due(counts, swapped, now)) {
    began_ = now;
    search_.emplace();
    search_->counts = counts ? counts->text : "";
  }
  if (search_) {
    if (const auto gone_on = go_on(root, price); !gone_on) {
      return Fact<DeviceHolders>::unknown(gone_on.error(), std::string(kProcesses));
    }
  }
  return Fact<DeviceHolders>::known(shown(question.pods_with_devices), std::string(kProcesses));
}

}  // namespace gpuskew
