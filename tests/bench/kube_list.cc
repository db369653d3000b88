// How long a paged LIST takes this client, and how much memory: kube_list KUBECONFIG PATH [RUNS].

#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <fmt/format.h>

#include "runtime/kube/access.h"
#include "runtime/kube/client.h"

namespace gpuskew {
namespace {

using Clock = std::chrono::steady_clock;

struct Outcome {
  Result<KubeListResult> result;
  double seconds = 0;
};

/// A cold list: a new client, a new connection.
Outcome list_once(const KubeAccess& access, const std::string& path) {
  asio::io_context io{1};
  Outcome outcome;
  const auto began = Clock::now();
  auto client = KubeClient::open(io.get_executor(), access);
  if (!client) {
    outcome.result = tl::unexpected(client.error());
    return outcome;
  }
  const auto nothing = [](nlohmann::json&&) {};
  asio::co_spawn(io, (*client)->list(KubeListRequest(path), nothing, [] {}),
                 [&outcome](const std::exception_ptr&, Result<KubeListResult> result) { outcome.result = result; });
  io.run();
  outcome.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  return outcome;
}

int run(const std::string& kubeconfig, const std::string& path, int runs) {
  const auto access = kubeconfig_access({kubeconfig});
  if (!access) {
    fmt::print(stderr, "kube_list: {}\n", access.error().what);
    return 2;
  }
  for (int round = 0; round < runs; ++round) {
    const Outcome outcome = list_once(*access, path);
    if (!outcome.result) {
      fmt::print(stderr, "kube_list: {}\n", outcome.result.error().what);
      return 2;
    }
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    fmt::print("client, {} items in {} pages: {:.2f} s, peak RSS {:.1f} MiB\n", outcome.result->items,
               outcome.result->pages, outcome.seconds, static_cast<double>(usage.ru_maxrss) / 1024);
  }
  return 0;
}

}  // namespace
}  // namespace gpuskew

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: kube_list KUBECONFIG PATH [RUNS]\n");
    return 2;
  }
  return gpuskew::run(argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 1);
}
