#pragma once

// One kind of object of the cluster, in memory and up to date, cut down to what is looked at.

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <asio/awaitable.hpp>
#include <nlohmann/json.hpp>

#include "core/kube/cluster_objects.h"
#include "core/result.h"
#include "runtime/kube/client.h"
#include "runtime/kube/watch.h"

namespace gpuskew {

class Log;

/// What is kept of a kind of object, but for the objects.
class WatchedKind {
 public:
  struct Options {
    std::string kind;  ///< "PodDisruptionBudget", for people
    std::vector<std::string>
        paths;  ///< "/apis/policy/v1/poddisruptionbudgets"; the next where the server has not the one before
    std::size_t limit = 0;  ///< more objects are left out, and said once in the log
  };

  /// Both must outlive the object.
  WatchedKind(KubeClient& client, const Log& log, Options options);
  virtual ~WatchedKind() = default;
  WatchedKind(const WatchedKind&) = delete;
  WatchedKind& operator=(const WatchedKind&) = delete;

  /// Until cancelled.
  asio::awaitable<Result<void>> run() { return watch_.run(); }

  const std::string& kind() const { return options_.kind; }
  ObjectsKnown known() const;
  /// Goes up with every change of what is kept.
  std::uint64_t changes() const { return changes_; }

 protected:
  /// Keeps an object, or drops what was kept under its key when it is not looked at. Malformed: it can not be read,
  /// and what was kept of it is dropped. `room`: whether one more may be kept.
  enum class Kept : std::uint8_t { Same, Changed, NotWanted, NoRoom };
  virtual Result<Kept> keep(const std::string& key, const nlohmann::json& object, bool room) = 0;
  /// Whether there was one.
  virtual bool drop(const std::string& key) = 0;
  virtual std::size_t size() const = 0;
  virtual std::vector<std::string> keys() const = 0;

 private:
  KubeWatchEvents events();
  void take(const nlohmann::json& object);
  void end_list();

  const Log& log_;
  Options options_;
  bool whole_ = false;
  bool listing_ = false;
  std::set<std::string, std::less<>> listed_;  ///< keys, while a list is on its way
  std::set<std::string, std::less<>> left_out_;
  std::optional<Error> trouble_;
  bool told_full_ = false;
  std::uint64_t changes_ = 0;
  KubeWatch watch_;
};

/// "namespace/name", or "name" of an object without one.
std::string object_key(const nlohmann::json& object);

/// `Object` is what a reader makes of the JSON; nullopt: not one that is looked at.
template <class Object>
class ObjectWatch final : public WatchedKind {
 public:
  using Reader = std::function<Result<std::optional<Object>>(const nlohmann::json&)>;
  /// By object_key().
  using Objects = std::map<std::string, Object, std::less<>>;

  ObjectWatch(KubeClient& client, const Log& log, Options options, Reader reader)
      : WatchedKind(client, log, std::move(options)), reader_(std::move(reader)) {}

  const Objects& objects() const { return objects_; }

 private:
  Result<Kept> keep(const std::string& key, const nlohmann::json& object, bool room) override {
    Result<std::optional<Object>> read = reader_(object);
    if (!read) {
      return tl::unexpected(read.error());
    }
    if (!*read) {
      return Kept::NotWanted;
    }
    const auto found = objects_.find(key);
    if (found == objects_.end()) {
      if (!room) {
        return Kept::NoRoom;
      }
      objects_.emplace(key, std::move(**read));
      return Kept::Changed;
    }
    if (found->second == **read) {
      return Kept::Same;
    }
    found->second = std::move(**read);
    return Kept::Changed;
  }
  bool drop(const std::string& key) override { return objects_.erase(key) != 0; }
  std::size_t size() const override { return objects_.size(); }
  std::vector<std::string> keys() const override {
    std::vector<std::string> all;
    all.reserve(objects_.size());
    for (const auto& [key, object] : objects_) {
      all.push_back(key);
    }
    return all;
  }

  Reader reader_;
  Objects objects_;
};

}  // namespace gpuskew
