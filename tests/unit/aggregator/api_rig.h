#pragma once

// The API's sources around a Rig.

#include <string>

#include <nlohmann/json.hpp>

#include "aggregator/api.h"
#include "tests/unit/aggregator/rig.h"

namespace gpuskew {

struct ApiRig : Rig {
  using Rig::Rig;

  HttpResponse get(const std::string& path, const std::map<std::string, std::string>& query = {}) {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.query = query;
    return answer(request, sources, kNow);
  }
  nlohmann::json json(const std::string& path) { return nlohmann::json::parse(get(path).body); }

  /// Configures a matrix of this CSV.
  void use_matrix(const std::string& csv) {
    matrix.set_path(directory.write("matrix.csv", csv));
    matrix.reload();
    recorder.set_rules(fleet.policy(), matrix.matrix(), kNow);
  }

  MatrixFile matrix{std::nullopt};
  StreamCounts streams;
  ApiAuth auth{std::nullopt};
  std::optional<ClusterView> cluster;
  ApiSources sources{fleet,
                     store,
                     writer,
                     matrix,
                     streams,
                     auth,
                     "/etc/gpuskew/aggregator.yaml",
                     [] {
                       ProcessFigures figures;
                       figures.started = kNow;
                       return figures;
                     },
                     [this] { return cluster; }};
};

}  // namespace gpuskew
