#include "aggregator/kube/object_watch.h"

#include "runtime/kube/json_text.h"
#include "runtime/log.h"

namespace gpuskew {
namespace {

KubeWatchOptions watch_options(const std::vector<std::string>& paths) {
  KubeWatchOptions options;
  options.other_paths.assign(paths.begin() + 1, paths.end());
  return options;
}

}  // namespace

std::string object_key(const nlohmann::json& object) {
  const std::string name_space = text_at(object, {"metadata", "namespace"});
  const std::string name = text_at(object, {"metadata", "name"});
  return name_space.empty() ? name : name_space + "/" + name;
}

WatchedKind::WatchedKind(KubeClient& client, const Log& log, Options options)
    : log_(log),
      options_(std::move(options)),
      watch_(client, KubeListRequest(options_.paths.front()), events(), watch_options(options_.paths)) {}

ObjectsKnown WatchedKind::known() const {
  using State = ObjectsKnown::State;
  ObjectsKnown known;
  known.objects = size();
  known.left_out = left_out_.size();
  known.state = whole_ ? State::Known : State::NotYet;
  if (trouble_) {
    known.state = trouble_->code == ErrorCode::NotFound ? State::Absent : State::Trouble;
    known.why = trouble_->what;
  }
  return known;
}

KubeWatchEvents WatchedKind::events() {
  KubeWatchEvents events;
  events.list_began = [this] {
    listing_ = true;
    listed_.clear();
  };
  events.list_ended = [this] { end_list(); };
  events.changed = [this](nlohmann::json&& object) { take(object); };
  events.deleted = [this](nlohmann::json&& object) {
    const std::string key = object_key(object);
    left_out_.erase(key);
    if (drop(key)) {
      ++changes_;
    }
  };
  events.troubled = [this](const Error& error) {
    trouble_ = error;
    if (error.code != ErrorCode::NotFound) {
      log_.warning("objects of the cluster can not be watched, what was known stays",
                   {{"kind", options_.kind}, {"reason", error.what}});
      return;
    }
    // It was there and is not any more: a CRD was deleted, and its objects with it.
    for (const std::string& key : keys()) {
      drop(key);
      ++changes_;
    }
    left_out_.clear();
    whole_ = false;
    log_.info("the cluster has no such objects, asking again later", {{"kind", options_.kind}});
  };
  events.recovered = [this] {
    trouble_.reset();
    log_.info("objects of the cluster are watched again", {{"kind", options_.kind}});
  };
  return events;
}

void WatchedKind::take(const nlohmann::json& object) {
  const std::string key = object_key(object);
  if (key.empty()) {
    log_.warning("an object of the cluster has no name, ignoring", {{"kind", options_.kind}});
    return;
  }
  if (listing_) {
    listed_.insert(key);
  }
  left_out_.erase(key);
  const Result<Kept> kept = keep(key, object, size() < options_.limit);
  if (!kept) {
    log_.warning("an object of the cluster can not be read, ignoring",
                 {{"kind", options_.kind}, {"object", key}, {"reason", kept.error().what}});
  }
  if (!kept || *kept == Kept::NotWanted) {
    changes_ += drop(key) ? 1 : 0;
    return;
  }
  if (*kept == Kept::Changed) {
    ++changes_;
  }
  if (*kept == Kept::NoRoom) {
    left_out_.insert(key);
    if (!told_full_) {
      log_.error("the cluster has more objects than can be looked at, the others are left out",
                 {{"kind", options_.kind}, {"limit", options_.limit}});
    }
    told_full_ = true;
  }
}

void WatchedKind::end_list() {
  for (const std::string& key : keys()) {
    if (!listed_.contains(key)) {
      drop(key);
    }
  }
  std::erase_if(left_out_, [this](const std::string& key) { return !listed_.contains(key); });
  listing_ = false;
  listed_.clear();
  whole_ = true;
  ++changes_;
}

}  // namespace gpuskew
