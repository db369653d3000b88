// The container runtime and its configuration.

#include "core/rules/rules.h"

namespace gpuskew::rules {

std::optional<Finding> runtime_handler_missing(const Scene&) {
  return std::nullopt;
}

std::optional<Finding> runtime_restart_needed(const Scene&) {
  return std::nullopt;
}

std::optional<Finding> runtime_config_conflict(const Scene&) {
  return std::nullopt;
}

}  // namespace gpuskew::rules
