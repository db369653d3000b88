#include "tests/unit/cli/golden.h"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace gpuskew {

Time golden_now() {
  return from_unix_ms(1'796'054'737'000);
}

std::string golden_text(const std::string& name) {
  std::ifstream file(std::string(GPUSKEW_CLI_GOLDEN) + "/" + name, std::ios::binary);
  if (!file) {
    throw std::runtime_error("golden/" + name + " can not be read");
  }
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

nlohmann::ordered_json golden_json(const std::string& name) {
  return nlohmann::ordered_json::parse(golden_text(name));
}

void play_aggregator(HttpImposter& imposter) {
  imposter.answer("/api/v1/status", golden_text("status.json"));
  imposter.answer("/api/v1/findings", golden_text("findings.json"));
  imposter.answer("/api/v1/nodes", golden_text("nodes.json"));
  imposter.answer("/api/v1/audit", golden_text("audit.json"));
  for (const char* node : {"a100-07", "cpu-01", "t4-03"}) {
    imposter.answer(std::string("/api/v1/audit?node=") + node, golden_text("audit.json"));
  }
  imposter.answer("/api/v1/nodes/a100-07", golden_text("node-gone.json"));
  imposter.answer("/api/v1/nodes/cpu-01", golden_text("node-no-gpu.json"));
  imposter.answer("/api/v1/nodes/t4-03", golden_text("node-unknown.json"));
  imposter.answer("/api/v1/nodes/n9", 404, R"({"error":"no node n9 has reported"})");
  imposter.answer("/api/v1/history/a100-07?limit=200", golden_text("history.json"));
}

}  // namespace gpuskew
