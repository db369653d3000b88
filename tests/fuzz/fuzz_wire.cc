// What an agent may send once its frame is cut out, and what a damaged state file may hold: nothing crashes, and what
// is taken is in the one form that converts to the wire and back without a change.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "proto/json.h"
#include "tests/fuzz/require.h"

namespace gpuskew {
namespace {

using fuzz::require;

void check_snapshot(const v1::Snapshot& received) {
  const Result<Snapshot> taken = from_wire(received);
  if (!taken) {
    return;
  }
  v1::Snapshot wire;
  to_wire(*taken, wire);
  v1::Snapshot parsed;
  require(parsed.ParseFromString(wire.SerializeAsString()));
  const Result<Snapshot> again = from_wire(parsed);
  require(again.has_value() && again->same_facts(*taken) && again->taken_at == taken->taken_at);
  require(!dump(to_json(*taken), false).empty());
}

void check_last_good(std::string_view bytes) {
  const Result<LastGood> taken = decode_last_good(bytes);
  if (!taken) {
    return;
  }
  const Result<LastGood> again = decode_last_good(encode(*taken));
  require(again.has_value() && *again == *taken);
}

}  // namespace
}  // namespace gpuskew

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMaxInput = std::size_t{1} << 20;  // the longest frame
  if (size > kMaxInput) {
    return 0;
  }
  gpuskew::v1::AgentMessage message;
  if (message.ParseFromArray(data, static_cast<int>(size))) {
    gpuskew::check_snapshot(message.snapshot());
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  gpuskew::check_last_good(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
