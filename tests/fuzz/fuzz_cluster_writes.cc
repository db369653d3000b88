#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "aggregator/kube/lease.h"
#include "aggregator/kube/node_writes.h"
#include "runtime/kube/json_text.h"
#include "tests/fuzz/require.h"

namespace gpuskew::fuzz {
namespace {

constexpr Time kNow = from_unix_ms(1'796'054'737'123);

/// What the server would have after our merge patch.
nlohmann::json patched(nlohmann::json node, const nlohmann::json& patch) {
  node.merge_patch(patch);
  return node;
}

void check_taint(const nlohmann::json& node, bool tainted) {
  const auto patch = taint_patch(node, tainted);
  if (patch) {
    require(node_marks_from_json(node).tainted != tainted);
    const nlohmann::json after = patched(node, *patch);
    require(node_marks_from_json(after).tainted == tainted);
    require(!taint_patch(after, tainted));
  }
}

void check(std::string_view text) {
  const auto object = parse_json(text);
  if (!object) {
    return;
  }
  check_taint(*object, true);
  check_taint(*object, false);
  const NodeMarks marks = node_marks_from_json(*object);
  const Action action{"gpu-1", ActionKind::SetCondition, {"False", "DriverNotLoaded", "message"}, true};
  const nlohmann::json event = condition_event(action, "uid", marks, "replica", kNow);
  require(event.at("metadata").at("name").get<std::string>().size() <= 253);
  require(condition_patch("uid", action.condition, marks, kNow).at("status").at("conditions").size() == 1);
  if (const auto lease = lease_record(*object)) {
    require(!lease->version.empty() && lease->promise >= Duration::zero());
    const nlohmann::json body = lease_body(*object, "n", "l", "holder", std::chrono::seconds(8), kNow);
    const auto written = lease_record(body);
    require(written && written->holder == "holder" && written->version == lease->version);
  }
}

}  // namespace
}  // namespace gpuskew::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuskew::fuzz::check(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
