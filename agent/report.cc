#include "agent/report.h"

#include <optional>
#include <utility>

#include "agent/host_root.h"
#include "agent/kernel_log/kernel_log_reader.h"
#include "agent/take_snapshot.h"
#include "runtime/log.h"

namespace gpuskew {
namespace {

std::optional<LastGood> load_state(const StateFile& state, const Log& log, Time now) {
  if (const auto usable = state.prepare(); !usable) {
    log.warning("the last good state will not outlive this boot, ignoring", {{"reason", usable.error().what}});
  }
  StateFile::Loaded loaded = state.load(now);
  if (!loaded.warning.empty()) {
    log.warning("beginning without a last good state, ignoring", {{"reason", loaded.warning}});
  }
  return std::move(loaded.good);
}

}  // namespace

Reporter::Reporter(const HostRoot& root, const Log& log, std::string node, StateFile state, Time now, Deliver deliver)
    : root_(root),
      log_(log),
      node_(std::move(node)),
      state_(std::move(state)),
      memory_(load_state(state_, log, now)),
      deliver_(std::move(deliver)) {
  // One warning is enough: the first save would only repeat it.
  is_saving_broken_ = !state_.check();
}

void Reporter::read(Time now) {
  Snapshot snapshot = take_snapshot(root_, node_, GPUSKEW_VERSION, now, &cache_);
  snapshot.expected_gpus = expected_gpus_;
  attach_kernel_log(snapshot, now);
  log_changes(snapshot);
  memory_.attach(snapshot);
  save();
  deliver_news(std::move(snapshot));
}

void Reporter::search_on(Time now) {
  Snapshot snapshot = *latest_;
  gpuskew::search_on(root_, now, cache_, snapshot);
  deliver_news(std::move(snapshot));
}

void Reporter::deliver_news(Snapshot snapshot) {
  if (latest_ && latest_->same_facts(snapshot)) {
    return;
  }
  latest_ = std::make_shared<const Snapshot>(std::move(snapshot));
  deliver_(latest_);
}

// Behind the other facts: a log that is newer than they are knows of the load of every driver they know of, so that no
// fault of the load before counts for it.
void Reporter::attach_kernel_log(Snapshot& snapshot, Time now) const {
  if (kernel_log_ == nullptr) {
    return;
  }
  kernel_log_->update(now);
  snapshot.kernel_log = kernel_log_->fact(now);
  if (const std::string warning = kernel_log_->take_warning(); !warning.empty()) {
    log_.warning(warning + ", ignoring");
  }
}

void Reporter::log_changes(const Snapshot& snapshot) const {
  const std::string summary = driver_summary(snapshot);
  const bool is_loaded = snapshot.loaded_driver.is_known();
  if (latest_) {
    const std::string before = driver_summary(*latest_);
    if (before == summary) {
      return;
    }
    if (latest_->loaded_driver.is_known() && !is_loaded) {
      log_.warning("the driver is gone", {{"before", before}, {"now", summary}});
    } else {
      log_.info("the driver changed", {{"before", before}, {"now", summary}});
    }
    return;
  }
  log_.info("read this node", {{"node", node_}, {"facts", summary}});
  const auto& remembered = memory_.remembered();
  const auto comparison = remembered ? boot_comparison(*remembered, snapshot) : std::nullopt;
  if (!comparison) {
    return;
  }
  if (is_loaded) {
    log_.info("this is another boot; " + *comparison);
  } else {
    log_.warning("this is another boot; " + *comparison);
  }
}

void Reporter::save() {
  const auto unsaved = memory_.unsaved();
  if (!unsaved) {
    return;
  }
  const auto saved = state_.save(*unsaved);
  if (saved) {
    memory_.set_saved(*unsaved);
    if (is_saving_broken_) {
      log_.info("the last good state is kept again");
    }
  } else if (!is_saving_broken_) {
    log_.warning("the last good state is not kept, ignoring", {{"reason", saved.error().what}});
  }
  is_saving_broken_ = !saved;
}

}  // namespace gpuskew
