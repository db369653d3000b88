#pragma once

// A coordination.k8s.io/v1 Lease as what core/leader.h asks for, and what is written for it. Pure.

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/leader.h"
#include "core/result.h"
#include "core/time.h"

namespace gpuskew {

/// Malformed for what is no Lease, or has no resourceVersion.
Result<LeaseRecord> lease_record(const nlohmann::json& lease);

/// The Lease for a POST when `now_there` is null, else for a PUT: that object with our spec; its resourceVersion makes
/// a lost race a 409. `holder` "" gives it back.
nlohmann::json lease_body(const nlohmann::json& now_there, std::string_view name_space, std::string_view name,
                          std::string_view holder, Duration promise, Time now);

/// "HOST_8f3a09c1": another one in each run of each replica.
std::string replica_identity();

}  // namespace gpuskew
