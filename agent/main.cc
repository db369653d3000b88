// gpuskew-agent: the only place that knows every part. Flags -> configuration -> objects -> run.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <asio/awaitable.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "agent/check_command.h"
#include "agent/config.h"
#include "agent/facts_text.h"
#include "agent/host_root.h"
#include "agent/kernel_log/kernel_log_reader.h"
#include "agent/kernel_log/live_kernel_log.h"
#include "agent/label_publisher.h"
#include "agent/report.h"
#include "agent/resident_memory.h"
#include "agent/streams.h"
#include "agent/take_snapshot.h"
#include "agent/wake.h"
#include "proto/json.h"
#include "proto/wire_log.h"
#include "runtime/clock.h"
#include "runtime/log.h"
#include "runtime/run.h"
#include "runtime/systemd.h"
#include "runtime/token_file.h"

namespace gpuskew {
namespace {

enum class ExitStatus : std::uint8_t { Fine = 0, CouldNot = 2 };

constexpr Duration kOnceLimit = std::chrono::seconds(20);
/// Between two pieces of the search for those who hold a device.
constexpr Duration kSearchPause = std::chrono::milliseconds(150);
/// The first labels wait for the first word on the aggregator, or for this long.
constexpr Duration kLabelStart = std::chrono::seconds(10);
constexpr auto kAsTuple = asio::experimental::as_tuple(asio::use_awaitable);

std::optional<std::string> environment_variable(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());  // NOLINT(concurrency-mt-unsafe): nobody sets one
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string node_from_environment() {
  return environment_variable("NODE_NAME").value_or("");
}

ExitStatus say(const std::string& problem) {
  std::fprintf(stderr, "gpuskew-agent: %s\n", problem.c_str());
  return ExitStatus::CouldNot;
}

ExitStatus print(const std::string& text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? ExitStatus::Fine : say("writing to standard output failed");
}

StreamOptions stream_options(const AgentConfig& config) {
  StreamOptions options;
  options.address = *config.aggregator.address;
  options.server_name = config.aggregator.server_name;
  options.tls = config.aggregator.tls;
  options.token_file = config.aggregator.token_file;
  options.heartbeat = config.heartbeat;
  return options;
}

// What must be configured for streaming; the files themselves may still come.
std::vector<std::string> missing_settings(const AgentConfig& config) {
  std::vector<std::string> missing;
  const AggregatorConfig& aggregator = config.aggregator;
  if (!aggregator.address) {
    missing.push_back("no aggregator: set aggregator.address in " + std::string(kDefaultAgentConfig) +
                      ", or pass --aggregator HOST:PORT (`gpuskew-agent facts` needs none)");
  }
  const std::pair<const std::filesystem::path*, std::string_view> files[] = {
      {&aggregator.tls.ca, "ca"}, {&aggregator.tls.certificate, "certificate"}, {&aggregator.tls.key, "key"}};
  for (const auto& [file, name] : files) {
    const bool is_needed = name == "ca" || aggregator.token_file.empty();
    if (file->empty() && is_needed) {
      missing.push_back("no " + std::string(name) + " file: set aggregator." + std::string(name) + ", or pass --" +
                        std::string(name) + " FILE");
    }
  }
  return missing;
}

ExitStatus print_facts(const AgentCommandLine& line, const AgentConfig& config) {
  const auto root = HostRoot::open(config.host_root);
  if (!root) {
    return say(root.error().what);
  }
  const auto node = node_name(config, *root);
  if (!node) {
    std::fprintf(stderr, "gpuskew-agent: %s, ignoring\n", node.error().what.c_str());
  }
  Snapshot snapshot = take_snapshot(*root, node.value_or(""), GPUSKEW_VERSION, wall_clock_now());
  snapshot.kernel_log = read_kernel_log(*root, wall_clock_now());
  return print(line.json ? dump(to_json(snapshot), true) + "\n" : facts_text(snapshot));
}

ExitStatus check_config(const AgentConfig& config) {
  std::vector<std::string> problems = missing_settings(config);
  std::string node;
  if (const auto root = HostRoot::open(config.host_root); !root) {
    problems.push_back(root.error().what);
  } else if (const auto name = node_name(config, *root); !name) {
    problems.push_back(name.error().what);
  } else {
    node = *name;
  }
  const TlsFiles& tls = config.aggregator.tls;
  const std::filesystem::path& token_file = config.aggregator.token_file;
  if (!token_file.empty()) {
    if (const auto token = load_token(token_file); !token) {
      problems.push_back(token.error().what);
    }
  }
  if (!tls.ca.empty() && (!token_file.empty() || (!tls.certificate.empty() && !tls.key.empty()))) {
    if (const auto context = TlsContext::client(tls); !context) {
      problems.push_back(context.error().what);
    } else if (const auto warning = key_permission_warning(tls)) {
      std::fprintf(stderr, "gpuskew-agent: warning: %s\n", warning->c_str());
    }
  }
  if (const auto usable = StateFile(config.state_directory).check(); !usable) {
    problems.push_back(usable.error().what);
  }
  if (const auto usable = check_labels(config.labels, environment_variable); !usable) {
    problems.push_back("labels: " + usable.error().what);
  }
  for (const std::string& problem : problems) {
    static_cast<void>(say(problem));
  }
  if (!problems.empty()) {
    return ExitStatus::CouldNot;
  }
  return print("the configuration is good: node " + node + ", aggregator " + to_string(*config.aggregator.address) +
               "\n");
}

/// The daemon's objects, in the order in which they need each other.
class Agent {
 public:
  Agent(Log& log, const ServiceManager& manager, const HostRoot& root, const std::string& node,
        const AgentCommandLine& line, const AgentConfig& config)
      : log_(log),
        manager_(manager),
        line_(line),
        config_(config),
        run_(io_, log, manager),
        wake_(io_, root, config.poll),
        search_timer_(io_, asio::steady_timer::time_point::max()),
        label_start_(io_, kLabelStart),
        stream_(io_, log, stream_options(config), [this] { stream_changed(); }),
        labels_(io_.get_executor(), log, node, config.labels, environment_variable, [this] { state_changed(); }),
        reporter_(root, log, node, StateFile(config.state_directory), wall_clock_now(),
                  [this](const std::shared_ptr<const Snapshot>& snapshot) { deliver(snapshot); }),
        kernel_log_(root, KernelLogStore(config.state_directory)),
        live_kernel_log_(io_, root, kernel_log_, wall_clock_now, [this] { wake_.request(); }) {
    reporter_.set_kernel_log(kernel_log_);
    reporter_.set_expected_gpus(config.expected_gpus);
  }

  ExitStatus stream() {
    // Flags, YAML and certificates are behind us: their pages must not lie beside those of the first read.
    release_unused_memory();
    wake_.watch(paths_to_watch(nullptr));
    read();
    live_kernel_log_.prepare();
    log_.info("watching this node", {{"sources", wake_.sources()},
                                     {"kernel_log", kernel_log_.sources() + "; " + live_kernel_log_.sources()}});
    run_.add("reading", read_loop());
    run_.add("search", search_loop());
    run_.add("kernel log", live_kernel_log_.run());
    run_.add("stream", stream_.run(), [this] { stream_.stop(); });
    run_.add("labels", publish_labels());
    run_.on_reload([this] { reload(); });
    warn_unless(manager_.ready(status()));
    return ended(run_.until_stopped());
  }

  ExitStatus deliver_once() {
    reporter_.read(wall_clock_now());
    while (reporter_.is_searching()) {
      reporter_.search_on(wall_clock_now());
    }
    run_.add("stream", stream_.deliver_once(std::chrono::steady_clock::now() + kOnceLimit), [this] { stream_.stop(); });
    return ended(run_.until_stopped());
  }

 private:
  asio::awaitable<Result<void>> read_loop() {
    for (;;) {
      co_await wake_.wait();
      read();
    }
  }

  // Who holds a device is looked for a piece at a time; read() sets the timer when it has begun a search.
  asio::awaitable<Result<void>> search_loop() {
    for (;;) {
      const auto waited = co_await search_timer_.async_wait(kAsTuple);
      if (std::get<0>(waited)) {
        continue;  // set anew while we waited
      }
      reporter_.search_on(wall_clock_now());
      search_timer_.expires_at(reporter_.is_searching() ? asio::steady_timer::clock_type::now() + kSearchPause
                                                        : asio::steady_timer::time_point::max());
      release_unused_memory();
    }
  }

  // One handshake after the other: two at once would be the peak of our memory.
  asio::awaitable<Result<void>> publish_labels() {
    co_await label_start_.async_wait(kAsTuple);
    co_return co_await labels_.run();
  }

  void deliver(const std::shared_ptr<const Snapshot>& snapshot) {
    stream_.offer(snapshot);
    labels_.offer(snapshot);
  }

  void read() {
    // What a connection took a moment ago must not lie beside what the read takes.
    release_unused_memory();
    const auto before = reporter_.latest();
    reporter_.read(wall_clock_now());
    wake_.watch(paths_to_watch(reporter_.latest().get()));
    if (reporter_.is_searching()) {
      search_timer_.expires_after(kSearchPause);
    }
    if (before != nullptr && before != reporter_.latest()) {
      tell_status();
    }
    // The next read is a poll away; what this one ran through comes back from the page cache in a fraction of its time.
    release_unused_memory();
  }

  void reload() {
    auto config = load_agent_config(line_, node_from_environment());
    const auto problems = config ? missing_settings(*config) : std::vector<std::string>{config.error().what};
    if (!problems.empty()) {
      log_.error("the configuration was not reloaded, the old one stays", {{"reason", problems.front()}});
      return;
    }
    if (config->node != config_.node || config->host_root != config_.host_root ||
        config->state_directory != config_.state_directory) {
      log_.warning("node, host_root and state_directory change at a restart only, ignoring");
    }
    config_ = std::move(*config);
    reporter_.set_expected_gpus(config_.expected_gpus);
    log_.set_level(config_.log_level);
    wake_.set_poll(config_.poll);
    wake_.request();
    stream_.reconnect(stream_options(config_));
    labels_.reconfigure(config_.labels);
    log_.info("configuration reloaded, connecting anew");
  }

  void stream_changed() {
    label_start_.expires_at(asio::steady_timer::time_point::min());
    state_changed();
  }

  void state_changed() const {
    tell_status();
    // A connection that stands, or one that will not for a while: what making it took is not needed now.
    release_unused_memory();
  }

  std::string status() const {
    const std::string& labels = labels_.state();
    return stream_.state() + "; " + (labels.empty() ? "" : labels + "; ") + driver_summary(*reporter_.latest());
  }

  void tell_status() const { warn_unless(manager_.status(status())); }

  void warn_unless(const Result<void>& told) const {
    if (!told) {
      log_.warning("systemd was not told, ignoring", {{"reason", told.error().what}});
    }
  }

  ExitStatus ended(const Result<void>& result) const {
    if (!result) {
      log_.error("ended", {{"reason", result.error().what}});
      return ExitStatus::CouldNot;
    }
    return ExitStatus::Fine;
  }

  Log& log_;
  const ServiceManager& manager_;
  AgentCommandLine line_;
  AgentConfig config_;
  asio::io_context io_{1};
  Run run_;
  Wake wake_;
  asio::steady_timer search_timer_;
  asio::steady_timer label_start_;
  Streams stream_;
  LabelPublisher labels_;
  Reporter reporter_;
  KernelLogReader kernel_log_;
  LiveKernelLog live_kernel_log_;
};

ExitStatus run_agent(const AgentCommandLine& line, const AgentConfig& config) {
  if (const auto missing = missing_settings(config); !missing.empty()) {
    return say(missing.front());
  }
  Log log = Log::from_environment(config.log_level);
  const auto manager = ServiceManager::from_environment();
  const auto root = HostRoot::open(config.host_root);
  const auto node = root ? node_name(config, *root) : Result<std::string>(tl::unexpected(root.error()));
  if (!manager || !node) {
    log.error("can not start", {{"reason", manager ? node.error().what : manager.error().what}});
    return ExitStatus::CouldNot;
  }
  if (const auto warning = key_permission_warning(config.aggregator.tls)) {
    log.warning(*warning);
  }
  log.info("starting", {{"version", GPUSKEW_VERSION}, {"node", *node}, {"host_root", config.host_root.string()}});
  Agent agent(log, *manager, *root, *node, line, config);
  return line.once ? agent.deliver_once() : agent.stream();
}

ExitStatus run_command(const AgentCommandLine& line) {
  const auto config = load_agent_config(line, node_from_environment());
  if (!config) {
    return say(config.error().what);
  }
  if (line.command == AgentCommand::Facts) {
    return print_facts(line, *config);
  }
  return line.check_config ? check_config(*config) : run_agent(line, *config);
}

int main_of(int argc, const char* const* argv) {
  limit_heaps();
  silence_wire_log();
  const auto parsed = parse_agent_command_line(argc, argv);
  if (const auto* end = std::get_if<CommandLineEnd>(&parsed)) {
    std::fputs(end->text.c_str(), end->code == 0 ? stdout : stderr);
    return end->code;
  }
  const auto& line = std::get<AgentCommandLine>(parsed);
  if (line.command == AgentCommand::Check) {
    const auto config = load_agent_config(line, node_from_environment());
    return config ? check_command(line, *config) : static_cast<int>(say(config.error().what));
  }
  return static_cast<int>(run_command(line));
}

}  // namespace
}  // namespace gpuskew

int main(int argc, char** argv) {
  try {
    return gpuskew::main_of(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpuskew-agent: %s\n", error.what());
    return 2;
  }
}
