#pragma once

// A real control plane as tests use it: the one whose administrator's kubeconfig $KUBECONFIG names, as kube-up makes
// it. README.md beside this file says how one is started by hand.

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/process.h"

namespace gpuskew {

/// How long a test waits for what the cluster's controllers do.
inline constexpr std::chrono::seconds kClusterPatience{90};

/// What a node says of itself and what is said of it.
struct NodeShape {
  std::string name;
  std::map<std::string, std::string> labels{};
  std::map<std::string, std::string> annotations{};
  /// status.nodeInfo
  std::string kernel = "5.15.0-119-generic";
  std::string os_image = "Ubuntu 22.04.4 LTS";
  std::string architecture = "amd64";
  /// nvidia.com/gpu in capacity and allocatable; none when 0.
  int gpus = 8;
  bool ready = true;
};

/// The Node as JSON, as a kubelet registers it.
nlohmann::json node_object(const NodeShape& shape);

/// A control plane that runs. Every call throws std::runtime_error with what kubectl or kube-restart said.
class Cluster {
 public:
  /// `directory` is what kube-up was given.
  explicit Cluster(std::filesystem::path directory);

  /// The kubeconfig of the administrator (client certificate, every right).
  std::filesystem::path admin() const { return directory_ / "admin.kubeconfig"; }
  /// The same rights by a token.
  std::filesystem::path admin_token() const { return directory_ / "admin-token.kubeconfig"; }
  /// User "viewer": a good login without any right.
  std::filesystem::path viewer_token() const { return directory_ / "viewer-token.kubeconfig"; }
  /// ca.crt and ca.key of the server and of client certificates, and all that was issued.
  std::filesystem::path certificates() const { return directory_ / "pki"; }
  /// "https://127.0.0.1:PORT", the same after restarts.
  const std::string& server() const { return server_; }
  /// "v1.20.2"
  const std::string& version() const { return version_; }
  /// 20 of 1.20.
  int minor() const { return minor_; }
  /// False with binaries that have no controller-manager and scheduler: no pod is placed, no account made.
  bool has_controllers() const { return has_controllers_; }

  /// What kubectl prints, as the administrator.
  std::string kubectl(const std::vector<std::string>& arguments) const;
  /// The same; it may fail.
  Outcome try_kubectl(const std::vector<std::string>& arguments) const;
  /// One that goes on, as a watch does.
  Process start_kubectl(const std::vector<std::string>& arguments) const;
  /// kubectl get ARGUMENTS -o json
  nlohmann::json get(std::vector<std::string> arguments) const;
  /// The reply to a GET of a path of the API.
  nlohmann::json get_path(const std::string& path) const;
  /// The reply to a POST of JSON to a path of the API.
  nlohmann::json post_path(const std::string& path, const nlohmann::json& body) const;
  /// Writes one object, whatever was there under its name; a status only when it is new.
  void put(const nlohmann::json& object) const;
  /// The same for a node, its status included.
  void make_node(const NodeShape& shape) const;

  /// fake-nodes run ARGUMENTS: nodes that stay Ready, and their pods; they last as long as the process.
  Process fake_nodes(std::vector<std::string> arguments) const;

  /// How a part goes down.
  enum class End { politely, killed };
  /// Returns when the API server answers again.
  void restart_api_server(End end = End::politely) const;
  void stop_api_server(End end = End::politely) const;
  /// Returns when it answers.
  void start_api_server() const;

 private:
  std::vector<std::string> kubectl_command(const std::vector<std::string>& arguments) const;
  Environment kubectl_environment() const;
  void kube_restart(std::vector<std::string> arguments) const;

  std::filesystem::path directory_;
  std::string server_;
  std::string version_;
  int minor_ = 0;
  bool has_controllers_ = false;
};

/// A test with a cluster to itself: no nodes, and no namespace that an earlier test made with make_namespace().
/// Skipped when $KUBECONFIG names no file.
class ClusterTest : public ::testing::Test {
 protected:
  void SetUp() override;

  const Cluster& cluster() const { return *cluster_; }
  /// A new namespace; its name.
  std::string make_namespace() const;

 private:
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace gpuskew
