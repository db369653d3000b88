// What an agent may send once its frame is cut out, and what a damaged state file may hold: nothing crashes, and what
// is taken is in the one form that converts to the wire and back without a change.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "proto/json.h"

namespace {

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void check_snapshot(const gpuskew::v1::Snapshot& received) {
  const gpuskew::Result<gpuskew::Snapshot> taken = gpuskew::from_wire(received);
  if (!taken) {
    return;
  }
  gpuskew::v1::Snapshot wire;
  gpuskew::to_wire(*taken, wire);
  gpuskew::v1::Snapshot parsed;
  require(parsed.ParseFromString(wire.SerializeAsString()));
  const gpuskew::Result<gpuskew::Snapshot> again = gpuskew::from_wire(parsed);
  require(again.has_value() && again->same_facts(*taken) && again->taken_at == taken->taken_at);
  require(!gpuskew::dump(gpuskew::to_json(*taken), false).empty());
}

void check_last_good(std::string_view bytes) {
  const gpuskew::Result<gpuskew::LastGood> taken = gpuskew::decode_last_good(bytes);
  if (!taken) {
    return;
  }
  const gpuskew::Result<gpuskew::LastGood> again = gpuskew::decode_last_good(gpuskew::encode(*taken));
  require(again.has_value() && *again == *taken);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMaxInput = std::size_t{1} << 20;  // the longest frame
  if (size > kMaxInput) {
    return 0;
  }
  gpuskew::v1::AgentMessage message;
  if (message.ParseFromArray(data, static_cast<int>(size))) {
    check_snapshot(message.snapshot());
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes as text
  check_last_good(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
