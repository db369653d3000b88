#pragma once

// One kubeconfig file, read entry by entry. Inside of access.cc and its tests; yaml-cpp stays behind it.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "runtime/kube/access.h"
#include "runtime/pem_source.h"

namespace gpuskew {

/// Deeper nesting, or more values, than any kubeconfig has.
inline constexpr std::size_t kMaxKubeconfigDepth = 32;
inline constexpr std::size_t kMaxKubeconfigValues = 200'000;

/// A map in the file, key by key. The first thing that is wrong sticks, and later reads do nothing; error() returns it
/// as "FILE: users[ops].user.token: expected text". Copies refer to the same file.
class KubeconfigMap {
 public:
  bool has(std::string_view key) const;
  std::string text(std::string_view key) const;
  bool boolean(std::string_view key) const;
  std::vector<std::string> texts(std::string_view key) const;
  KubeconfigMap map(std::string_view key) const;
  std::vector<KubeconfigMap> maps(std::string_view key) const;
  /// A path as the file means it: relative to its directory. Empty when there is none.
  std::filesystem::path path(std::string_view key) const;
  /// KEY-data, which wins, or the file at KEY.
  PemSource pem(std::string_view key) const;
  std::vector<std::string> keys() const;
  /// "FILE: users[ops].user.KEY".
  std::string place(std::string_view key) const;

  void report(std::string_view key, ErrorCode code, std::string_view problem) const;
  const std::optional<Error>& error() const;

 private:
  friend class Kubeconfig;
  struct Document;
  struct Node;
  KubeconfigMap(std::shared_ptr<Document> document, std::shared_ptr<Node> node);
  std::optional<std::string> scalar(std::string_view key) const;

  std::shared_ptr<Document> document_;
  std::shared_ptr<Node> node_;
};

class Kubeconfig {
 public:
  /// YAML or JSON. `file` is for messages and relative paths. TooLarge past the limits; Malformed, with the line, for
  /// a syntax error, aliases (no kubeconfig has them, and they make much of little) or a top that is no map.
  static Result<Kubeconfig> parse(const std::filesystem::path& file, std::string_view text);

  const KubeconfigMap& top() const { return top_; }
  /// The entry's map: of `list` "clusters" and `inner` "cluster" the one of that name.
  Result<std::optional<KubeconfigMap>> entry(std::string_view list, std::string_view inner,
                                             std::string_view name) const;
  /// The names in a list, for messages.
  std::vector<std::string> names(std::string_view list) const;

 private:
  explicit Kubeconfig(KubeconfigMap top) : top_(std::move(top)) {}
  KubeconfigMap top_;
};

}  // namespace gpuskew
