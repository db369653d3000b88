// The composition root: command line -> configuration -> objects -> run until a signal.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <asio/io_context.hpp>
#include <fmt/format.h>

#include "aggregator/api.h"
#include "aggregator/command_line.h"
#include "aggregator/commit_turn.h"
#include "aggregator/config_check.h"
#include "aggregator/fleet_recorder.h"
#include "aggregator/history_restore.h"
#include "aggregator/history_store.h"
#include "aggregator/housekeeping.h"
#include "aggregator/ingest.h"
#include "aggregator/kube/membership.h"
#include "aggregator/matrix_file.h"
#include "aggregator/process_figures.h"
#include "aggregator/reload.h"
#include "proto/wire_log.h"
#include "runtime/clock.h"
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

int check(const AggregatorCommandLine& line) {
  Result<Config> config = load_config(line);
  if (!config) {
    fmt::print(stderr, "gpuskew-aggregator: {}\n", config.error().what);
    return kExitTrouble;
  }
  const std::vector<std::string> problems = all_problems(*config);
  for (const std::string& problem : problems) {
    fmt::print(stderr, "gpuskew-aggregator: {}: {}\n", line.config_file.string(), problem);
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

// What stands before anybody connects and goes after everybody left. Data flows: agents -> Ingest -> FleetRecorder ->
// Fleet and HistoryWriter -> HistoryStore; the API reads Fleet and HistoryStore; Housekeeping ticks the recorder.
struct Parts {
  Parts(const Config& config, HistoryStore opened, std::optional<std::string> token, const ServiceManager& manager,
        const Log& log)
      : store(std::move(opened)),
        fleet(config.judge),
        writer(store, log),
        recorder(fleet, writer, log),
        matrix(config.matrix_file),
        auth(std::move(token)),
        housekeeping(recorder, store, writer, matrix, manager, log, config.history.retention) {}

  HistoryStore store;
  Fleet fleet;
  HistoryWriter writer;
  FleetRecorder recorder;
  MatrixFile matrix;
  ApiAuth auth;
  Housekeeping housekeeping;
};

// The fleet as it was stored, judged by the rules as they are now.
Result<void> restore(Parts& parts, const Config& config, const Log& log, Time now) {
  Result<std::size_t> restored = restore_fleet(parts.store, parts.fleet, log, now - config.history.retention, now);
  if (!restored) {
    return fail(fmt::format("history database {}", config.history.path.string()), restored.error());
  }
  log.info("history restored", {{"nodes", *restored}, {"database", config.history.path.string()}});
  parts.matrix.reload();
  parts.housekeeping.use_matrix(now);
  parts.housekeeping.pulse(now);
  return {};
}

// nullptr without a cluster.
Result<std::unique_ptr<ClusterMembership>> join_cluster(asio::io_context& io, const KubernetesConfig& config,
                                                        FleetRecorder& recorder, const Log& log) {
  if (!config.enabled) {
    return std::unique_ptr<ClusterMembership>();
  }
  return ClusterMembership::join(io.get_executor(), config, recorder, log);
}

std::function<std::optional<ClusterView>()> cluster_view(const ClusterMembership* cluster) {
  return [cluster]() -> std::optional<ClusterView> {
    return cluster == nullptr ? std::nullopt : std::optional(ClusterView{cluster->nodes(), cluster->figures()});
  };
}

// Where silence is allowed to last, so are connections without a word: agents' heartbeats are then rarer, too.
IngestLimits limits_for(const JudgePolicy& judge) {
  IngestLimits limits;
  limits.idle = std::max(limits.idle, judge.silent_after);
  return limits;
}

Result<std::unique_ptr<Listener>> listen_for_agents(asio::io_context& io, const Log& log, const AgentsConfig& config,
                                                    Ingest& ingest) {
  ListenerOptions options;
  options.name = "agents";
  options.endpoint = parse_listen_address(config.listen).value();
  options.max_connections = config.max_connections;
  auto listener = Listener::open(io, log, options,
                                 [&ingest](asio::ip::tcp::socket socket) { return ingest.serve(std::move(socket)); });
  if (listener) {
    log.info("listening for agents", {{"address", to_string((*listener)->endpoint())}});
  }
  return listener;
}

Result<std::unique_ptr<HttpServer>> listen_for_requests(asio::io_context& io, const Log& log, const ApiConfig& config,
                                                        const ApiSources& sources, HttpGuard guard) {
  HttpServerOptions options;
  options.guard = std::move(guard);
  options.endpoint = parse_listen_address(config.listen).value();
  options.tls = config.tls;
  auto server = HttpServer::start(
      io, log, options, [&sources](const HttpRequest& request) { return answer(request, sources, wall_clock_now()); });
  if (server) {
    log.info("listening for API requests",
             {{"address", to_string((*server)->endpoint())}, {"tls", config.tls.has_value()}});
  }
  return server;
}

Result<void> serve(const AggregatorCommandLine& line, const Config& config, Log& log, const ServiceManager& manager) {
  const Time started = wall_clock_now();
  asio::io_context io(1);
  Run run(io, log, manager);
  Result<TlsContext> tls = TlsContext::server(config.agents.tls, config.kubernetes.enabled);
  if (!tls) {
    return fail("agents", tls.error());
  }
  Result<std::optional<std::string>> token = token_of(config.api);
  if (!token) {
    return tl::unexpected(token.error());
  }
  Result<HistoryStore> store = HistoryStore::open(config.history.path);
  if (!store) {
    return tl::unexpected(store.error());
  }
  Parts parts(config, std::move(*store), std::move(*token), manager, log);
  if (Result<void> restored = restore(parts, config, log, started); !restored) {
    return restored;
  }
  CommitTurn commits(io, parts.writer);
  Ingest ingest(log, *tls, parts.recorder, commits, limits_for(config.judge));
  Result<std::unique_ptr<ClusterMembership>> cluster = join_cluster(io, config.kubernetes, parts.recorder, log);
  if (!cluster) {
    return fail("kubernetes", cluster.error());
  }
  if (*cluster != nullptr) {
    ingest.accept_tokens(
        [&identity = (*cluster)->identity()](std::string shown) { return identity.node_of(std::move(shown)); });
  }
  Result<std::unique_ptr<Listener>> listener = listen_for_agents(io, log, config.agents, ingest);
  if (!listener) {
    return fail("agents.listen", listener.error());
  }
  const auto figures = [&listener, started] {
    return ProcessFigures{resident_bytes(), started, (*listener)->counts().refused};
  };
  const ApiSources sources{parts.fleet,  parts.store,     parts.writer,
                           parts.matrix, ingest.counts(), parts.auth,
                           config.file,  figures,         cluster_view(cluster->get())};
  HttpGuard guard;
  if (*cluster != nullptr && config.kubernetes.api_tokens) {
    guard = [&identity = (*cluster)->identity()](HttpRequest request) { return identity.refuse(std::move(request)); };
  }
  Result<std::unique_ptr<HttpServer>> server = listen_for_requests(io, log, config.api, sources, std::move(guard));
  if (!server) {
    return fail("api.listen", server.error());
  }
  Reload reload(line, config, log, *tls, **server, parts.auth, parts.recorder, parts.matrix, parts.housekeeping);
  run.on_reload([&reload] { reload.now(wall_clock_now()); });
  run.add("agents", (*listener)->run(), [&listener] { (*listener)->stop(); });
  run.add("API", (*server)->run(), [&server] { (*server)->stop(); });
  run.add("housekeeping", parts.housekeeping.run());
  if (*cluster != nullptr) {
    (*cluster)->run_in(run);
  }
  if (Result<void> told = manager.ready(parts.housekeeping.status_line()); !told) {
    log.warning("systemd does not know that we are ready", {{"reason", told.error().what}});
  }
  Result<void> ended = run.until_stopped();
  parts.writer.flush_all(parts.fleet, wall_clock_now());
  if (ended && parts.writer.health().error) {
    return fail(ErrorCode::Internal, "the last history could not be written: " + *parts.writer.health().error);
  }
  return ended;
}

int start(const AggregatorCommandLine& line) {
  Log log = Log::from_environment();
  Result<Config> config = load_config(line);
  if (!config) {
    log.error("can not start", {{"reason", config.error().what}});
    return kExitTrouble;
  }
  log.set_level(config->log_level);
  const std::vector<std::string> problems = rule_problems(*config);
  for (const std::string& problem : problems) {
    log.error("can not start", {{"reason", line.config_file.string() + ": " + problem}});
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
  gpuskew::silence_wire_log();
  const auto parsed = gpuskew::parse_aggregator_command_line(argc, argv);
  if (const auto* end = std::get_if<gpuskew::CommandLineEnd>(&parsed)) {
    std::fputs(end->text.c_str(), end->code == 0 ? stdout : stderr);
    return end->code;
  }
  const auto& line = std::get<gpuskew::AggregatorCommandLine>(parsed);
  return line.check_config ? gpuskew::check(line) : gpuskew::start(line);
}
