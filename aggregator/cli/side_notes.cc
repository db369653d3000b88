#include "aggregator/cli/side_notes.h"

namespace gpuskew {

std::string unknown_lines(const std::vector<AuditRow>& rows) {
  std::string lines;
  for (const AuditRow& row : rows) {
    if (row.verdict != "ok" && row.verdict != "missing") {
      lines += row.node + " UNKNOWN " + row.why + "\n";
    }
  }
  return lines;
}

std::string tag_note_lines(const std::vector<AuditRow>& rows) {
  std::string lines;
  for (const AuditRow& row : rows) {
    for (const std::string& note : row.notes) {
      lines += "note: " + row.node + ": " + note + "\n";
    }
  }
  return lines;
}

std::string contradiction_lines(const std::vector<AuditRow>& rows) {
  std::string lines;
  std::size_t nodes = 0;
  for (const AuditRow& row : rows) {
    if (!row.cluster || row.cluster->notes.empty() || ++nodes > kShownContradictions) {
      continue;
    }
    for (const std::string& note : row.cluster->notes) {
      lines += "note: " + row.node + ": " + note + "\n";
    }
  }
  if (nodes > kShownContradictions) {
    const std::size_t more = nodes - kShownContradictions;
    lines += "note: " + std::to_string(more) + (more == 1 ? " more node is" : " more nodes are") +
             " at odds with their own labels; gpuskew nodes -o wide has them\n";
  }
  return lines;
}

}  // namespace gpuskew
