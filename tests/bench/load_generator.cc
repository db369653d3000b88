// gpuskew-loadgen: a fleet's worth of agents on one thread, against a real aggregator. Every phase ends by itself.

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <fmt/format.h>

#include "runtime/resolve.h"
#include "runtime/tls.h"
#include "tests/bench/bench_node.h"
#include "tests/bench/load_phase.h"
#include "tests/support/certificates.h"

namespace gpuskew {
namespace {

constexpr std::size_t kMaxAgents = 60'000;
constexpr std::size_t kMaxParallel = 10'000;
constexpr int kMaxPhaseSeconds = 600;
/// Descriptors beside the agents' sockets.
constexpr std::size_t kOwnDescriptors = 64;

struct Options {
  std::size_t agents = 1000;
  std::filesystem::path directory;
  std::string address;
  std::string server_name = "localhost";
  std::vector<std::string> phases{"connect", "idle"};
  int seconds = 10;
  int storm_seconds = 120;
  std::size_t parallel = 128;
};

void make_certificates(const Options& options) {
  std::filesystem::create_directories(options.directory);
  const CertificateAuthority authority(options.directory, "bench");
  CertificateSpec server;
  server.common_name = "gpuskew-aggregator";
  server.dns_names = {"localhost"};
  server.ip_addresses = {"127.0.0.1"};
  authority.issue("server", server);
  for (std::size_t index = 0; index < options.agents; ++index) {
    CertificateSpec agent;
    agent.common_name = "gpuskew-agent";
    agent.dns_names = {bench_node_name(index)};
    authority.issue(bench_node_name(index), agent);
  }
  fmt::print("{}\n", authority.ca_file().string());
}

/// As many descriptors as the machine lets us have; an error when the agents do not fit.
Result<void> make_room(std::size_t agents) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (agents + kOwnDescriptors > limit.rlim_cur) {
    return fail(ErrorCode::TooLarge, fmt::format("{} agents need {} open files, the hard limit is {}", agents,
                                                 agents + kOwnDescriptors, limit.rlim_max));
  }
  return {};
}

asio::awaitable<std::size_t> run_phase(Crowd& crowd, std::string name, std::chrono::seconds span,
                                       std::chrono::seconds storm_span) {
  if (name == "connect") {
    co_return co_await crowd.connect();
  }
  if (name == "idle") {
    co_return co_await crowd.idle(span);
  }
  if (name == "heartbeats") {
    co_return co_await crowd.heartbeats(span);
  }
  if (name == "unchanged") {
    co_return co_await crowd.reports(Report::Same, span);
  }
  if (name == "snapshots") {
    co_return co_await crowd.reports(Report::Changed, span);
  }
  co_return co_await crowd.reconnect_storm(storm_span);
}

asio::awaitable<void> run_phases(const Options& options, Crowd& crowd, std::size_t& failures) {
  std::size_t peak = 0;
  for (const std::string& phase : options.phases) {
    fmt::print("{} begins\n", phase);
    std::fflush(stdout);
    const std::chrono::seconds span(options.seconds);
    const std::chrono::seconds storm_span(options.storm_seconds);
    const std::size_t failed = co_await run_phase(crowd, phase, span, storm_span);
    failures += failed;
    peak = std::max(peak, crowd.connected());
    fmt::print("{} ends: {} connected, {} at the peak\n", phase, crowd.connected(), peak);
    std::fflush(stdout);
  }
}

Result<std::size_t> put_load(const Options& options) {
  if (Result<void> fits = make_room(options.agents); !fits) {
    return tl::unexpected(fits.error());
  }
  Result<asio::ip::tcp::endpoint> endpoint = parse_listen_address(options.address);
  if (!endpoint) {
    return fail("--address", endpoint.error());
  }
  TlsFiles files;
  files.ca = options.directory / "bench.ca.pem";
  Result<TlsContext> tls = TlsContext::client(files);
  if (!tls) {
    return tl::unexpected(tls.error());
  }
  const LoadTarget target{*endpoint, options.server_name, options.directory, *tls};
  asio::io_context io(1);
  Crowd crowd(options.agents, options.parallel, target);
  std::size_t failures = 0;
  std::exception_ptr trouble;
  asio::co_spawn(io, run_phases(options, crowd, failures), [&trouble](std::exception_ptr error) { trouble = error; });
  io.run();
  if (trouble) {
    std::rethrow_exception(trouble);
  }
  return failures;
}

int run(int argc, char** argv) {
  CLI::App app("Puts the load of a fleet of agents on an aggregator. See tests/bench/README.md.");
  app.require_subcommand(1);
  Options options;
  const auto common = [&options](CLI::App& command) {
    command.add_option("--agents", options.agents, "How many")->check(CLI::Range(std::size_t{1}, kMaxAgents));
    command.add_option("--directory", options.directory, "The CA, the server's and every agent's certificate")
        ->required();
  };
  CLI::App& certificates = *app.add_subcommand("certificates", "Make a CA, the server's and every agent's certificate");
  common(certificates);
  CLI::App& load = *app.add_subcommand("run", "Connect the agents and go through the phases");
  common(load);
  load.add_option("--address", options.address, "The aggregator's agents.listen, IP:PORT")->required();
  load.add_option("--server-name", options.server_name, "What the aggregator's certificate must name");
  load.add_option("--phases", options.phases, "In this order, separated by commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"connect", "idle", "heartbeats", "unchanged", "snapshots", "reconnect-storm"}));
  load.add_option("--seconds", options.seconds, "How long each phase takes but connect and the storm")
      ->check(CLI::Range(1, kMaxPhaseSeconds));
  load.add_option("--storm-seconds", options.storm_seconds, "How long the storm's agents may try")
      ->check(CLI::Range(1, kMaxPhaseSeconds));
  load.add_option("--parallel", options.parallel, "Agents that wait for an answer at the same time")
      ->check(CLI::Range(std::size_t{1}, kMaxParallel));
  CLI11_PARSE(app, argc, argv);

  if (certificates.parsed()) {
    make_certificates(options);
    return 0;
  }
  const Result<std::size_t> failures = put_load(options);
  if (!failures) {
    fmt::print(stderr, "gpuskew-loadgen: {}\n", failures.error().what);
    return 2;
  }
  return *failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace gpuskew

int main(int argc, char** argv) {
  try {
    return gpuskew::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gpuskew-loadgen: {}\n", error.what());
    return 2;
  }
}
