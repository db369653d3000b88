#include "aggregator/cli/help.h"

#include <algorithm>

namespace gpuskew {
namespace {

constexpr std::string_view kProgram =
    R"(gpuskew tells which GPU nodes lost their driver to a kernel bump, why, and what to do next.

usage: gpuskew COMMAND [NODE] [options]

What is broken now?
  status         the fleet at a glance: counts, the worst findings, the next step
  findings       every finding, the worst first
  nodes          every node with its kernel, driver and GPUs

Why, and does a reboot help?
  explain NODE   one node: before and now, the evidence, the next command
  history NODE   what changed on a node, and when

Which driver image does a node need, and does it exist?
  tag NODE       the image tag a node needs; also from parts, without an aggregator
  audit          the nodes whose image is missing
  forecast       the same for another kernel: what to build before it comes
  report         the same in figures, for scripts

About this program
  version        its version
  help COMMAND   the same as gpuskew COMMAND --help

Options, before or after the command
  --server URL        the aggregator (GPUSKEW_SERVER; default http://127.0.0.1:7480)
  --ca FILE           the authority that signed its certificate (GPUSKEW_CA)
  --cert FILE, --key FILE
                      a certificate of your own (GPUSKEW_CERT, GPUSKEW_KEY)
  --token-file FILE   a file that holds a token (GPUSKEW_TOKEN_FILE)
  --kubeconfig FILE   a cluster, asked without an aggregator or agents (KUBECONFIG, where no aggregator is named)
  --context NAME      a context of the kubeconfig; without it, the current one
  -o, --output FORM   table, wide, json, yaml or csv
  --color WHEN        auto, always or never (NO_COLOR is heeded)
  -h, --help          this text, or a command's own

At 3 a.m.
  gpuskew status
  gpuskew explain gpu-node-17
Before a maintenance window
  gpuskew audit && echo "every image is there"
  gpuskew forecast --kernel 5.15.0-122-generic
No agents yet? Labels and the kubelet's word tell the tag, and nothing of the GPU itself
  gpuskew --kubeconfig ~/.kube/config audit --matrix images.csv

Exit codes: 0 fine, 1 findings or missing images, 2 could not answer (standard error says why).
)";

constexpr std::string_view kStatus = R"(gpuskew status: the fleet at a glance, on one screen.

Counts by state, the worst findings with node, age, cause and next step, the nodes nothing is known of, and the state
of the support matrix.

usage: gpuskew status [-o table|json|yaml]

Examples
  gpuskew status
  gpuskew status -o json | jq .nodes.broken

Exit codes: 0 no finding, 1 findings, 2 could not answer, no node has reported, or no finding but unknown nodes.
)";

constexpr std::string_view kNodes = R"(gpuskew nodes: every node with its state, kernel, driver and GPUs.

usage: gpuskew nodes [--state STATE[,STATE]] [--kernel RELEASE] [-o table|wide|json|yaml|csv]

  --state STATE      only these: ok, no-gpu, not-judged, starting, degraded, broken, unknown
  --kernel RELEASE   only nodes that run exactly this kernel

A fact that could not be read says "unknown"; "none" is a certain no.

Examples
  gpuskew nodes --state broken,unknown
  gpuskew nodes -o csv > nodes.csv

Exit codes: 0 answered, whatever the states are; 2 could not answer.
)";

constexpr std::string_view kFindings = R"(gpuskew findings: every finding, the worst first.

usage: gpuskew findings [--severity S[,S]] [--code CODE[,CODE]] [--node NODE] [-o table|wide|json|yaml|csv]

  --severity S   only these: critical, warning, info
  --code CODE    only these: gpu-gone-after-kernel-bump, driver-not-loaded, driver-library-mismatch,
                 wrong-driver-bound, gpu-count-drop, image-missing, agent-silent
  --node NODE    only this node

Examples
  gpuskew findings --severity critical
  gpuskew findings -o json | jq -r '.findings[].next_step'

Exit codes: 0 none, 1 some are shown, 2 could not answer, or none are shown but nodes are unknown.
)";

constexpr std::string_view kExplain = R"(gpuskew explain NODE: what is wrong with one node, why, and what to do.

Its state in one sentence, since when, what was before and what is now, the evidence with source and time, whether a
reboot helps, the next command ready to copy, the facts, and the driver image it needs.

usage: gpuskew explain NODE [-o table|json|yaml]
       gpuskew --kubeconfig FILE explain NODE [--matrix FILE] [--operator-version V] [--driver-part branch|version]

Of a cluster without an aggregator: what its labels and its kubelet say, and where they contradict each other.

Examples
  gpuskew explain gpu-node-17
  gpuskew explain gpu-node-17 -o json | jq .snapshot.kernel

Exit codes: 0 no finding, 1 findings, 2 could not answer, or the node's state is unknown.
)";

constexpr std::string_view kTag = R"(gpuskew tag: the driver image tag a node needs, alone on standard output.

usage: gpuskew tag NODE [-o table|json|yaml]
       gpuskew tag --kernel RELEASE --os ID --os-version V --driver VERSION
                   [--operator-version V] [--driver-part branch|version]
       gpuskew --kubeconfig FILE tag NODE [--operator-version V] [--driver-part branch|version]

The second form asks nobody. The third reads the node's labels: gpuskew's own, then those of NFD and GFD.
  --kernel RELEASE       as uname -r prints it: 5.15.0-119-generic
  --os ID                ID of os-release: ubuntu
  --os-version V         VERSION_ID of os-release: 22.04
  --driver VERSION       550.90.07
  --operator-version V   the gpu-operator's, which chooses the rule for the OS part; without it, ID and VERSION_ID
  --driver-part PART     branch (550-..., the default) or version (550.90.07-...)

Examples
  gpuskew tag gpu-node-17
  gpuskew tag --kernel 5.15.0-119-generic --os ubuntu --os-version 22.04 --driver 550.90.07
    prints 550-5.15.0-119-generic-ubuntu22.04

Exit codes: 0 the tag is printed; 2 a part is missing or malformed: nothing is printed, standard error names the part.
)";

constexpr std::string_view kAudit = R"(gpuskew audit: does every GPU node's driver image exist?

Prints "<node> MISSING <tag>" for each node whose image is not in the support matrix, or "OK". A node whose tag can not
be computed is told on standard error as "<node> UNKNOWN <why>".

usage: gpuskew audit [-o table|wide|json|yaml|csv]
       gpuskew --kubeconfig FILE audit --matrix FILE [--operator-version V] [--driver-part branch|version]

  -o wide               every node with its tag and verdict, not only the missing ones
  --matrix FILE         the images that exist, a line each, under the header driver_branch,kernel,os_tag
  --operator-version V  the gpu-operator's, which chooses the rule for the OS part
  --driver-part PART    branch (550-..., the default) or version (550.90.07-...)

Straight from a cluster, the nodes with a sign of a GPU are audited: nvidia.com/gpu.present=true, a label of gpuskew, an
nvidia.com resource, or NFD's label of an NVIDIA device. Only get and list on nodes are needed.

Examples
  gpuskew audit
  gpuskew --kubeconfig ~/.kube/config audit --matrix images.csv
  gpuskew audit | awk '{print $3}' | sort -u     the images to build

Exit codes: 0 OK, 1 images are missing, 2 could not answer, or none is missing but some are unknown.
)";

constexpr std::string_view kForecast =
    R"(gpuskew forecast: which driver image would each node need under another kernel, and does it exist?

Prints "<node> OK <tag>", "<node> MISSING <tag>", or "<node> UNKNOWN <tag>" where no matrix says whether it exists. A
node whose tag can not be computed is told on standard error as "<node> UNKNOWN <why>".

usage: gpuskew forecast [--kernel RELEASE] [NODE...] [-o table|wide|json|yaml|csv]
       gpuskew --kubeconfig FILE forecast [--matrix FILE] [--operator-version V] [--driver-part branch|version] ...

  --kernel RELEASE      as uname -r prints it, or as a label has it; without it, each node's own next kernel
  --matrix FILE         the images that exist, a line each, under the header driver_branch,kernel,os_tag
  --operator-version V  the gpu-operator's, which chooses the rule for the OS part
  --driver-part PART    branch (550-..., the default) or version (550.90.07-...)

Examples
  gpuskew forecast --kernel 5.15.0-122-generic
  gpuskew forecast --kernel 5.15.0-122-generic | awk '$2 == "MISSING" {print $3}' | sort -u     the images to build
  gpuskew --kubeconfig ~/.kube/config forecast --matrix images.csv --kernel 5.15.0-122-generic gpu-node-17

Exit codes: 0 every image exists, 1 some are missing, 2 could not answer, or none is missing but some are unknown.
)";

constexpr std::string_view kReport = R"(gpuskew report: the fleet's images in figures, one KEY=VALUE a line.

  NODES           nodes that need a driver image
  SKEW            those whose image is missing; "unknown" while none is, but some can not be told
  UNKNOWN         how many can not be told; only where there are any
  <NODE>_TAG      the tag of each node, or of the one asked for: LAB_NODE_1_TAG=550-5.15.0-107-generic-ubuntu22.04
  MATRIX_ROWS     images in the support matrix
  UPGRADE_STATE   the gpu-operator's word on the driver upgrade of these nodes: one word, or each with its number of
                  nodes (upgrade-done:3,upgrade-required:1); "none" without one, "unknown" where no cluster was asked

usage: gpuskew report [--node NODE] [-o table|json|yaml]
       gpuskew --kubeconfig FILE report --matrix FILE [--operator-version V] [--driver-part branch|version] ...

  --node NODE   the tag and the upgrade state of this node; the other figures stay the fleet's

Examples
  gpuskew report
  gpuskew --kubeconfig ~/.kube/config report --matrix images.csv --node gpu-node-17

Exit codes: 0 no skew, 1 images are missing, 2 could not answer, or none is missing but some are unknown.
)";

constexpr std::string_view kHistory = R"(gpuskew history NODE: what changed on a node, the newest first.

Boots, kernels, drivers, GPUs, states, findings opened and resolved. Only an aggregator keeps it.

usage: gpuskew history NODE [--limit N] [-o table|wide|json|yaml|csv]

  --limit N   at most this many lines, 1 to 10000 (default 200)

Examples
  gpuskew history gpu-node-17 --limit 20
  gpuskew history gpu-node-17 -o csv > history.csv

Exit codes: 0 answered, 2 could not answer.
)";

constexpr std::string_view kVersion = R"(gpuskew version: this program's version.

usage: gpuskew version

Example
  gpuskew version

Exit codes: 0.
)";

}  // namespace

const std::vector<CommandInfo>& all_commands() {
  static const std::vector<Format> tables = {Format::Table, Format::Wide, Format::Json, Format::Yaml, Format::Csv};
  static const std::vector<Format> texts = {Format::Table, Format::Json, Format::Yaml};
  static const std::vector<CommandInfo> commands = {
      {Command::Status, "status", texts, kStatus},     {Command::Findings, "findings", tables, kFindings},
      {Command::Nodes, "nodes", tables, kNodes},       {Command::Explain, "explain", texts, kExplain},
      {Command::History, "history", tables, kHistory}, {Command::Tag, "tag", texts, kTag},
      {Command::Audit, "audit", tables, kAudit},       {Command::Forecast, "forecast", tables, kForecast},
      {Command::Report, "report", texts, kReport},     {Command::Version, "version", {Format::Table}, kVersion},
  };
  return commands;
}

const CommandInfo& info_of(Command command) {
  const auto& commands = all_commands();
  return *std::find_if(commands.begin(), commands.end(),
                       [command](const CommandInfo& info) { return info.command == command; });
}

std::string_view to_string(Format format) {
  switch (format) {
    case Format::Table:
      return "table";
    case Format::Wide:
      return "wide";
    case Format::Json:
      return "json";
    case Format::Yaml:
      return "yaml";
    case Format::Csv:
      return "csv";
  }
  return "table";
}

std::string help_text(std::optional<Command> command) {
  return std::string(command ? info_of(*command).help : kProgram);
}

}  // namespace gpuskew
