// What one report costs the aggregator on one core, from the bytes of its frame to the answer: beside the target, and
// beside what protobuf alone takes for the same bytes in the same run, which nothing that decodes them can beat.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <google/protobuf/arena.h>

#include "aggregator/fleet_recorder.h"
#include "aggregator/history_store.h"
#include "aggregator/history_writer.h"
#include "aggregator/snapshot_outline.h"
#include "aggregator/stream_conversation.h"
#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "runtime/log.h"
#include "tests/bench/bench_node.h"

namespace gpuskew {
namespace {

constexpr std::size_t kNodes = 1000;
constexpr double kTargetReports = 100'000;  // a second on one core
/// Reports that share a transaction: what arrives in one turn of a busy event loop.
constexpr std::size_t kReportsACommit = 64;
/// Sequence numbers from here on are five bytes long, so that a frame's can be replaced in place.
constexpr std::uint64_t kFirstSequence = std::uint64_t{1} << 28;
constexpr std::size_t kArenaBytes = std::size_t{32} << 10;
/// Tag and length of the snapshot in an AgentMessage (a length of two bytes), tag of the sequence number.
constexpr std::size_t kSequenceAt = 4;

/// An AgentMessage with this snapshot, as it stands in a frame.
std::string snapshot_frame(const Snapshot& snapshot) {
  v1::AgentMessage message;
  to_wire(snapshot, *message.mutable_snapshot());
  message.mutable_snapshot()->set_sequence(kFirstSequence);
  return message.SerializeAsString();
}

void set_sequence(std::string& frame, std::uint64_t sequence) {
  for (std::size_t at = 0; at < 5; ++at) {
    const std::uint64_t more = at < 4 ? 0x80 : 0;
    frame[kSequenceAt + at] = static_cast<char>(((sequence >> (7 * at)) & 0x7F) | more);
  }
}

/// The aggregator behind its sockets: conversations, fleet, history on disk.
class Aggregator {
 public:
  Aggregator()
      : directory_(make_directory()),
        log_(STDERR_FILENO, LogLevel::Error),
        store_(HistoryStore::open(directory_ / "history.db").value()),
        writer_(store_, log_),
        fleet_(JudgePolicy{}),
        recorder_(fleet_, writer_, log_) {
    for (std::size_t node = 0; node < kNodes; ++node) {
      const std::string name = bench_node_name(node);
      conversations_.push_back(std::make_unique<AgentConversation>(std::vector{name}, recorder_, counts_, scratch_));
      v1::AgentMessage hello;
      hello.mutable_hello()->set_min_version(1);
      hello.mutable_hello()->set_max_version(1);
      hello.mutable_hello()->set_node(name);
      take(node, hello.SerializeAsString());
    }
  }
  ~Aggregator() { std::filesystem::remove_all(directory_); }
  Aggregator(const Aggregator&) = delete;
  Aggregator& operator=(const Aggregator&) = delete;

  void take(std::size_t node, const std::string& frame) {
    answers_.clear();
    if (const auto refused = conversations_[node]->take(frame, now_, answers_)) {
      fmt::print(stderr, "bench_ingest: refused: {}\n", refused->why);
      std::exit(EXIT_FAILURE);
    }
  }
  void commit() { writer_.flush(now_); }
  void pass(Duration span) { now_ += span; }

 private:
  static std::filesystem::path make_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "gpuskew-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      std::perror("bench_ingest: making a temporary directory");
      std::exit(EXIT_FAILURE);
    }
    return name;
  }

  std::filesystem::path directory_;
  Log log_;
  HistoryStore store_;
  HistoryWriter writer_;
  Fleet fleet_;
  FleetRecorder recorder_;
  StreamCounts counts_;
  ConversationScratch scratch_{"bench"};
  std::vector<std::unique_ptr<AgentConversation>> conversations_;
  std::string answers_;
  Time now_ = from_unix_ms(1'780'000'000'000);
};

enum class Storing : std::uint8_t { Queued, Committed };

/// Two forms of each node's report in turn; every round of the fleet sends the other one.
void run_reports(benchmark::State& state, Storing storing, const std::vector<std::vector<std::string>>& forms) {
  Aggregator aggregator;
  std::vector<std::vector<std::string>> frames = forms;
  for (std::size_t node = 0; node < kNodes; ++node) {
    aggregator.take(node, frames.front()[node]);
  }
  aggregator.commit();
  std::uint64_t sequence = kFirstSequence;
  std::size_t sent = 0;
  for (auto _ : state) {
    const std::size_t node = sent % kNodes;
    std::string& frame = frames[(1 + sent / kNodes) % frames.size()][node];
    set_sequence(frame, ++sequence);
    aggregator.take(node, frame);
    if (++sent % kReportsACommit == 0) {
      aggregator.pass(Duration{1});
      if (storing == Storing::Committed) {
        aggregator.commit();
      }
    }
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(sent));
  state.counters["bytes"] = static_cast<double>(frames.front().front().size());
}

template <class Change>
std::vector<std::vector<std::string>> frames_of(Change change) {
  std::vector<std::vector<std::string>> forms(2);
  for (std::size_t node = 0; node < kNodes; ++node) {
    forms[0].push_back(snapshot_frame(bench_snapshot(node)));
    forms[1].push_back(snapshot_frame(change(bench_snapshot(node))));
  }
  return forms;
}

/// Parses as the aggregator does, which is faster than into one message again and again: proto3 frees what is inside.
class Parser {
 public:
  Parser() : block_(kArenaBytes), arena_(options(block_)) {}

  template <class Message>
  Message& parse(const std::string& frame) {
    arena_.Reset();
    auto* message = google::protobuf::Arena::CreateMessage<Message>(&arena_);
    benchmark::DoNotOptimize(message->ParseFromArray(frame.data(), static_cast<int>(frame.size())));
    return *message;
  }

 private:
  static google::protobuf::ArenaOptions options(std::vector<char>& block) {
    google::protobuf::ArenaOptions options;
    options.initial_block = block.data();
    options.initial_block_size = block.size();
    return options;
  }

  std::vector<char> block_;
  google::protobuf::Arena arena_;
};

void protobuf_parse_alone(benchmark::State& state) {
  const std::vector<std::string> frames = std::move(frames_of([](Snapshot same) { return same; }).front());
  Parser parser;
  std::size_t sent = 0;
  for (auto _ : state) {
    parser.parse<v1::AgentMessage>(frames[sent++ % kNodes]);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(sent));
  state.counters["bytes"] = static_cast<double>(frames.front().size());
}

// A report whose facts differ in one from the report before, into the fleet, judged: without the conversation around
// it, and nothing to store.
void decode_and_apply(benchmark::State& state) {
  const std::vector<std::vector<std::string>> frames = frames_of(read_again);
  Parser parser;
  Fleet fleet{JudgePolicy{}};
  const Time now = from_unix_ms(1'780'000'000'000);
  std::vector<FieldMarks> before(kNodes);
  for (std::size_t node = 0; node < kNodes; ++node) {
    outline_snapshot(frames[1][node], before[node]);
    benchmark::DoNotOptimize(fleet.apply(bench_snapshot(node), now));
  }
  FieldMarks marks;
  std::string changed;
  std::size_t sent = 0;
  for (auto _ : state) {
    const std::size_t node = sent % kNodes;
    const auto outline = outline_snapshot(frames[sent / kNodes % 2][node], marks);
    benchmark::DoNotOptimize(take_changed_fields(*outline, marks, before[node], changed));
    Snapshot snapshot = fleet.find(bench_node_name(node))->snapshot;
    update_from_wire(std::move(parser.parse<v1::Snapshot>(changed)), snapshot);
    share_facts(
        snapshot,
        [&](int field) {
          const auto hash = hash_of_field(marks, field);
          return hash == hash_of_field(before[node], field) ? std::nullopt : hash;
        },
        fleet.fact_pool());
    benchmark::DoNotOptimize(fleet.apply(std::move(snapshot), now));
    before[node] = marks;
    ++sent;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(sent));
  state.counters["bytes"] = static_cast<double>(frames.front().front().size());
}

// The first report of a connection: every field is decoded.
void whole_decode_and_apply(benchmark::State& state) {
  const std::vector<std::vector<std::string>> frames = frames_of(read_again);
  Parser parser;
  Fleet fleet{JudgePolicy{}};
  const Time now = from_unix_ms(1'780'000'000'000);
  FieldMarks marks;
  std::size_t sent = 0;
  for (auto _ : state) {
    outline_snapshot(frames[sent / kNodes % 2][sent % kNodes], marks);
    auto& message = parser.parse<v1::AgentMessage>(frames[sent / kNodes % 2][sent % kNodes]);
    Result<Snapshot> snapshot = from_wire(std::move(*message.mutable_snapshot()));
    share_facts(
        *snapshot, [&marks](int field) { return hash_of_field(marks, field); }, fleet.fact_pool());
    benchmark::DoNotOptimize(fleet.apply(std::move(*snapshot), now));
    ++sent;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(sent));
  state.counters["bytes"] = static_cast<double>(frames.front().front().size());
}

void unchanged(benchmark::State& state) {
  run_reports(state, Storing::Committed, frames_of([](Snapshot same) { return same; }));
}

// Facts that differ, and none that changes the verdict: decoded, applied, judged, queued for the store.
void changed(benchmark::State& state) {
  run_reports(state, Storing::Queued, frames_of(read_again));
}

// The same, and the rows in the database.
void changed_and_stored(benchmark::State& state) {
  run_reports(state, Storing::Committed, frames_of(read_again));
}

// The driver goes and comes back: a verdict with a finding, and three or four lines of history each time.
void driver_gone_and_stored(benchmark::State& state) {
  run_reports(state, Storing::Committed, frames_of(without_driver));
}

BENCHMARK(protobuf_parse_alone);
BENCHMARK(decode_and_apply);
BENCHMARK(whole_decode_and_apply);
BENCHMARK(unchanged);
BENCHMARK(changed);
BENCHMARK(changed_and_stored);
BENCHMARK(driver_gone_and_stored);

/// The usual table, and what was measured kept for the ratios.
class RatioReporter : public benchmark::ConsoleReporter {
 public:
  RatioReporter() : ConsoleReporter(OO_None) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type == Run::RT_Iteration && !run.error_occurred) {
        rates_[run.benchmark_name()] = run.counters.at("items_per_second");
      }
    }
  }

  void print_ratios() const {
    const auto parse = rates_.find("protobuf_parse_alone");
    for (const auto& [name, rate] : rates_) {
      fmt::print("{:24} {:>9.0f} a second and core: {:5.2f} of the target", name, rate, rate / kTargetReports);
      if (parse != rates_.end() && parse != rates_.find(name)) {
        fmt::print(", {:.2f} of protobuf's parse alone", rate / parse->second);
      }
      fmt::print("\n");
    }
  }

 private:
  std::map<std::string, double> rates_;
};

}  // namespace
}  // namespace gpuskew

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return EXIT_FAILURE;
  }
  gpuskew::RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.print_ratios();
  return EXIT_SUCCESS;
}
