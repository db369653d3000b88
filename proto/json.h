#pragma once

// Core values as JSON: what `gpuskew-agent facts --json`, the aggregator's API and the CLI's `-o json` print.
// One form for all three. A fact is {"state":"known","value":...,"source":...}, {"state":"absent","source":...} or
// {"state":"unknown","because":...,"code":...,"source":...}. Times are RFC 3339 in UTC.
// Within a value null stands for what there is none of.

#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/finding.h"
#include "core/fleet.h"
#include "core/judge.h"
#include "core/snapshot.h"
#include "core/tag.h"

namespace gpuskew {

nlohmann::ordered_json to_json(const Fact<std::string>& fact);
nlohmann::ordered_json to_json(const Fact<std::uint32_t>& fact);
nlohmann::ordered_json to_json(const Fact<Time>& fact);
nlohmann::ordered_json to_json(const Fact<KernelRelease>& fact);
nlohmann::ordered_json to_json(const Fact<DriverVersion>& fact);
nlohmann::ordered_json to_json(const Fact<OsIdentity>& fact);

nlohmann::ordered_json to_json(const Snapshot& snapshot);
nlohmann::ordered_json to_json(const LastGood& good);
nlohmann::ordered_json to_json(const Finding& finding);
nlohmann::ordered_json to_json(const NextBoot& next);
nlohmann::ordered_json to_json(const Verdict& verdict);
nlohmann::ordered_json to_json(const Transition& transition);
nlohmann::ordered_json to_json(const Tag& tag);

/// One line, or lines indented by two spaces; bytes that are not UTF-8 are replaced, never an exception.
std::string dump(const nlohmann::ordered_json& value, bool pretty);

}  // namespace gpuskew
