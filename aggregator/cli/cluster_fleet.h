#pragma once

// The nodes of a cluster as a fleet that no agent reports from, and what is to be said of it: by the same code as the
// aggregator's answers.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "aggregator/cli/answer_source.h"
#include "aggregator/fleet_sources.h"
#include "core/fleet.h"
#include "core/kube/cluster_node.h"
#include "core/matrix.h"
#include "core/tag.h"
#include "runtime/http_server.h"

namespace gpuskew {

/// The images that exist, from a file.
struct GivenMatrix {
  std::string file;
  std::shared_ptr<const Matrix> matrix;
};

class ClusterFleet {
 public:
  ClusterFleet(TagPolicy tag, std::optional<GivenMatrix> matrix);

  void clear();
  void add(ClusterNode node, Time now);
  bool has(std::string_view node) const { return cluster_.contains(node); }
  std::size_t size() const { return cluster_.size(); }

  /// Of what was added so far. History is kept nowhere: 409.
  HttpResponse answer(const Question& question, Time now) const;

 private:
  Fleet empty_fleet() const;

  TagPolicy tag_;
  std::optional<GivenMatrix> matrix_;
  Fleet fleet_;
  ClusterNodes cluster_;
};

}  // namespace gpuskew
