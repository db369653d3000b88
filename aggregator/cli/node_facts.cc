// The composite facts of a snapshot (module file, libraries, driver container, GPUs) as the text a person reads.

#include "aggregator/cli/node_facts.h"

#include <string_view>

#include <nlohmann/json.hpp>

#include "aggregator/cli/reply_reader.h"

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;
using FirstError = std::optional<Error>;

/// The value of the fact `key` when it is known.
const Json* known_value(ReplyReader& snapshot, std::string_view key) {
  const Json* fact = snapshot.find(key);
  if (fact == nullptr || !fact->is_object() || !fact->contains("value")) {
    return nullptr;
  }
  return &fact->at("value");
}

std::string module_file_text(const Json& value, FirstError& error) {
  ReplyReader reader(value, "snapshot.module_file.value", error);
  const std::string path = reader.text("path");
  const Fact<std::string> version = reader.fact("version");
  if (version.is_known()) {
    return version.value() + " at " + path;
  }
  return path + (version.is_absent() ? ", without a version" : ", version unknown, because " + version.why().what);
}

std::string libraries_text(const Json& value, FirstError& error) {
  std::string text;
  for (const Json& item : value) {
    ReplyReader reader(item, "snapshot.libraries.value", error);
    const std::string name = reader.text("name");
    const std::string version = reader.text("version");
    text += text.empty() ? "" : ", ";
    text += name;
    text += ' ';
    text += version;
    if (reader.text("root") == "container") {
      text += " (driver container)";
    }
  }
  return text;
}

std::string container_text(const Json& value, FirstError& error) {
  ReplyReader reader(value, "snapshot.driver_container.value", error);
  const std::string root = reader.text("root");
  return reader.boolean("mounted") ? "mounted at " + root : "at work, nothing mounted at " + root + " yet";
}

std::vector<GpuReply> read_gpus(const Json& value, FirstError& error) {
  std::vector<GpuReply> gpus;
  for (const Json& item : value) {
    ReplyReader reader(item, "snapshot.gpus.value", error);
    gpus.push_back(GpuReply{reader.text("address"), reader.fact("driver")});
  }
  return gpus;
}

using TextOf = std::string (*)(const Json&, FirstError&);

/// The fact with its known value told by `text_of`.
Fact<std::string> told_by(ReplyReader& snapshot, std::string_view key, FirstError& error, TextOf text_of) {
  Fact<std::string> fact = snapshot.fact(key);
  const Json* value = known_value(snapshot, key);
  if (!fact.is_known() || value == nullptr) {
    return fact;
  }
  return Fact<std::string>::known(text_of(*value, error), fact.source());
}

}  // namespace

NodeFacts read_node_facts(const Json& snapshot, FirstError& error) {
  ReplyReader reader(snapshot, "snapshot", error);
  NodeFacts facts;
  facts.agent_version = reader.text("agent_version");
  facts.boot_id = reader.fact("boot_id");
  facts.boot_time = reader.fact("boot_time");
  facts.kernel = reader.fact("kernel");
  facts.architecture = reader.fact("architecture");
  facts.os = reader.fact("os");
  facts.driver = reader.fact("loaded_driver");
  facts.flavour = reader.fact("loaded_flavour");
  facts.l4t_release = reader.fact("l4t_release");
  facts.module_file = told_by(reader, "module_file", error, module_file_text);
  facts.libraries = told_by(reader, "libraries", error, libraries_text);
  facts.driver_container = told_by(reader, "driver_container", error, container_text);
  facts.gpu_count = reader.fact("gpus");
  if (const Json* gpus = known_value(reader, "gpus")) {
    facts.gpus = read_gpus(*gpus, error);
  }
  return facts;
}

}  // namespace gpuskew
