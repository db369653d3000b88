#pragma once

#include <vector>

#include "agent/host_root.h"
#include "core/fact.h"
#include "core/facts/install.h"

namespace gpuskew {

/// The marks of the gpu-operator's validator, run/nvidia/validations/*, by name. Absent: no such folder (run is empty
/// after a boot). Unknown when one of them can not be read, or more than kMaxValidationMarks are there.
Fact<std::vector<ValidationMark>> read_validations(const HostRoot& root);

}  // namespace gpuskew
