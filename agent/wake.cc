#include "agent/wake.h"

#include <linux/netlink.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <iterator>
#include <map>
#include <utility>

#include <asio/experimental/as_tuple.hpp>
#include <asio/io_context.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include "agent/host_root.h"
#include "agent/paths.h"
#include "agent/uevents.h"
#include "runtime/file.h"

namespace gpuskew {
namespace {

using Clock = std::chrono::steady_clock;
using asio::posix::stream_descriptor;
constexpr auto kAsTuple = asio::experimental::as_tuple(asio::use_awaitable);

// Nothing our own reading causes (opening, reading, closing a file read) is among them.
constexpr std::uint32_t kWatchMask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ATTRIB |
                                     IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr std::size_t kInotifyBuffer = 4096;
// As libudev: a message is at most 2 KiB of environment behind its header.
constexpr std::size_t kUeventBuffer = 8192;
constexpr unsigned kKernelGroup = 1;
// A storm of events must not keep the loop from anything else.
constexpr int kMaxReadsATurn = 64;
constexpr std::size_t kMaxNewDirectories = 16;

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

// The deepest directory that is there on the way to `path`, `path` itself included.
Result<HostFile> open_deepest_directory(const HostRoot& root, std::string path) {
  for (;;) {
    const auto status = root.status(path);
    if (status && status->kind == FileKind::Directory) {
      return root.open_path(path);
    }
    if (path == "/") {
      return tl::unexpected(status ? Error{ErrorCode::Malformed, "/ is no directory"} : status.error());
    }
    path = parent_of(path);
  }
}

// dkms makes and removes its entries' own directories.
void add_dkms_paths(const Snapshot& snapshot, std::vector<std::string>& paths) {
  if (snapshot.dkms.is_known()) {
    for (const DkmsEntry& entry : snapshot.dkms.value()) {
      paths.push_back(std::string(kDkmsTree) + "/" + entry.module);
      paths.push_back(std::string(kDkmsTree) + "/" + entry.module + "/" + entry.version);
    }
  }
}

}  // namespace

std::vector<std::string> paths_to_watch(const Snapshot* snapshot) {
  std::vector<std::string> paths(kWatchedPaths.begin(), kWatchedPaths.end());
  if (snapshot == nullptr) {
    return paths;
  }
  const auto add_module_tree = [&paths](const KernelRelease& kernel) {
    for (const std::string_view folder : kModuleFolders) {
      paths.push_back(std::string(kModuleTrees) + "/" + kernel.text() + std::string(folder));
    }
  };
  if (snapshot->kernel.is_known()) {
    add_module_tree(snapshot->kernel.value());
  }
  if (snapshot->module_file.is_known()) {
    paths.push_back(snapshot->module_file->path);
  }
  add_dkms_paths(*snapshot, paths);
  if (snapshot->libraries.is_known()) {
    for (const Library& library : snapshot->libraries.value()) {
      paths.push_back(library.path);
    }
  }
  if (snapshot->runtime.is_known()) {
    paths.push_back(snapshot->runtime->config);
    for (const RuntimeHandler& handler : snapshot->runtime->handlers) {
      paths.push_back(handler.file);
    }
  }
  if (snapshot->gpus.is_known()) {
    for (const Gpu& gpu : snapshot->gpus.value()) {
      paths.push_back(std::string(kPciDevices) + "/" + gpu.address);
    }
  }
  // Last: where there are more kernels than watches, the poll sees the rest.
  if (snapshot->kernels.is_known()) {
    for (const InstalledKernel& installed : snapshot->kernels.value()) {
      add_module_tree(installed.release);
    }
  }
  return paths;
}

/// Handlers hold it, so it lives until the last of them has seen its descriptor closed.
struct Wake::State : std::enable_shared_from_this<Wake::State> {
  State(asio::io_context& io, const HostRoot& host_root, Duration poll_interval)
      : root(host_root), poll(poll_interval), inotify(io), uevents(io), timer(io) {}

  void open_inotify();
  void open_uevents();
  void await_inotify();
  void await_uevents();
  void read_inotify();
  void note_new_directory(const inotify_event& event);
  void read_uevents();
  void request();

  const HostRoot& root;
  Duration poll;
  stream_descriptor inotify;
  stream_descriptor uevents;
  asio::steady_timer timer;
  std::string inotify_problem;
  std::string uevents_problem;
  std::map<int, std::string> watches;        ///< by descriptor, the directory's path
  std::vector<std::string> new_directories;  ///< made beneath kModuleTrees since; at most kMaxNewDirectories
  bool requested = false;
  Clock::time_point last_read = Clock::now();
};

void Wake::State::request() {
  requested = true;
  timer.cancel();
}

void Wake::State::open_inotify() {
  const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) {
    inotify_problem = errno_error("not available", errno).what;
    return;
  }
  inotify.assign(fd);
  await_inotify();
}

void Wake::State::open_uevents() {
  const int fd = ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelGroup;
  if (fd < 0 || ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    uevents_problem = errno_error("not available", errno).what;
    if (fd >= 0) {
      ::close(fd);
    }
    return;
  }
  uevents.assign(fd);
  uevents_problem = uevents_doubt();
  await_uevents();
}

void Wake::State::await_inotify() {
  inotify.async_wait(stream_descriptor::wait_read, [self = shared_from_this()](const asio::error_code& error) {
    if (!error) {
      self->read_inotify();
      self->await_inotify();
    }
  });
}

void Wake::State::await_uevents() {
  uevents.async_wait(stream_descriptor::wait_read, [self = shared_from_this()](const asio::error_code& error) {
    if (!error) {
      self->read_uevents();
      self->await_uevents();
    }
  });
}

void Wake::State::read_inotify() {
  if (!inotify.is_open()) {
    return;
  }
  alignas(inotify_event) std::array<char, kInotifyBuffer> buffer{};
  for (int turn = 0; turn < kMaxReadsATurn; ++turn) {
    const ssize_t size = ::read(inotify.native_handle(), buffer.data(), buffer.size());
    if (size <= 0) {
      return;
    }
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(size);) {
      const auto& event = *reinterpret_cast<const inotify_event*>(buffer.data() + at);
      // IN_IGNORED alone only says that a watch ended, mostly because watch() took it away. IN_Q_OVERFLOW says that
      // something was not told, which is reason enough to read.
      if ((event.mask & ~static_cast<std::uint32_t>(IN_IGNORED | IN_ISDIR)) != 0) {
        note_new_directory(event);
        request();
      } else {
        watches.erase(event.wd);
      }
      at += sizeof(inotify_event) + event.len;
    }
  }
}

// A package makes its directory (extra/nvidia, kernel/nvidia-550) first and puts its modules there later: unwatched,
// they would be seen with the poll only.
void Wake::State::note_new_directory(const inotify_event& event) {
  const auto parent = watches.find(event.wd);
  const bool is_new = (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0 && (event.mask & IN_ISDIR) != 0 && event.len > 0;
  if (!is_new || parent == watches.end() || !parent->second.starts_with(kModuleTrees) ||
      new_directories.size() >= kMaxNewDirectories) {
    return;
  }
  const std::string path = parent->second + "/" + event.name;
  if (std::find(new_directories.begin(), new_directories.end(), path) == new_directories.end()) {
    new_directories.push_back(path);
  }
}

void Wake::State::read_uevents() {
  if (!uevents.is_open()) {
    return;
  }
  std::array<char, kUeventBuffer> buffer{};
  for (int turn = 0; turn < kMaxReadsATurn; ++turn) {
    sockaddr_nl sender{};
    socklen_t sender_size = sizeof(sender);
    const ssize_t size = ::recvfrom(uevents.native_handle(), buffer.data(), buffer.size(), 0,
                                    reinterpret_cast<sockaddr*>(&sender), &sender_size);
    if (size < 0) {
      if (errno == ENOBUFS) {
        request();  // events were lost
      }
      return;
    }
    // Any process may send to us; only port 0 is the kernel.
    if (sender.nl_pid == 0) {
      uevents_problem.clear();
    }
    if (sender.nl_pid == 0 && is_relevant_uevent({buffer.data(), static_cast<std::size_t>(size)})) {
      request();
    }
  }
}

Wake::Wake(asio::io_context& io, const HostRoot& root, Duration poll)
    : state_(std::make_shared<State>(io, root, poll)) {
  state_->open_inotify();
  state_->open_uevents();
}

Wake::~Wake() {
  asio::error_code ignored;
  state_->inotify.close(ignored);
  state_->uevents.close(ignored);
}

void Wake::watch(const std::vector<std::string>& paths) {
  if (!state_->inotify.is_open()) {
    return;
  }
  const int fd = state_->inotify.native_handle();
  std::map<int, std::string> now;
  const auto add = [&](const std::string& path) {
    const auto directory = open_deepest_directory(state_->root, path);
    if (!directory) {
      state_->inotify_problem = directory.error().what;
      return;
    }
    const int watch = ::inotify_add_watch(fd, directory->watch_path().c_str(), kWatchMask);
    if (watch < 0) {
      state_->inotify_problem = errno_error(directory->name(), errno).what;
      return;
    }
    now.emplace(watch, directory->name());
  };
  state_->inotify_problem.clear();
  std::erase_if(state_->new_directories, [this](const std::string& path) { return !state_->root.status(path); });
  std::vector<std::string> all = paths;
  all.insert(all.end(), state_->new_directories.begin(), state_->new_directories.end());
  for (const std::string& path : all) {
    if (now.size() >= kMaxWatches) {
      state_->inotify_problem = "more than " + std::to_string(kMaxWatches) + " directories";
      break;
    }
    add(path);
    if (const auto target = state_->root.resolve(path); target && *target != path) {
      add(*target);
    }
  }
  for (const auto& [old, path] : state_->watches) {
    if (!now.contains(old)) {
      ::inotify_rm_watch(fd, old);
    }
  }
  if (std::any_of(now.begin(), now.end(), [this](const auto& each) { return !state_->watches.contains(each.first); })) {
    state_->request();
  }
  state_->watches = std::move(now);
}

void Wake::request() {
  state_->request();
}

void Wake::set_poll(Duration poll) {
  state_->poll = poll;
  state_->timer.cancel();
}

asio::awaitable<void> Wake::wait() {
  const std::shared_ptr<State> state = state_;
  while (!state->requested && Clock::now() < state->last_read + state->poll) {
    state->timer.expires_at(state->last_read + state->poll);
    co_await state->timer.async_wait(kAsTuple);
  }
  if (state->requested) {
    const Clock::time_point settled = std::max(Clock::now() + kWakeSettle, state->last_read + kMinWakeGap);
    while (Clock::now() < settled) {
      state->timer.expires_at(settled);
      co_await state->timer.async_wait(kAsTuple);
    }
  }
  // What is already announced is part of this read.
  state->read_inotify();
  state->read_uevents();
  state->requested = false;
  state->last_read = Clock::now();
}

std::string Wake::sources() const {
  const State& state = *state_;
  std::string text = "inotify: ";
  if (!state.inotify.is_open()) {
    text += state.inotify_problem;
  } else {
    text += std::to_string(state.watches.size()) + " directories";
    text += state.inotify_problem.empty() ? "" : " (" + state.inotify_problem + ")";
  }
  text += "; kernel events: " + (state.uevents_problem.empty() ? "yes" : state.uevents_problem);
  const bool has_seconds = state.poll >= std::chrono::seconds(1);
  return text + "; poll every " + (has_seconds ? to_short_text(state.poll) : std::to_string(state.poll.count()) + "ms");
}

}  // namespace gpuskew
