// The driver is loaded and the GPU is not usable: it failed, fell off the bus, or the driver is not for it.

#include "core/rules/rules.h"

namespace gpuskew::rules {

std::optional<Ruling> gpu_failed(const Scene&) {
  return std::nullopt;
}

}  // namespace gpuskew::rules
