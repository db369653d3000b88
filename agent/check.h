#pragma once

// `gpuskew-agent check`: this node judged by itself, with the same rules as the aggregator's. Made for gates: after a
// boot, before a reboot, in the build of an image.

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/judge.h"
#include "core/snapshot.h"
#include "core/time.h"

namespace gpuskew {

enum class CheckScope : std::uint8_t {
  Now,          ///< the node as it runs; what the next boot would lose is told and does not count
  CriticalNow,  ///< the same; warnings are told and do not count either
  NextBoot,     ///< only the next boot
};

/// The program's exit code.
enum class CheckAnswer : std::uint8_t { Good = 0, Findings = 1, CouldNotTell = 2 };

/// The verdict of `judge` on what this node knows of itself: its memory is `snapshot.remembered`, and there is no
/// matrix. `boot_first_seen`: when this boot was first read, for a node whose boot time is unknown.
Verdict judge_alone(const Snapshot& snapshot, const JudgePolicy& policy, Time boot_first_seen, Time now);

/// The part of a verdict that a scope asks for: without the findings on the next boot, or with nothing else.
Verdict narrowed(Verdict verdict, CheckScope scope);

/// Of a narrowed verdict. No GPU, and a driver that is not of the kind we judge, are good; a boot's grace that still
/// runs, or a fact that could not be read, is CouldNotTell unless something was found all the same.
CheckAnswer answer_of(const Verdict& verdict, CheckScope scope);

/// Of a narrowed verdict, for people; for programs.
std::string check_text(const Snapshot& snapshot, const Verdict& verdict, CheckScope scope);
nlohmann::ordered_json check_json(const Snapshot& snapshot, const Verdict& verdict, CheckScope scope);

}  // namespace gpuskew
