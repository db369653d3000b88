#pragma once

// Work that hostile input or a broken disk may end with a signal, or that takes memory this process does not give back:
// done in a forked child with limits, whose answer comes through a pipe.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "core/result.h"

namespace gpuskew {

struct ChildLimits {
  std::chrono::seconds wall{};
  std::uint64_t cpu_seconds = 0;
  std::uint64_t address_space = 0;  ///< bytes; not in force under a sanitizer
  std::size_t answer = 0;           ///< bytes
};

/// Writes all of `bytes` to the child's end of the pipe. false: the parent has gone, or has had enough.
using ChildAnswer = std::function<bool(std::string_view bytes)>;

/// Runs `work` in the child; `take` gets what it answers, in pieces, as it comes. `name` is the child in errors
/// ("reading the journal"). Blocks for at most limits.wall. Errors: Timeout, TooLarge (the answer), Internal (no child;
/// it was ended by a signal). What `take` got before an error stays with it.
Result<void> run_limited_child(std::string_view name, const ChildLimits& limits,
                               const std::function<void(const ChildAnswer&)>& work,
                               const std::function<void(std::string_view)>& take);

}  // namespace gpuskew
