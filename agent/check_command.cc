#include "agent/check_command.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/steady_timer.hpp>
#include <nlohmann/json.hpp>

#include "agent/check.h"
#include "agent/host_root.h"
#include "agent/kernel_log/kernel_log_reader.h"
#include "agent/read_cache.h"
#include "agent/state_file.h"
#include "agent/take_snapshot.h"
#include "agent/wake.h"
#include "proto/json.h"
#include "runtime/clock.h"

namespace gpuskew {
namespace {

/// While a gate waits, beside what events tell.
constexpr Duration kGatePoll = std::chrono::seconds(1);

void warn(const std::string& problem) {
  std::fprintf(stderr, "gpuskew-agent: %s\n", problem.c_str());
}

/// One node, read and judged as often as asked.
class Check {
 public:
  Check(const HostRoot& root, std::string node, const AgentCommandLine& line, const AgentConfig& config)
      : root_(root),
        node_(std::move(node)),
        kernel_log_(root),
        scope_(line.next_boot       ? CheckScope::NextBoot
               : line.only_critical ? CheckScope::CriticalNow
                                    : CheckScope::Now),
        expected_gpus_(config.expected_gpus) {
    if (line.expect_gpu) {
      expected_gpus_ = std::max<std::uint32_t>(expected_gpus_.value_or(1), 1);
    }
    auto remembered = StateFile(config.state_directory).read();
    if (remembered) {
      remembered_ = std::move(*remembered);
    } else {
      warn("checking without a last good state: " + remembered.error().what);
    }
  }

  CheckAnswer read() {
    const Time now = wall_clock_now();
    snapshot_ = take_snapshot(root_, node_, GPUSKEW_VERSION, now, &cache_);
    kernel_log_.update(now);
    snapshot_.kernel_log = kernel_log_.fact(now);
    snapshot_.expected_gpus = expected_gpus_;
    snapshot_.remembered = remembered_;
    verdict_ = narrowed(judge_alone(snapshot_, JudgePolicy{}, now, now), scope_);
    return answer_of(verdict_, scope_);
  }

  /// Blocks for `limit` at most.
  CheckAnswer read_until_told(Duration limit) {
    CheckAnswer answer = read();
    if (answer != CheckAnswer::CouldNotTell || limit == Duration::zero()) {
      return answer;
    }
    asio::io_context io{1};
    Wake wake(io, root_, kGatePoll);
    wake.watch(paths_to_watch(&snapshot_));
    asio::steady_timer deadline(io, limit);
    deadline.async_wait([&io](std::error_code) { io.stop(); });
    asio::co_spawn(io, wait_and_read(wake, answer), [&io](const std::exception_ptr&) { io.stop(); });
    io.run();
    return answer;
  }

  std::string text() const { return check_text(snapshot_, verdict_, scope_); }
  std::string json() const { return dump(check_json(snapshot_, verdict_, scope_), true) + "\n"; }

 private:
  asio::awaitable<void> wait_and_read(Wake& wake, CheckAnswer& answer) {
    while (answer == CheckAnswer::CouldNotTell) {
      co_await wake.wait();
      answer = read();
    }
  }

  const HostRoot& root_;
  std::string node_;
  KernelLogReader kernel_log_;
  CheckScope scope_;
  std::optional<std::uint32_t> expected_gpus_;
  std::optional<LastGood> remembered_;
  ReadCache cache_;
  Snapshot snapshot_;
  Verdict verdict_;
};

}  // namespace

int check_command(const AgentCommandLine& line, const AgentConfig& config) {
  constexpr int kCouldNot = static_cast<int>(CheckAnswer::CouldNotTell);
  const auto root = HostRoot::open(config.host_root);
  if (!root) {
    warn(root.error().what);
    return kCouldNot;
  }
  const auto node = node_name(config, *root);
  if (!node) {
    warn(node.error().what + ", ignoring");
  }
  Check check(*root, node.value_or(""), line, config);
  const CheckAnswer answer = check.read_until_told(config.check_wait);
  const std::string text = line.json ? check.json() : check.text();
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    warn("writing to standard output failed");
    return kCouldNot;
  }
  return static_cast<int>(answer);
}

}  // namespace gpuskew
