#pragma once

// The layers judge() asks, from the bottom up, one file each. The first one that rules is the root cause; the others
// are not asked. To add a layer: a function here, a file beside this one, a line in kLayers (judge.cc), a test.

#include <optional>
#include <string>
#include <utility>

#include "core/judge.h"

namespace gpuskew::rules {

/// What every rule looks at. Refers to what judge() was given; lives as long as that call.
struct Scene {
  const Snapshot& snapshot;
  const NodeHistory& history;
  const JudgePolicy& policy;
  const Matrix* matrix;       ///< null: not configured
  const LastGood* last_good;  ///< the newer of the aggregator's and the agent's own memory; null: none
  Time now;
};

/// A layer that does not hold, or that settles the verdict.
struct Ruling {
  NodeState state{};
  std::string why;
  std::optional<Finding> finding;
  /// By time alone this ruling may change then.
  std::optional<Time> revisit_at;
};

/// Jetson, WSL2: no driver of the kind we judge.
std::optional<Ruling> platform(const Scene& scene);
/// No NVIDIA GPU on the PCI bus: all of them gone, or none ever; passthrough.
std::optional<Ruling> pci_devices(const Scene& scene);
/// A driver other than nvidia holds the GPUs.
std::optional<Ruling> bound_driver(const Scene& scene);
/// The nvidia module is not loaded: gone after a kernel bump, never loaded, still coming, or unknown.
std::optional<Ruling> module_loaded(const Scene& scene);
/// An nvidia module neither comes nor goes any more.
std::optional<Ruling> module_wedged(const Scene& scene);
/// The kernel refused the module file: signature, lockdown, built for another kernel.
std::optional<Ruling> module_rejected(const Scene& scene);
/// The loaded module is not of the flavour (open, proprietary) that these GPUs need.
std::optional<Ruling> module_flavour(const Scene& scene);
/// The driver is loaded and has given a GPU up, or never got it to start.
std::optional<Ruling> gpu_failed(const Scene& scene);
/// User-space libraries and the loaded module disagree.
std::optional<Ruling> libraries(const Scene& scene);
/// Fabric manager and the loaded module disagree.
std::optional<Ruling> fabric_manager(const Scene& scene);
/// All is well now, but no driver image exists for this node.
std::optional<Ruling> image(const Scene& scene);

/// A driver is loaded: is there a GPU for it, and does nvidia hold it? What could not be read is no all-clear.
std::optional<Ruling> device_for_driver(const Scene& scene);
/// The running kernel is not known, and with it neither the module file nor the image that belong to it.
std::optional<Ruling> kernel_known(const Scene& scene);

// ---- what stands beside the layers: each may be found whatever else is, on a node that is judged at all

/// Fewer GPUs on the bus than there were, or than the operator says there are; not none (pci_devices).
std::optional<Finding> fewer_gpus(const Scene& scene);
/// The next boot would lose the GPU.
std::optional<Finding> next_boot_loses(const Scene& scene);
/// Two installers own one driver, or parts that must agree.
std::optional<Finding> install_conflict(const Scene& scene);
/// The container runtime has no way to hand a GPU to a container, though something here expects one.
std::optional<Finding> runtime_handler_missing(const Scene& scene);
/// Its configuration is newer than the running daemon.
std::optional<Finding> runtime_restart_needed(const Scene& scene);
/// Two of its files set one table, and the merge keeps one of them.
std::optional<Finding> runtime_config_conflict(const Scene& scene);

/// Whether the agent has been silent too long; not a layer: it may stand beside any of them.
std::optional<Finding> silence(const Scene& scene, Time last_heard);

// ---- what the rules share

/// What a reboot now would do to this node's GPU.
NextBoot next_boot(const Scene& scene);

/// Why the kernel would not take the module file, where this boot's log or the file itself says so.
struct Refusal {
  std::string why;  ///< "its signature was rejected"; completes "the kernel refuses the nvidia module: ..."
  Evidence evidence;
  RebootHelps reboot_helps = RebootHelps::No;
  std::string next_step;  ///< a command
  Time since{};           ///< when it was first said, or the boot began
  bool is_final = false;  ///< waiting does not help; false: it may mean another module, or the kernel may yet take it
};
std::optional<Refusal> refusal(const Scene& scene);

/// The newest event of that kind in this boot's log, if it was said since the driver was loaded last; else null. Null
/// also where the log is not known: no event is no proof.
const KernelLogEvent* log_event(const Scene& scene, KernelLogKind kind);
/// Whether the event was said since the driver was loaded last.
bool is_of_this_load(const Scene& scene, const KernelLogEvent& event);
/// Since when it is true: when it was said first, or when the driver was loaded last, whichever is later.
Time said_since(const Scene& scene, const KernelLogEvent& event);
/// "API mismatch: the client has the version ... (31 times since 2026-09-21T15:06:44Z)"
Evidence evidence_of(const Scene& scene, const KernelLogEvent& event);
/// Of log_event().
std::optional<Evidence> log_evidence(const Scene& scene, KernelLogKind kind);

/// The log says that the driver does not take a GPU, or that its modules are of the wrong flavour for it. Also where
/// the module did not stay loaded for it.
std::optional<Ruling> device_refused(const Scene& scene);
std::optional<Ruling> flavour_refused(const Scene& scene);
/// "0000:af:00.0 (10de:1db5)"; without the id of a GPU that is not on the bus.
std::string gpu_text(const Scene& scene, const std::string& address);
/// A last good state was seen on another kernel than the one that runs.
bool runs_another_kernel(const Scene& scene);

/// When the boot being judged began: its boot time where that is believable, else when it was first reported.
Time boot_start(const Scene& scene);
/// True when `last_good` was seen in the boot being judged.
bool good_in_this_boot(const Scene& scene);
/// How many GPUs belong to this node: by the operator's word, else as many as were ever seen with a driver.
struct GpuCount {
  std::uint32_t number = 0;
  Evidence evidence;
  bool is_configured = false;  ///< the operator's word
};
/// nullopt: nobody knows.
std::optional<GpuCount> known_gpus(const Scene& scene);
/// The driver comes, or came, from the operator's driver container.
bool container_at_work(const Scene& scene);
/// A GPU that is not handed to virtual machines (vfio-pci and its kin).
bool is_passthrough(const Gpu& gpu);

/// A finding with node, `since` (as it was opened; else `natural_since`, never in the future) and affected GPUs set.
Finding make_finding(const Scene& scene, FindingCode code, Severity severity, Time natural_since);
/// `text` with the fact's source, at the snapshot's time.
template <class T>
Evidence seen(const Scene& scene, const Fact<T>& fact, std::string text) {
  return Evidence{std::move(text), fact.source(), scene.snapshot.taken_at};
}
/// "driver 550.90.07 was loaded on 5.15.0-119-generic"; only when there is a last good state.
Evidence last_good_evidence(const Scene& scene);
/// "unknown, because <why>" / "none" / the value's text, for sentences.
std::string kernel_text(const Scene& scene);
/// "2 NVIDIA GPUs on the PCI bus, no driver bound", or that they are unknown.
Evidence gpus_evidence(const Scene& scene);

/// What is known of the image this node needs: its tag, whether the matrix has it. Errors: node_tag's.
struct ImageNeed {
  std::string tag;
  std::optional<bool> exists;  ///< nullopt: no matrix is configured
};
Result<ImageNeed> image_need(const Scene& scene);

/// `text` as one word of a shell command: quoted unless it is plain, so that no node can put a command into
/// what an operator copies.
std::string shell_word(std::string_view text);

enum class Terminal : std::uint8_t { No, Yes };
/// "ssh NODE 'command'": the remote command is one word of the local one, so that no name in it can end it. Words of
/// `command` that come from the node have been through shell_word(), too. Terminal: for a command that asks back.
std::string on_node(const Scene& scene, const std::string& command, Terminal terminal = Terminal::No);
/// Drains the node, then runs the command there.
std::string after_drain(const Scene& scene, const std::string& command);
/// The running kernel's release as a word of a command on that node, whether we know it or not.
std::string kernel_word(const Scene& scene);

}  // namespace gpuskew::rules
