#include "runtime/journal.h"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>

#include <systemd/sd-journal.h>

#include "runtime/file.h"

namespace gpuskew {
namespace {

constexpr const char* kLibrary = "libsystemd.so.0";

/// What we call, found by dlopen; all of it is in systemd 230 (2016) and newer.
struct Functions {
  decltype(&::sd_journal_open_files_fd) open_files_fd = nullptr;
  decltype(&::sd_journal_close) close = nullptr;
  decltype(&::sd_journal_set_data_threshold) set_data_threshold = nullptr;
  decltype(&::sd_journal_add_match) add_match = nullptr;
  decltype(&::sd_journal_add_disjunction) add_disjunction = nullptr;
  decltype(&::sd_journal_seek_head) seek_head = nullptr;
  decltype(&::sd_journal_seek_cursor) seek_cursor = nullptr;
  decltype(&::sd_journal_test_cursor) test_cursor = nullptr;
  decltype(&::sd_journal_next) next = nullptr;
  decltype(&::sd_journal_get_data) get_data = nullptr;
  decltype(&::sd_journal_get_monotonic_usec) get_monotonic_usec = nullptr;
  decltype(&::sd_journal_get_cursor) get_cursor = nullptr;
};

template <class Function>
bool find(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  return into != nullptr;
}

Result<Functions> load() {
  void* const library = ::dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = ::dlerror();
    return fail(ErrorCode::Unsupported, std::string("loading ") + kLibrary + ": " + (why != nullptr ? why : "failed"));
  }
  Functions f;
  const bool all =
      find(library, "sd_journal_open_files_fd", f.open_files_fd) && find(library, "sd_journal_close", f.close) &&
      find(library, "sd_journal_set_data_threshold", f.set_data_threshold) &&
      find(library, "sd_journal_add_match", f.add_match) &&
      find(library, "sd_journal_add_disjunction", f.add_disjunction) &&
      find(library, "sd_journal_seek_head", f.seek_head) && find(library, "sd_journal_seek_cursor", f.seek_cursor) &&
      find(library, "sd_journal_test_cursor", f.test_cursor) && find(library, "sd_journal_next", f.next) &&
      find(library, "sd_journal_get_data", f.get_data) &&
      find(library, "sd_journal_get_monotonic_usec", f.get_monotonic_usec) &&
      find(library, "sd_journal_get_cursor", f.get_cursor);
  if (!all) {
    return fail(ErrorCode::Unsupported, std::string(kLibrary) + " lacks a function this program needs");
  }
  return f;
}

tl::unexpected<Error> journal_error(std::string_view doing, int result) {
  Error error = errno_error(std::string(doing) + " the journal", -result);
  if (result == -EBADMSG || result == -EPROTONOSUPPORT || result == -ENODATA) {
    error.code = ErrorCode::Malformed;
  }
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace

struct Journal::State {
  explicit State(Functions loaded) : f(loaded) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (handle != nullptr) {
      f.close(handle);
    }
  }

  Functions f;
  std::vector<int> descriptors;
  sd_journal* handle = nullptr;
  std::string skip;  ///< the cursor of the entry that was read last, until next() has seen whether it is there
};

Journal::Journal(std::unique_ptr<State> state) : state_(std::move(state)) {}
Journal::Journal(Journal&&) noexcept = default;
Journal& Journal::operator=(Journal&&) noexcept = default;
Journal::~Journal() = default;

Result<Journal> Journal::open(std::vector<int> descriptors) {
  const auto functions = load();
  if (!functions) {
    return tl::unexpected(functions.error());
  }
  auto state = std::make_unique<State>(*functions);
  state->descriptors = std::move(descriptors);
  const int opened = state->f.open_files_fd(&state->handle, state->descriptors.data(),
                                            static_cast<unsigned>(state->descriptors.size()), 0);
  if (opened < 0) {
    return journal_error("opening", opened);
  }
  if (const int set = state->f.set_data_threshold(state->handle, kMaxFieldBytes); set < 0) {
    return journal_error("opening", set);
  }
  return Journal(std::move(state));
}

Result<void> Journal::match_any_of(const std::vector<std::vector<std::string>>& sets) {
  for (const auto& set : sets) {
    for (const std::string& field : set) {
      if (const int added = state_->f.add_match(state_->handle, field.data(), field.size()); added < 0) {
        return journal_error("searching", added);
      }
    }
    if (const int added = state_->f.add_disjunction(state_->handle); added < 0) {
      return journal_error("searching", added);
    }
  }
  return {};
}

Result<void> Journal::seek(const std::string& cursor) {
  const int found =
      cursor.empty() ? state_->f.seek_head(state_->handle) : state_->f.seek_cursor(state_->handle, cursor.c_str());
  if (found < 0) {
    return journal_error("searching", found);
  }
  state_->skip = cursor;
  return {};
}

Result<bool> Journal::next() {
  int moved = state_->f.next(state_->handle);
  if (moved > 0 && !state_->skip.empty() && state_->f.test_cursor(state_->handle, state_->skip.c_str()) > 0) {
    moved = state_->f.next(state_->handle);
  }
  state_->skip.clear();
  if (moved < 0) {
    return journal_error("reading", moved);
  }
  return moved > 0;
}

std::optional<std::string_view> Journal::field(const std::string& name) const {
  const void* data = nullptr;
  std::size_t size = 0;
  if (state_->f.get_data(state_->handle, name.c_str(), &data, &size) < 0 || size <= name.size()) {
    return std::nullopt;
  }
  return std::string_view(static_cast<const char*>(data), size).substr(name.size() + 1);  // behind "NAME="
}

Result<std::uint64_t> Journal::monotonic_microseconds() const {
  std::uint64_t microseconds = 0;
  sd_id128_t boot{};
  if (const int got = state_->f.get_monotonic_usec(state_->handle, &microseconds, &boot); got < 0) {
    return journal_error("reading", got);
  }
  return microseconds;
}

Result<std::string> Journal::cursor() const {
  char* text = nullptr;
  if (const int got = state_->f.get_cursor(state_->handle, &text); got < 0) {
    return journal_error("reading", got);
  }
  const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
  return std::string(text);
}

}  // namespace gpuskew
