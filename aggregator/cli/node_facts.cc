// The composite facts of a snapshot (module file, libraries, GPUs, runtime, ...) as the text a person reads.

#include "aggregator/cli/node_facts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "aggregator/cli/reply_reader.h"
#include "aggregator/cli/screen_text.h"

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

std::string next_kernel_text(const Json& value, FirstError& error) {
  ReplyReader reader(value, "snapshot.next_kernel.value", error);
  const std::string release = reader.text("release");
  const std::string rule = reader.text("rule");
  return rule.empty() ? release : release + ", by " + rule;
}

/// "6 deb, 1 dkms"
std::string installs_text(const Json& value, FirstError& error) {
  std::vector<std::pair<std::string, int>> kinds;
  for (const Json& item : value) {
    const std::string kind = ReplyReader(item, "snapshot.installs.value", error).text("kind");
    auto found = std::find_if(kinds.begin(), kinds.end(), [&kind](const auto& one) { return one.first == kind; });
    if (found == kinds.end()) {
      found = kinds.insert(found, {kind, 0});
    }
    ++found->second;
  }
  std::string text;
  for (const auto& [kind, count] : kinds) {
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + kind;
  }
  return text.empty() ? "no trace of an installer" : text;
}

std::string runtime_text(const Json& value, FirstError& error) {
  ReplyReader reader(value, "snapshot.runtime.value", error);
  std::string text = reader.text("kind") + " ";
  const Fact<std::string> version = reader.fact("version");
  text += version.is_known() ? version.value() : version.is_absent() ? "without a daemon" : "of an unknown version";
  std::string handlers;
  for (const Json& item : reader.array("handlers")) {
    handlers += handlers.empty() ? ", nvidia handlers: " : ", ";
    handlers += ReplyReader(item, "snapshot.runtime.value.handlers", error).text("name");
  }
  return text + (handlers.empty() ? ", no nvidia handler" : handlers);
}

std::string kubelet_text(const Json& value, FirstError& error) {
  ReplyReader reader(value, "snapshot.kubelet.value", error);
  std::string text;
  for (const Json& item : reader.array("registered")) {
    ReplyReader resource(item, "snapshot.kubelet.value.registered", error);
    text += text.empty() ? "" : ", ";
    text += std::to_string(resource.number("devices"));
    text += " " + resource.text("name");
  }
  return text.empty() ? "no NVIDIA resource registered" : text + " registered";
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

/// The same of a fact that an older aggregator does not have.
Fact<std::string> newer_told_by(ReplyReader& snapshot, std::string_view key, FirstError& error, TextOf text_of) {
  if (snapshot.find(key) == nullptr) {
    return Fact<std::string>::unknown(Error{ErrorCode::Unsupported, "the aggregator is older than this fact"}, "");
  }
  return told_by(snapshot, key, error, text_of);
}

/// Facts that `explain` has a line for, known or not.
constexpr std::array<std::string_view, 13> kShown = {
    "boot_id",          "boot_time", "kernel",      "os",       "loaded_driver", "module_file", "libraries",
    "driver_container", "gpus",      "next_kernel", "installs", "runtime",       "kubelet"};

void read_unknown(const Json& snapshot, NodeFacts& facts) {
  for (const auto& [key, member] : snapshot.items()) {
    const auto fact = fact_from_json(member);
    if (!fact || !fact->is_unknown()) {
      continue;
    }
    const auto code = member.find("code");
    if (fact->source().empty() && code != member.end() && *code == to_string(ErrorCode::Unsupported)) {
      facts.not_reported.push_back(printable(key));
    } else if (std::find(kShown.begin(), kShown.end(), key) == kShown.end()) {
      facts.unread.emplace_back(printable(key), fact->why().what);
    }
  }
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
  facts.next_kernel = newer_told_by(reader, "next_kernel", error, next_kernel_text);
  facts.installs = newer_told_by(reader, "installs", error, installs_text);
  facts.runtime = newer_told_by(reader, "runtime", error, runtime_text);
  facts.kubelet = newer_told_by(reader, "kubelet", error, kubelet_text);
  read_unknown(snapshot, facts);
  return facts;
}

}  // namespace gpuskew
