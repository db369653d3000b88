// Fabric manager has to be exactly the version of the driver.

#include "core/rules/rules.h"

namespace gpuskew::rules {

std::optional<Ruling> fabric_manager(const Scene&) {
  return std::nullopt;
}

}  // namespace gpuskew::rules
