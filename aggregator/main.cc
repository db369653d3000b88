// The composition root: command line -> configuration -> objects -> run until a signal.

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <asio/io_context.hpp>
#include <fmt/format.h>

#include "aggregator/api.h"
#include "aggregator/clock.h"
#include "aggregator/command_line.h"
#include "aggregator/commit_turn.h"
#include "aggregator/config_check.h"
#include "aggregator/fleet_recorder.h"
#include "aggregator/history_restore.h"
#include "aggregator/history_store.h"
#include "aggregator/housekeeping.h"
#include "aggregator/ingest.h"
#include "aggregator/matrix_file.h"
#include "aggregator/process_figures.h"
#include "aggregator/reload.h"
#include "runtime/http_server.h"
#include "runtime/listener.h"
#include "runtime/log.h"
#include "runtime/resolve.h"
#include "runtime/run.h"
#include "runtime/systemd.h"
#include "runtime/tls.h"

namespace gpuskew {

namespace {

constexpr int kExitFine = 0;
constexpr int kExitTrouble = 2;

int check(const CommandLine& line) {
  Result<Config> config = load_config(line);
  const std::vector<std::string> problems =
      config ? all_problems(*config) : std::vector<std::string>{config.error().what};
  for (const std::string& problem : problems) {
    fmt::print(stderr, "gpuskew-aggregator: {}\n", problem);
  }
  if (!problems.empty()) {
    return kExitTrouble;
  }
  for (const std::string& warning : warnings(*config)) {
    fmt::print(stderr, "gpuskew-aggregator: warning: {}\n", warning);
  }
  fmt::print("{}: OK\n", line.config_file.string());
  return kExitFine;
}

Result<std::optional<std::string>> token_of(const ApiConfig& api) {
  if (!api.token_file) {
    return std::optional<std::string>();
  }
  Result<std::string> token = load_token(*api.token_file);
  if (!token) {
    return fail("api.token_file", token.error());
  }
  return std::optional<std::string>(std::move(*token));
}

// Data flows: agents -> Ingest -> FleetRecorder -> Fleet and HistoryWriter -> HistoryStore; the API reads Fleet and
// HistoryStore; Housekeeping ticks the recorder.
Result<void> serve(const CommandLine& line, const Config& config, Log& log, const ServiceManager& manager) {
  const Time started = wall_clock_now();
  asio::io_context io(1);
  Run run(io, log, manager);

  Result<TlsContext> agents_tls = TlsContext::server(config.agents.tls);
  if (!agents_tls) {
    return fail("agents", agents_tls.error());
  }
  Result<std::optional<std::string>> token = token_of(config.api);
  if (!token) {
    return tl::unexpected(token.error());
  }
  Result<HistoryStore> store = HistoryStore::open(config.history.path);
  if (!store) {
    return tl::unexpected(store.error());
  }

  Fleet fleet(config.judge);
  HistoryWriter writer(*store, log);
  FleetRecorder recorder(fleet, writer, log);
  MatrixFile matrix(config.matrix_file);
  ApiAuth auth(std::move(*token));
  Housekeeping housekeeping(recorder, *store, writer, matrix, manager, log, config.history.retention);
  matrix.reload();
  Result<std::size_t> restored = restore_fleet(*store, fleet, log, started - config.history.retention, started);
  if (!restored) {
    return fail(fmt::format("history database {}", config.history.path.string()), restored.error());
  }
  log.info("history restored", {{"nodes", *restored}, {"database", config.history.path.string()}});
  housekeeping.use_matrix(started);
  housekeeping.pulse(started);

  CommitTurn commits(io, writer);
  Ingest ingest(log, *agents_tls, recorder, commits);
  ListenerOptions agents;
  agents.name = "agents";
  agents.endpoint = parse_listen_address(config.agents.listen).value();
  agents.max_connections = config.agents.max_connections;
  Result<std::unique_ptr<Listener>> listener = Listener::open(
      io, log, agents, [&ingest](asio::ip::tcp::socket socket) { return ingest.serve(std::move(socket)); });
  if (!listener) {
    return fail("agents.listen", listener.error());
  }

  const ApiSources sources{fleet, *store, writer, matrix, ingest.counts(), auth, config.file, [&listener, started] {
                             return ProcessFigures{resident_bytes(), started, (*listener)->counts().refused};
                           }};
  HttpServerOptions api;
  api.endpoint = parse_listen_address(config.api.listen).value();
  api.tls = config.api.tls;
  Result<std::unique_ptr<HttpServer>> server = HttpServer::start(
      io, log, api, [&sources](const HttpRequest& request) { return answer(request, sources, wall_clock_now()); });
  if (!server) {
    return fail("api.listen", server.error());
  }
  log.info("listening for agents", {{"address", to_string((*listener)->endpoint())}});
  log.info("listening for API requests",
           {{"address", to_string((*server)->endpoint())}, {"tls", config.api.tls.has_value()}});

  Reload reload(line, config, log, *agents_tls, **server, auth, recorder, matrix, housekeeping);
  run.on_reload([&reload] { reload.now(wall_clock_now()); });
  run.add("agents", (*listener)->run(), [&listener] { (*listener)->stop(); });
  run.add("API", (*server)->run(), [&server] { (*server)->stop(); });
  run.add("housekeeping", housekeeping.run());
  if (Result<void> told = manager.ready(housekeeping.status_line()); !told) {
    log.warning("systemd does not know that we are ready", {{"reason", told.error().what}});
  }
  Result<void> ended = run.until_stopped();
  writer.flush_all(fleet, wall_clock_now());
  if (ended && writer.health().error) {
    return fail(ErrorCode::Internal, "the last history could not be written: " + *writer.health().error);
  }
  return ended;
}

int start(const CommandLine& line) {
  Log log = Log::from_environment();
  Result<Config> config = load_config(line);
  if (!config) {
    log.error("can not start", {{"reason", config.error().what}});
    return kExitTrouble;
  }
  log.set_level(config->log_level);
  const std::vector<std::string> problems = rule_problems(*config);
  for (const std::string& problem : problems) {
    log.error("can not start", {{"reason", problem}});
  }
  if (!problems.empty()) {
    return kExitTrouble;
  }
  for (const std::string& warning : warnings(*config)) {
    log.warning(warning);
  }
  Result<ServiceManager> manager = ServiceManager::from_environment();
  if (!manager) {
    log.error("can not start", {{"reason", manager.error().what}});
    return kExitTrouble;
  }
  const Result<void> served = serve(line, *config, log, *manager);
  if (!served) {
    log.error("stopped", {{"reason", served.error().what}});
    return kExitTrouble;
  }
  log.info("stopped");
  return kExitFine;
}

}  // namespace

}  // namespace gpuskew

int main(int argc, char** argv) {
  const auto parsed = gpuskew::parse_command_line(argc, argv);
  if (const auto* end = std::get_if<gpuskew::CommandLineEnd>(&parsed)) {
    std::fputs(end->text.c_str(), end->code == 0 ? stdout : stderr);
    return end->code;
  }
  const auto& line = std::get<gpuskew::CommandLine>(parsed);
  return line.check_config ? gpuskew::check(line) : gpuskew::start(line);
}
