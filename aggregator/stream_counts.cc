#include "aggregator/stream_counts.h"

namespace gpuskew {

std::string_view to_string(RefusedReason reason) {
  switch (reason) {
    case RefusedReason::Handshake:
      return "handshake";
    case RefusedReason::Timeout:
      return "timeout";
    case RefusedReason::Version:
      return "version";
    case RefusedReason::Identity:
      return "identity";
    case RefusedReason::Protocol:
      return "protocol";
    case RefusedReason::Overloaded:
      return "overloaded";
  }
  return "protocol";
}

}  // namespace gpuskew
