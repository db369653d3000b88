#pragma once

// What tests of rules ask of a verdict.

#include <algorithm>
#include <string_view>

#include "core/judge.h"
#include "tests/unit/core/nodes.h"

namespace gpuskew::testing {

inline Verdict verdict_of(const Snapshot& snapshot, const NodeHistory& history = {}, Time now = kLongAfterBoot) {
  return judge(snapshot, history, JudgePolicy{}, nullptr, now, now);
}

inline const Finding* find(const Verdict& verdict, FindingCode code) {
  const auto found = std::find_if(verdict.findings.begin(), verdict.findings.end(),
                                  [code](const Finding& finding) { return finding.code == code; });
  return found == verdict.findings.end() ? nullptr : &*found;
}

inline bool tells(const Finding& finding, std::string_view words) {
  return finding.cause.find(words) != std::string::npos ||
         std::any_of(finding.evidence.begin(), finding.evidence.end(), [words](const Evidence& evidence) {
           return evidence.text.find(words) != std::string::npos || evidence.source.find(words) != std::string::npos;
         });
}

}  // namespace gpuskew::testing
