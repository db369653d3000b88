#include "aggregator/reload.h"

#include <string>
#include <utility>
#include <vector>

#include "aggregator/config_check.h"
#include "runtime/http_server.h"
#include "runtime/log.h"
#include "runtime/tls.h"

namespace gpuskew {

Reload::Reload(const AggregatorCommandLine& line, Config started, Log& log, TlsContext& agents_tls, HttpServer& api,
               ApiAuth& auth, FleetRecorder& recorder, MatrixFile& matrix, Housekeeping& housekeeping)
    : line_(line),
      started_(std::move(started)),
      log_(log),
      agents_tls_(agents_tls),
      api_(api),
      auth_(auth),
      recorder_(recorder),
      matrix_(matrix),
      housekeeping_(housekeeping) {}

void Reload::now(Time time) {
  Result<Config> next = load_config(line_);
  if (!next) {
    log_.error("configuration can not be reloaded, the old one stays", {{"reason", next.error().what}});
    return;
  }
  const std::vector<std::string> problems = rule_problems(effective(*next));
  for (const std::string& problem : problems) {
    log_.error("configuration can not be reloaded, the old one stays",
               {{"reason", line_.config_file.string() + ": " + problem}});
  }
  if (!problems.empty()) {
    return;
  }
  say_what_stays(*next);
  log_.set_level(next->log_level);
  load_certificates(*next);
  load_api_token(*next);
  housekeeping_.set_retention(next->history.retention);
  matrix_.set_path(next->matrix_file);
  matrix_.reload();
  if (next->judge != recorder_.fleet().policy()) {
    recorder_.set_rules(next->judge, matrix_.matrix(), time);
  }
  housekeeping_.use_matrix(time);
  log_.info("configuration reloaded", {{"file", next->file.string()}});
}

// The API must not lose its token while it still listens where the old configuration said.
Config Reload::effective(Config next) const {
  next.agents.listen = started_.agents.listen;
  next.api.listen = started_.api.listen;
  if (next.api.tls.has_value() != started_.api.tls.has_value()) {
    next.api.tls = started_.api.tls;
  }
  return next;
}

void Reload::say_what_stays(const Config& next) const {
  std::vector<std::string> keys;
  if (next.agents.listen != started_.agents.listen) {
    keys.emplace_back("agents.listen");
  }
  if (next.agents.max_connections != started_.agents.max_connections) {
    keys.emplace_back("agents.max_connections");
  }
  if (next.api.listen != started_.api.listen) {
    keys.emplace_back("api.listen");
  }
  if (next.api.tls.has_value() != started_.api.tls.has_value()) {
    keys.emplace_back("api.certificate");
  }
  if (next.history.path != started_.history.path) {
    keys.emplace_back("history.path");
  }
  if (next.kubernetes != started_.kubernetes) {
    keys.emplace_back("kubernetes");
  }
  for (const std::string& key : keys) {
    log_.warning("a changed value needs a restart, ignoring it until then", {{"key", key}});
  }
}

void Reload::load_certificates(const Config& next) {
  if (Result<void> agents = agents_tls_.reload(next.agents.tls); !agents) {
    log_.error("agents' certificates can not be reloaded, the old ones stay", {{"reason", agents.error().what}});
  }
  if (next.api.tls && started_.api.tls) {
    if (Result<void> api = api_.reload_tls(*next.api.tls); !api) {
      log_.error("API certificates can not be reloaded, the old ones stay", {{"reason", api.error().what}});
    }
  }
}

void Reload::load_api_token(const Config& next) {
  if (!next.api.token_file) {
    auth_.set_token(std::nullopt);
    return;
  }
  Result<std::string> token = load_token(*next.api.token_file);
  if (token) {
    auth_.set_token(std::move(*token));
  } else {
    log_.error("API token can not be reloaded, the old one stays", {{"reason", token.error().what}});
  }
}

}  // namespace gpuskew
