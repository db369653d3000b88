#pragma once

// Equal facts of many nodes, kept once: most nodes of a fleet are alike, and what they say of their hardware, packages
// and kernels is most of what they say.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "core/fact.h"

namespace gpuskew {

class FactPool {
 public:
  /// Makes `fact` share the value of an equal fact that was given with the same `hash` before. `hash` is any function
  /// of the fact; what has one hash and differs is not shared, so a bad one costs memory and nothing else.
  template <class T>
  void share(Fact<T>& fact, std::uint64_t hash) {
    using Told = typename Fact<T>::Told;
    Entry& entry = entries_[hash];
    if (entry.type == &kType<T>) {
      auto pooled = std::static_pointer_cast<const Told>(entry.told);
      if (pooled == fact.told_ || *pooled == fact.told()) {
        fact.told_ = std::move(pooled);
        return;
      }
    }
    if (fact.told_ != nullptr) {
      entry = Entry{&kType<T>, fact.told_};
    }
    if (entries_.size() >= sweep_at_) {
      sweep();
    }
  }

  std::size_t size() const { return entries_.size(); }

 private:
  /// Below this many the pool is never swept.
  static constexpr std::size_t kFirstSweep = 1024;

  struct Entry {
    const char* type = nullptr;  ///< which T: two facts of different types may have one hash
    std::shared_ptr<const void> told;
  };
  template <class T>
  static constexpr char kType = 0;

  /// Forgets what no snapshot has any more, at a cost that many calls of share() bear together.
  void sweep() {
    std::erase_if(entries_, [](const auto& entry) { return entry.second.told.use_count() <= 1; });
    sweep_at_ = std::max(kFirstSweep, entries_.size() + entries_.size() / 4);
  }

  std::unordered_map<std::uint64_t, Entry> entries_;
  std::size_t sweep_at_ = kFirstSweep;
};

}  // namespace gpuskew
