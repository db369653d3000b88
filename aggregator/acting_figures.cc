#include "aggregator/acting_figures.h"

#include "core/acting.h"

namespace gpuskew {

std::string_view to_string(ClusterWrite write) {
  switch (write) {
    case ClusterWrite::SetCondition:
      return to_string(ActionKind::SetCondition);
    case ClusterWrite::DropCondition:
      return to_string(ActionKind::DropCondition);
    case ClusterWrite::AddTaint:
      return to_string(ActionKind::AddTaint);
    case ClusterWrite::RemoveTaint:
      return to_string(ActionKind::RemoveTaint);
    case ClusterWrite::Event:
      return "event";
  }
  return "";
}

}  // namespace gpuskew
