#include "core/judge.h"

#include <algorithm>
#include <array>

#include "core/name_table.h"
#include "core/rules/rules.h"

namespace gpuskew {
namespace {

using rules::Ruling;
using rules::Scene;

constexpr NameTable<NodeState, 7> kStates{{
    {NodeState::Ok, "ok"},
    {NodeState::NoGpu, "no-gpu"},
    {NodeState::NotJudged, "not-judged"},
    {NodeState::Starting, "starting"},
    {NodeState::Degraded, "degraded"},
    {NodeState::Broken, "broken"},
    {NodeState::Unknown, "unknown"},
}};

constexpr NameTable<NextBootGpu, 4> kOutcomes{{
    {NextBootGpu::Keeps, "keeps"},
    {NextBootGpu::Loses, "loses"},
    {NextBootGpu::CannotTell, "cannot-tell"},
    {NextBootGpu::NotApplicable, "not-applicable"},
}};

using Layer = std::optional<Ruling> (*)(const Scene&);

// From the bottom up; the first that rules is the root cause.
constexpr std::array<Layer, 13> kLayers{
    rules::platform,          rules::pci_devices,    rules::bound_driver, rules::module_wedged, rules::module_rejected,
    rules::module_loaded,     rules::module_flavour, rules::gpu_failed,   rules::libraries,     rules::fabric_manager,
    rules::device_for_driver, rules::kernel_known,   rules::image,
};

using Advice = std::optional<Finding> (*)(const Scene&);

// Each for itself, in the order in which they are told.
constexpr std::array<Advice, 6> kAdvice{
    rules::fewer_gpus,
    rules::next_boot_loses,
    rules::install_conflict,
    rules::runtime_config_conflict,
    rules::runtime_handler_missing,
    rules::runtime_restart_needed,
};

const LastGood* newer_memory(const Snapshot& snapshot, const NodeHistory& history) {
  const LastGood* own = history.last_good ? &*history.last_good : nullptr;
  const LastGood* agents = snapshot.remembered ? &*snapshot.remembered : nullptr;
  if (own == nullptr || (agents != nullptr && agents->at > own->at)) {
    return agents;
  }
  return own;
}

void note_revisit(Verdict& verdict, std::optional<Time> at) {
  if (at && (!verdict.revisit_at || *at < *verdict.revisit_at)) {
    verdict.revisit_at = at;
  }
}

void judge_advice(const Scene& scene, Verdict& verdict) {
  if (verdict.state == NodeState::NoGpu || verdict.state == NodeState::NotJudged) {
    return;
  }
  for (const Advice advice : kAdvice) {
    std::optional<Finding> finding = advice(scene);
    if (!finding) {
      continue;
    }
    const bool is_critical = finding->severity == Severity::Critical && verdict.state != NodeState::Broken;
    if (verdict.state == NodeState::Ok || is_critical) {
      verdict.state = is_critical ? NodeState::Broken : NodeState::Degraded;
      verdict.why = finding->cause;
    }
    verdict.findings.push_back(std::move(*finding));
  }
}

// A silent node is not known to be well, whatever its last words were.
void judge_silence(const Scene& scene, Time last_heard, Verdict& verdict) {
  std::optional<Finding> silent = rules::silence(scene, last_heard);
  if (!silent) {
    note_revisit(verdict, last_heard + scene.policy.silent_after);
    return;
  }
  if (verdict.state != NodeState::Broken) {
    verdict.state = NodeState::Unknown;
    verdict.why = silent->cause;
  }
  verdict.findings.push_back(std::move(*silent));
}

}  // namespace

std::string_view to_string(NodeState state) {
  return name_of(kStates, state);
}

std::string_view to_string(NextBootGpu outcome) {
  return name_of(kOutcomes, outcome);
}

Verdict judge(const Snapshot& snapshot, const NodeHistory& history, const JudgePolicy& policy, const Matrix* matrix,
              Time last_heard, Time now) {
  const Scene scene{snapshot, history, policy, matrix, newer_memory(snapshot, history), now};
  Verdict verdict;
  verdict.state = NodeState::Ok;
  for (const Layer layer : kLayers) {
    if (std::optional<Ruling> ruling = layer(scene)) {
      verdict.state = ruling->state;
      verdict.why = std::move(ruling->why);
      note_revisit(verdict, ruling->revisit_at);
      if (ruling->finding) {
        verdict.findings.push_back(std::move(*ruling->finding));
      }
      break;
    }
  }
  verdict.next_boot = rules::next_boot(scene);
  judge_advice(scene, verdict);
  judge_silence(scene, last_heard, verdict);
  return verdict;
}

Fact<DriverVersion> wanted_driver(const Snapshot& snapshot, const NodeHistory& history) {
  if (snapshot.l4t_release.is_known()) {
    return Fact<DriverVersion>::unknown(
        Error{ErrorCode::Unsupported,
              "this is a Jetson (L4T " + snapshot.l4t_release.value() + "): it takes no driver image"},
        snapshot.l4t_release.source());
  }
  if (snapshot.loaded_driver.is_known()) {
    return snapshot.loaded_driver;
  }
  // Only where no driver is loaded for certain: an unreadable version may be another one than the last.
  const LastGood* good = newer_memory(snapshot, history);
  if (snapshot.loaded_driver.is_absent() && good != nullptr) {
    return Fact<DriverVersion>::known(good->driver, "last good state, " + to_rfc3339(good->at));
  }
  return snapshot.loaded_driver;
}

Result<Tag> node_tag(const Snapshot& snapshot, const NodeHistory& history, const TagPolicy& policy) {
  return compute_tag(wanted_driver(snapshot, history), snapshot.kernel, snapshot.os, policy);
}

}  // namespace gpuskew
