#pragma once

// The product in one function: facts + history + now -> what is wrong, and why. Pure.
//
// Layers from the bottom up: PCI device, driver bound to it, module file, module loaded, GPU usable, module and
// library agree. The first broken layer is the root cause; those above it are its consequences. Nothing alarms
// during a boot's grace unless the evidence is final. Beside the root cause stand warnings that no layer causes: what
// the next boot would lose, two installers at odds, a container runtime that was not restarted.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/finding.h"
#include "core/matrix.h"
#include "core/snapshot.h"
#include "core/tag.h"
#include "core/time.h"

namespace gpuskew {

/// What is remembered of one node between snapshots.
struct NodeHistory {
  std::optional<LastGood> last_good;
  std::string boot_id;     ///< of the boot being judged; "" when unknown
  Time boot_first_seen{};  ///< when that boot was first reported
  std::map<FindingCode, Time> open_since;

  bool operator==(const NodeHistory&) const = default;
};

struct JudgePolicy {
  /// After a boot, how long a driver may take to load before its absence is a finding.
  Duration boot_grace = std::chrono::minutes(10);
  /// The same where a driver container is at work: it may compile for 20 minutes (its own startup probe).
  Duration container_grace = std::chrono::minutes(25);
  /// No word from the agent for this long: agent-silent.
  Duration silent_after = std::chrono::seconds(90);
  /// A module that has been loading or unloading for this long does not come to an end any more.
  Duration wedged_after = std::chrono::seconds(60);
  TagPolicy tag;

  bool operator==(const JudgePolicy&) const = default;
};

enum class NodeState : std::uint8_t {
  Ok,         ///< GPU, driver loaded, libraries agree
  NoGpu,      ///< no NVIDIA GPU, no driver, none expected
  NotJudged,  ///< Jetson, passthrough: this kind of driver does not apply; `why` says which
  Starting,   ///< inside the boot's grace, nothing final known
  Degraded,   ///< warnings only
  Broken,     ///< a critical finding
  Unknown,    ///< a fact the verdict needs could not be read; `why` names it
};
std::string_view to_string(NodeState state);

enum class NextBootGpu : std::uint8_t {
  Keeps,
  Loses,
  CannotTell,
  NotApplicable,  ///< no GPU and no driver here, or not this kind of driver
};
/// "keeps", "loses", "cannot-tell", "not-applicable"
std::string_view to_string(NextBootGpu outcome);

/// What a reboot now would do to this node's GPU.
struct NextBoot {
  NextBootGpu gpu = NextBootGpu::CannotTell;
  std::string why;                      ///< one sentence
  std::optional<KernelRelease> kernel;  ///< the one that would boot; nullopt: unknown

  bool operator==(const NextBoot&) const = default;
};

struct Verdict {
  NodeState state = NodeState::Unknown;
  std::string why;                ///< one sentence for any state but Ok
  std::vector<Finding> findings;  ///< the root cause first
  NextBoot next_boot;
  /// The verdict may change by time alone at this moment (end of a grace, silence); nullopt: it can not.
  std::optional<Time> revisit_at;

  bool operator==(const Verdict&) const = default;
};

/// `matrix` may be null: then no image is known to exist or to be missing. `last_heard` is the time of the
/// agent's last word of any kind.
Verdict judge(const Snapshot& snapshot, const NodeHistory& history, const JudgePolicy& policy, const Matrix* matrix,
              Time last_heard, Time now);

/// The driver whose image this node needs: the loaded one, or the last good one when it is gone.
Fact<DriverVersion> wanted_driver(const Snapshot& snapshot, const NodeHistory& history);

/// The tag of the image this node needs now.
Result<Tag> node_tag(const Snapshot& snapshot, const NodeHistory& history, const TagPolicy& policy);

}  // namespace gpuskew
