#include "tests/cluster/cluster.h"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

// What make_namespace() made, and only that, is removed by the next test.
constexpr std::string_view kTestNamespace = "gpuskew.io/test-namespace";

std::string tool(std::string_view name) {
  return GPUSKEW_SOURCE_DIR "/tests/cluster/" + std::string(name);
}

std::string kubectl_program() {
  const char* chosen = std::getenv("KUBECTL");
  return chosen != nullptr && *chosen != '\0' ? chosen : "kubectl";
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) {
    all += (all.empty() ? "" : " ") + word;
  }
  return all;
}

/// The value of NAME=value in the file `env` that kube-up writes.
std::string setting(const std::filesystem::path& file, std::string_view name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == '=') {
      return line.substr(name.size() + 1);
    }
  }
  throw std::runtime_error("no " + std::string(name) + " in " + file.string() + ": is this a directory of kube-up?");
}

/// JSON as a file for kubectl, removed at the end of the scope.
class PassingFile {
 public:
  explicit PassingFile(const nlohmann::json& object) { std::ofstream(path_) << object; }

  std::string name() const { return path_.string(); }

 private:
  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_.path() / "object.json";
};

}  // namespace

nlohmann::json node_object(const NodeShape& shape) {
  nlohmann::json resources = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "110"}};
  if (shape.gpus > 0) {
    resources["nvidia.com/gpu"] = std::to_string(shape.gpus);
  }
  const nlohmann::json ready = {{"type", "Ready"},
                                {"status", shape.ready ? "True" : "False"},
                                {"reason", shape.ready ? "KubeletReady" : "KubeletNotReady"},
                                {"message", "a node of a test"}};
  const nlohmann::json info = {{"kernelVersion", shape.kernel},
                               {"osImage", shape.os_image},
                               {"architecture", shape.architecture},
                               {"operatingSystem", "linux"},
                               {"machineID", shape.name},
                               {"systemUUID", shape.name},
                               {"bootID", shape.name},
                               {"containerRuntimeVersion", "containerd://1.7.0"},
                               {"kubeletVersion", "v1.20.2"},
                               {"kubeProxyVersion", "v1.20.2"}};
  nlohmann::json labels = {{"kubernetes.io/hostname", shape.name}, {"kubernetes.io/os", "linux"}};
  labels.update(nlohmann::json(shape.labels));
  return {{"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata", {{"name", shape.name}, {"labels", labels}, {"annotations", shape.annotations}}},
          {"status",
           {{"capacity", resources},
            {"allocatable", resources},
            {"conditions", nlohmann::json::array({ready})},
            {"nodeInfo", info}}}};
}

Cluster::Cluster(std::filesystem::path directory)
    : directory_(std::move(directory)),
      server_(setting(directory_ / "env", "KUBE_SERVER")),
      version_(setting(directory_ / "env", "KUBE_VERSION")),
      minor_(std::stoi(version_.substr(std::string_view("v1.").size()))),
      has_controllers_(setting(directory_ / "env", "KUBE_API_ONLY") == "no") {}

std::vector<std::string> Cluster::kubectl_command(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command{kubectl_program(), "--kubeconfig", admin().string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

Environment Cluster::kubectl_environment() const {
  // Beside the control plane: the cache of what the server has goes when the server goes.
  return {{"KUBECACHEDIR", (directory_ / "kubectl-cache").string()}};
}

Outcome Cluster::try_kubectl(const std::vector<std::string>& arguments) const {
  return run(kubectl_command(arguments), kubectl_environment(), kClusterPatience);
}

Process Cluster::start_kubectl(const std::vector<std::string>& arguments) const {
  return Process::start(kubectl_command(arguments), kubectl_environment());
}

std::string Cluster::kubectl(const std::vector<std::string>& arguments) const {
  Outcome outcome = try_kubectl(arguments);
  if (outcome.code != 0) {
    throw std::runtime_error("kubectl " + joined(arguments) + ": exit " + std::to_string(outcome.code) + ": " +
                             outcome.err);
  }
  return std::move(outcome.out);
}

nlohmann::json Cluster::get(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), "get");
  arguments.insert(arguments.end(), {"-o", "json"});
  return nlohmann::json::parse(kubectl(arguments));
}

nlohmann::json Cluster::get_path(const std::string& path) const {
  return nlohmann::json::parse(kubectl({"get", "--raw", path}));
}

nlohmann::json Cluster::post_path(const std::string& path, const nlohmann::json& body) const {
  const PassingFile file(body);
  return nlohmann::json::parse(kubectl({"create", "--raw", path, "-f", file.name()}));
}

void Cluster::put(const nlohmann::json& object) const {
  const PassingFile file(object);
  const Outcome outcome = try_kubectl({"create", "-f", file.name()});
  if (outcome.code == 0) {
    return;
  }
  if (outcome.err.find("AlreadyExists") == std::string::npos) {
    throw std::runtime_error("kubectl create of " + object.dump() + ": " + outcome.err);
  }
  kubectl({"replace", "-f", file.name()});
}

void Cluster::make_node(const NodeShape& shape) const {
  const nlohmann::json node = node_object(shape);
  put(node);
  // Of a node that was there already only this path takes the status.
  const PassingFile file(node);
  kubectl({"replace", "--raw", "/api/v1/nodes/" + shape.name + "/status", "-f", file.name()});
}

Process Cluster::fake_nodes(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), {tool("fake-nodes"), "run", "--kubeconfig", admin().string()});
  Process process = Process::start(arguments);
  process.wait_for_line("keeping nodes alive", 0, kClusterPatience);
  return process;
}

void Cluster::kube_restart(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), tool("kube-restart"));
  arguments.insert(arguments.end(), {directory_.string(), "kube-apiserver"});
  const Outcome outcome = run(arguments, {}, kClusterPatience);
  if (outcome.code != 0) {
    throw std::runtime_error(joined(arguments) + ": exit " + std::to_string(outcome.code) + ": " + outcome.err);
  }
}

void Cluster::restart_api_server(End end) const {
  stop_api_server(end);
  start_api_server();
}

void Cluster::stop_api_server(End end) const {
  std::vector<std::string> arguments{"--only-stop"};
  if (end == End::killed) {
    arguments.emplace_back("--kill");
  }
  kube_restart(std::move(arguments));
}

void Cluster::start_api_server() const {
  kube_restart({"--only-start"});
}

void ClusterTest::SetUp() {
  const char* kubeconfig = std::getenv("KUBECONFIG");
  if (kubeconfig == nullptr || !std::filesystem::exists(kubeconfig)) {
    GTEST_SKIP() << "no control plane: KUBECONFIG names no file";
  }
  cluster_ = std::make_unique<Cluster>(std::filesystem::absolute(kubeconfig).parent_path());
  // An earlier test may have died with the server down.
  cluster_->start_api_server();
  cluster_->kubectl({"delete", "--raw", "/api/v1/nodes"});  // at once, however many there are
  cluster_->kubectl({"delete", "namespaces", "--selector", std::string(kTestNamespace), "--wait=false"});
}

std::string ClusterTest::make_namespace() const {
  const nlohmann::json object = {{"apiVersion", "v1"},
                                 {"kind", "Namespace"},
                                 {"metadata", {{"generateName", "test-"}, {"labels", {{kTestNamespace, "true"}}}}}};
  const PassingFile file(object);
  return cluster_->kubectl({"create", "-f", file.name(), "-o", "jsonpath={.metadata.name}"});
}

}  // namespace gpuskew
