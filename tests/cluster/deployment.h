#pragma once

// gpuskew in a test's cluster as deploy/kubernetes installs it, and its accounts' real tokens.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/cluster/cluster.h"
#include "tests/e2e/host_tree.h"
#include "tests/support/process.h"

namespace gpuskew {

inline constexpr std::string_view kDeployedNamespace = "gpuskew";
inline constexpr std::string_view kAgentAccount = "gpuskew-agent";
inline constexpr std::string_view kAggregatorAccount = "gpuskew-aggregator";

/// Every call throws std::runtime_error with what kubectl said.
class Deployment {
 public:
  /// A private copy of deploy/kubernetes that names `components`; nothing is applied. `cluster` must outlive it.
  Deployment(const Cluster& cluster, const std::vector<std::string>& components);

  const std::filesystem::path& directory() const { return directory_; }
  /// Without rights, policies and pods of earlier tests: applies everything, then takes the workloads away again, whose
  /// images nobody has and whose pods would stand in other tests' way.
  void install() const;
  /// The same for accounts, rights and policies alone, in a fraction of the time.
  void install_rights() const;

  /// A pod of `account` on `node`, which no kubelet runs.
  void put_pod(std::string_view name, std::string_view account, std::string_view node) const;
  void delete_pod(std::string_view name) const;
  /// From the API server's TokenRequest. `audience` "": its own. `pod` "": bound to none.
  std::string token(std::string_view account, std::string_view audience = "", std::string_view pod = "") const;
  /// A kubeconfig with nothing but the token in it.
  std::filesystem::path kubeconfig(const std::string& token) const;
  /// The HTTP status of a PATCH as the token's owner. kubectl reads an object before it patches its status.
  std::string patch(const std::string& token, const std::string& path, const std::string& type,
                    const std::string& body) const;
  /// kubectl as the token's owner.
  Outcome as(const std::string& token, const std::vector<std::string>& arguments) const;

 private:
  void clear() const;

  const Cluster& cluster_;
  TemporaryDirectory temporary_;
  std::filesystem::path directory_;
};

}  // namespace gpuskew
