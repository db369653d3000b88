#include "aggregator/api_forecast.h"

#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "aggregator/api_audit.h"
#include "aggregator/api_response.h"
#include "aggregator/image_row.h"
#include "core/judge.h"
#include "proto/json.h"

namespace gpuskew {

namespace {

using Json = nlohmann::ordered_json;

/// The next boot's kernel. A node without a boot loader's configuration is booted from outside: nobody here can tell.
Fact<KernelRelease> next_kernel(const Snapshot& snapshot) {
  const Fact<NextKernel>& next = snapshot.next_kernel;
  if (next.is_known()) {
    return Fact<KernelRelease>::known(next->release, next.source());
  }
  return Fact<KernelRelease>::unknown(
      next.is_unknown() ? Error{next.why().code, "the next boot's is unknown, because " + next.why().what}
                        : Error{ErrorCode::NotFound, "no boot loader says which kernel boots next"},
      next.source());
}

Json forecast_row(const FleetSources& sources, const NodeRecord& record, const Fact<KernelRelease>& asked) {
  const Fact<KernelRelease> kernel = asked.is_known() ? asked : next_kernel(record.snapshot);
  const Result<Tag> tag = compute_tag(wanted_driver(record.snapshot, record.history), kernel, record.snapshot.os,
                                      sources.fleet.policy().tag);
  Json row = image_row(sources, record, tag);
  row["kernel"] = kernel.is_known() ? Json(kernel->text()) : Json();
  return row;
}

}  // namespace

HttpResponse forecast_response(const FleetSources& sources, std::string_view kernel, std::string_view node) {
  Fact<KernelRelease> asked;
  if (!kernel.empty()) {
    Result<KernelRelease> release = KernelRelease::parse(kernel);
    if (!release || release->numbers().size() < 2) {
      return error_response(400, in_quotes(kernel) + " is no kernel release (5.15.0-119-generic)");
    }
    asked = Fact<KernelRelease>::known(std::move(*release), "the question");
  }
  if (!node.empty() && sources.fleet.find(node) == nullptr) {
    return unknown_node(node);
  }
  std::string nodes;
  WorstImage worst;
  for (const auto& [name, record] : sources.fleet.nodes()) {
    if ((!node.empty() && name != node) || is_outside_audit(sources, record)) {
      continue;
    }
    const Json row = forecast_row(sources, record, asked);
    const auto& verdict = row["verdict"].get_ref<const std::string&>();
    worst.add(verdict == "ok" ? ImageState::Ok : verdict == "missing" ? ImageState::Missing : ImageState::Unknown);
    nodes += nodes.empty() ? "" : ",";
    nodes += dump(row, false);
  }
  HttpResponse response;
  response.body = fmt::format(R"({{"kernel":{},"result":"{}","matrix":{},"nodes":[{}]}})",
                              dump(asked.is_known() ? Json(asked->text()) : Json(), false), to_string(worst.state()),
                              dump(matrix_json(sources.matrix), false), nodes);
  response.body += '\n';
  return response;
}

}  // namespace gpuskew
