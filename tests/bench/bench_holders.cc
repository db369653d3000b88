// What the search for those who hold a device costs on this machine, with 600 more processes than it has by itself:
// `bench_holders`, or `bench_holders DESCRIPTORS` for more than the 4 descriptors each of them opens. No GPU is needed:
// the modules' counts are made up, the processes and their descriptors are real.

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "agent/take_snapshot.h"

namespace gpuskew {
namespace {

constexpr int kProcesses = 600;

// Processes that sleep until this one ends.
class Sleepers {
 public:
  explicit Sleepers(int descriptors) {
    for (int at = 0; at < kProcesses; ++at) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int open = 0; open < descriptors; ++open) {
          ::open("/dev/null", O_RDONLY);
        }
        for (;;) {
          ::pause();
        }
      }
      children_.push_back(child);
    }
    ::sleep(1);  // until they have opened theirs
  }
  ~Sleepers() {
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }
  Sleepers(const Sleepers&) = delete;
  Sleepers& operator=(const Sleepers&) = delete;

 private:
  std::vector<pid_t> children_;
};

HostRoot machine() {
  return HostRoot::open("/").value();
}

Fact<std::vector<KernelModule>> modules(std::uint32_t open_files) {
  KernelModule nvidia;
  nvidia.name = "nvidia";
  nvidia.refcount = open_files;
  nvidia.state = ModuleState::Live;
  return Fact<std::vector<KernelModule>>::known({nvidia}, "bench");
}

struct Scene {
  Fact<std::vector<DeviceNode>> nodes = Fact<std::vector<DeviceNode>>::known({{"/dev/nvidia0", 195, 0}}, "bench");
  Fact<std::vector<KernelModule>> modules;
  std::set<std::string> pods{};

  HolderQuestion question() const { return {nodes, modules, pods}; }
};

void whole_search(benchmark::State& state) {
  const HostRoot root = machine();
  const Scene scene{.modules = modules(1)};
  for (auto _ : state) {
    HolderCache cache;
    benchmark::DoNotOptimize(cache.read(root, scene.question(), Time{}, kWholeSearch));
  }
}
BENCHMARK(whole_search)->Unit(benchmark::kMillisecond);

void one_piece(benchmark::State& state) {
  const HostRoot root = machine();
  const Scene scene{.modules = modules(1)};
  HolderCache cache;
  Time now{};
  for (auto _ : state) {
    if (!cache.is_searching()) {
      now += kMaxSearchAge;
    }
    benchmark::DoNotOptimize(cache.read(root, scene.question(), now));
  }
}
BENCHMARK(one_piece)->Unit(benchmark::kMillisecond);

void nothing_changed(benchmark::State& state) {
  const HostRoot root = machine();
  const Scene scene{.modules = modules(1)};
  HolderCache cache;
  cache.read(root, scene.question(), Time{}, kWholeSearch);
  for (auto _ : state) {
    benchmark::DoNotOptimize(cache.read(root, scene.question(), Time{}));
  }
}
BENCHMARK(nothing_changed)->Unit(benchmark::kMillisecond);

// Every fact of this machine; without a GPU no search is among them.
void snapshot(benchmark::State& state) {
  const HostRoot root = machine();
  ReadCache cache;
  for (auto _ : state) {
    benchmark::DoNotOptimize(take_snapshot(root, "bench", "0", Time{}, &cache));
  }
}
BENCHMARK(snapshot)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gpuskew

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  constexpr int kUsualDescriptors = 4;
  const gpuskew::Sleepers sleepers(argc > 1 ? std::atoi(argv[1]) : kUsualDescriptors);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
