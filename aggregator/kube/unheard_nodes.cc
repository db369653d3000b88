#include "aggregator/kube/unheard_nodes.h"

#include <utility>
#include <vector>

#include <asio/any_io_executor.hpp>
#include <asio/steady_timer.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>

#include "core/kube/cluster_snapshot.h"
#include "runtime/clock.h"

namespace gpuskew {

asio::awaitable<Result<void>> UnheardNodes::run() {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor);
  for (;;) {
    pulse(wall_clock_now());
    timer.expires_after(kPulse);
    co_await timer.async_wait(asio::use_awaitable);
  }
}

void UnheardNodes::pulse(Time now) {
  if (!watch_.is_whole()) {
    return;
  }
  const bool has_changed = seen_changes_ != watch_.changes();
  seen_changes_ = watch_.changes();
  for (const auto& [name, node] : watch_.nodes()) {
    look_at(node, has_changed, now);
  }
  forget_gone(now);
}

void UnheardNodes::look_at(const ClusterNode& node, bool has_changed, Time now) {
  const NodeRecord* record = recorder_.fleet().find(node.name);
  if (record != nullptr && record->was_heard()) {
    unheard_since_.erase(node.name);
    return;
  }
  if (!gpu_sign(node)) {
    unheard_since_.erase(node.name);
    if (record != nullptr) {
      recorder_.forget(node.name, "nothing speaks of a GPU here any more");
    }
    return;
  }
  const Time since = unheard_since_.try_emplace(node.name, now).first->second;
  if (now - since < recorder_.fleet().policy().silent_after) {
    return;
  }
  if (record == nullptr || has_changed) {
    recorder_.put_unheard(snapshot_from_cluster_node(node, now), verdict_without_agent(node, kNoAgentReports));
  }
}

void UnheardNodes::forget_gone(Time now) {
  const Duration silence = recorder_.fleet().policy().silent_after;
  std::vector<std::string> gone;
  for (const std::string& name : watch_.left()) {
    const NodeRecord* record = recorder_.fleet().find(name);
    const bool speaks = record != nullptr && record->was_heard() && now - record->last_heard < silence;
    if (!speaks) {
      gone.push_back(name);
    }
  }
  for (const std::string& name : gone) {
    watch_.take_left(name);
    unheard_since_.erase(name);
    if (recorder_.fleet().find(name) != nullptr) {
      recorder_.forget(name, "it is no node of the cluster any more, and its agent is silent");
    }
  }
}

}  // namespace gpuskew
