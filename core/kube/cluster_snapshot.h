#pragma once

// A node of a cluster as the facts that an agent would report: as many as the Kubernetes API tells, each with the label
// or the field it was read from; the others are unknown. No value is made up of two that disagree.

#include "core/judge.h"
#include "core/kube/cluster_node.h"
#include "core/snapshot.h"

namespace gpuskew {

/// Of a node that an aggregator knows from its cluster alone.
inline constexpr std::string_view kNoAgentReports = "no agent reports from this node";
/// Why a fact is unknown that only an agent could tell.
inline constexpr std::string_view kOnlyTheApi = "only the Kubernetes API was asked, not an agent on the node";

/// Kernel: our own label, NFD's, then the kubelet's. OS: our own labels, then NFD's. Driver: our own label, then GFD's.
/// A label that is needed and missing is named with the node ("node a has no label ...").
Snapshot snapshot_from_cluster_node(const ClusterNode& node, Time now);

/// What can be said of such a node's GPU: never that it is well. The verdict's `why` begins with the one given, and has
/// its gpu_trouble().
Verdict verdict_without_agent(const ClusterNode& node, std::string_view why = kOnlyTheApi);

}  // namespace gpuskew
