#include "aggregator/cli/reply.h"

#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "aggregator/cli/node_facts.h"
#include "aggregator/cli/reply_reader.h"
#include "aggregator/cli/screen_text.h"

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;
using FirstError = std::optional<Error>;

std::string item_name(std::string_view list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

/// Every item of the list `key` as `read` reads it.
template <class Read>
auto read_list(ReplyReader& from, std::string_view key, FirstError& error, Read read) {
  std::vector<decltype(read(from))> all;
  const Json& list = from.array(key);
  all.reserve(list.size());
  for (std::size_t i = 0; i < list.size() && !error; ++i) {
    ReplyReader item(list[i], item_name(from.name_of(key), i), error);
    all.push_back(read(item));
  }
  return all;
}

template <class T>
Result<T> value_or(T value, const FirstError& error) {
  if (error) {
    return fail(error->code, error->what);
  }
  return value;
}

Counts read_counts(ReplyReader& from, std::string_view key, FirstError& error) {
  Counts counts;
  const Json& object = from.object(key);
  ReplyReader reader(object, std::string(key), error);
  for (const auto& [word, unused] : object.items()) {
    counts.emplace_back(printable(word), reader.number(word));
  }
  return counts;
}

MatrixReply read_matrix(ReplyReader& from, FirstError& error) {
  ReplyReader reader(from.object("matrix"), "matrix", error);
  MatrixReply matrix;
  matrix.configured = reader.boolean("configured");
  if (matrix.configured) {
    matrix.rows = reader.number("rows");
    matrix.source = reader.text_or_null("source").value_or("");
  }
  matrix.error = reader.text_or_null("error");
  return matrix;
}

Evidence read_evidence(ReplyReader& reader) {
  return Evidence{reader.text("text"), reader.text("source"), reader.time("at")};
}

FindingReply read_finding(ReplyReader& reader, FirstError& error) {
  FindingReply finding;
  finding.code = reader.text("code");
  finding.severity = reader.text("severity");
  finding.node = reader.text("node");
  finding.since = reader.time("since");
  finding.cause = reader.text("cause");
  finding.evidence = read_list(reader, "evidence", error, read_evidence);
  finding.reboot_helps = reader.text("reboot_helps");
  finding.reboot_why = reader.text("reboot_why");
  finding.next_step = reader.text("next_step");
  finding.affected_gpus = reader.texts("affected_gpus");
  finding.consequences = reader.texts("consequences");
  return finding;
}

std::vector<FindingReply> read_findings(ReplyReader& from, FirstError& error) {
  return read_list(from, "findings", error, [&error](ReplyReader& item) { return read_finding(item, error); });
}

/// An aggregator that is older than the forecast has none.
std::optional<NextBootReply> read_next_boot(ReplyReader& from, FirstError& error) {
  const Json* found = from.find("next_boot");
  if (found == nullptr) {
    return std::nullopt;
  }
  ReplyReader reader(*found, from.name_of("next_boot"), error);
  return NextBootReply{reader.text("outcome"), reader.text("why"), reader.text_or_null("kernel")};
}

std::string resource_text(const std::string& name, ReplyReader& counts) {
  const auto count = [&counts](std::string_view part) {
    return counts.find(part) == nullptr ? std::string("unknown") : std::to_string(counts.number(part));
  };
  return name + " " + count("allocatable") + " of " + count("capacity");
}

/// Only where a Kubernetes API was asked.
std::optional<ClusterReply> read_cluster(ReplyReader& from, FirstError& error) {
  const Json* found = from.find("cluster");
  if (found == nullptr) {
    return std::nullopt;
  }
  ReplyReader reader(*found, from.name_of("cluster"), error);
  ClusterReply cluster;
  cluster.ready = reader.text("ready");
  cluster.unschedulable = reader.boolean("unschedulable");
  cluster.upgrade_state = reader.text("upgrade_state");
  for (const auto& [name, counts] : reader.object("gpu_resources").items()) {
    ReplyReader counts_reader(counts, reader.name_of("gpu_resources"), error);
    cluster.gpu_resources.push_back(resource_text(printable(name), counts_reader));
  }
  cluster.notes = reader.texts("notes");
  return cluster;
}

std::optional<ClusterCounts> read_cluster_counts(ReplyReader& from, FirstError& error) {
  const Json* found = from.find("cluster");
  if (found == nullptr) {
    return std::nullopt;
  }
  ReplyReader reader(*found, "cluster", error);
  return ClusterCounts{reader.number("ready"), reader.number("not_ready"), reader.number("unschedulable"),
                       reader.number("gpu_nodes"), reader.number("contradictory")};
}

NodeRow read_node_row(ReplyReader& reader, FirstError& error) {
  NodeRow row;
  row.name = reader.text("name");
  row.state = reader.text("state");
  row.why = reader.text("why");
  row.kernel = reader.fact("kernel");
  row.os = reader.fact("os");
  row.driver = reader.fact("driver");
  row.gpus = reader.fact("gpus");
  row.boot_id = reader.fact("boot_id");
  row.tag = reader.text_or_null("tag");
  row.tag_error = reader.text_or_null("tag_error");
  row.next_boot = read_next_boot(reader, error);
  row.last_heard = reader.time_or_null("last_heard");
  row.findings = reader.texts("findings");
  row.cluster = read_cluster(reader, error);
  return row;
}

LastGoodReply read_last_good(ReplyReader& reader) {
  LastGoodReply good;
  good.at = reader.time("at");
  good.boot_id = reader.text_or_null("boot_id").value_or("");
  good.kernel = reader.text("kernel");
  good.driver = reader.text("driver");
  if (reader.find("gpu_count") != nullptr) {
    good.gpu_count = reader.number("gpu_count");
  }
  good.from_container = reader.boolean("from_container");
  return good;
}

template <class Row>
Row read_image_row(ReplyReader& reader, FirstError& error) {
  Row row;
  row.node = reader.text("name");
  row.verdict = reader.text("verdict");
  row.tag = reader.text_or_null("tag");
  row.why = reader.text_or_null("why").value_or("");
  row.notes = reader.texts("notes");
  row.cluster = read_cluster(reader, error);
  return row;
}

TransitionReply read_transition(ReplyReader& reader) {
  return TransitionReply{reader.time("at"), reader.text("kind"), reader.text("from"), reader.text("to"),
                         reader.text("detail")};
}

}  // namespace

std::uint64_t count_of(const Counts& counts, std::string_view word) {
  const auto found = std::find_if(counts.begin(), counts.end(), [word](const auto& one) { return one.first == word; });
  return found == counts.end() ? 0 : found->second;
}

std::uint64_t StatusReply::findings() const {
  std::uint64_t sum = 0;
  for (const auto& [severity, count] : by_severity) {
    sum += count;
  }
  return sum;
}

Result<StatusReply> status_reply(const Json& json) {
  FirstError error;
  ReplyReader reader(json, "", error);
  StatusReply status;
  status.version = reader.text("version");
  status.now = reader.time("now");
  status.by_state = read_counts(reader, "nodes", error);
  ReplyReader nodes(reader.object("nodes"), "nodes", error);
  status.total = nodes.number("total");
  std::erase_if(status.by_state, [](const auto& one) { return one.first == "total"; });
  status.by_severity = read_counts(reader, "findings", error);
  status.matrix = read_matrix(reader, error);
  if (const Json* history = reader.find("history")) {
    status.history_error = ReplyReader(*history, "history", error).text_or_null("error");
  }
  status.cluster = read_cluster_counts(reader, error);
  return value_or(std::move(status), error);
}

Result<std::vector<NodeRow>> nodes_reply(const Json& json) {
  FirstError error;
  ReplyReader reader(json, "", error);
  const auto read_row = [&error](ReplyReader& item) { return read_node_row(item, error); };
  return value_or(read_list(reader, "nodes", error, read_row), error);
}

Result<NodeReply> node_reply(const Json& json) {
  FirstError error;
  ReplyReader reader(json, "", error);
  NodeReply node;
  node.name = reader.text("name");
  node.state = reader.text("state");
  node.why = reader.text("why");
  node.last_heard = reader.time_or_null("last_heard");
  node.facts = read_node_facts(reader.object("snapshot"), error);
  if (const Json* good = reader.find("last_good")) {
    ReplyReader good_reader(*good, "last_good", error);
    node.last_good = read_last_good(good_reader);
  }
  if (const Json* tag = reader.find("tag")) {
    ReplyReader tag_reader(*tag, "tag", error);
    node.tag = TagReply{tag_reader.text("text"), tag_reader.texts("notes")};
  }
  node.tag_error = reader.text_or_null("tag_error");
  node.findings = read_findings(reader, error);
  node.next_boot = read_next_boot(reader, error);
  node.cluster = read_cluster(reader, error);
  return value_or(std::move(node), error);
}

Result<std::vector<FindingReply>> findings_reply(const Json& json) {
  FirstError error;
  ReplyReader reader(json, "", error);
  return value_or(read_findings(reader, error), error);
}

Result<AuditReply> audit_reply(const Json& json) {
  FirstError error;
  ReplyReader reader(json, "", error);
  AuditReply audit;
  audit.result = reader.text("result");
  audit.matrix = read_matrix(reader, error);
  audit.nodes =
      read_list(reader, "nodes", error, [&error](ReplyReader& item) { return read_image_row<AuditRow>(item, error); });
  audit.notes = reader.texts("notes");
  return value_or(std::move(audit), error);
}

Result<ForecastReply> forecast_reply(const Json& json) {
  FirstError error;
  ReplyReader reader(json, "", error);
  ForecastReply forecast;
  forecast.result = reader.text("result");
  forecast.matrix = read_matrix(reader, error);
  forecast.nodes = read_list(reader, "nodes", error, [&error](ReplyReader& item) {
    auto row = read_image_row<ForecastRow>(item, error);
    row.kernel = item.text_or_null("kernel");
    return row;
  });
  return value_or(std::move(forecast), error);
}

Result<std::vector<TransitionReply>> history_reply(const Json& json) {
  FirstError error;
  ReplyReader reader(json, "", error);
  return value_or(read_list(reader, "transitions", error, read_transition), error);
}

}  // namespace gpuskew
