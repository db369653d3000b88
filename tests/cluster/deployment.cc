#include "tests/cluster/deployment.h"

#include <nlohmann/json.hpp>

namespace gpuskew {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kOurs = "app.kubernetes.io/part-of=gpuskew";

}  // namespace

Deployment::Deployment(const Cluster& cluster, const std::vector<std::string>& components)
    : cluster_(cluster), directory_(temporary_.path() / "kubernetes") {
  fs::copy(fs::path(GPUSKEW_SOURCE_DIR) / "deploy/kubernetes", directory_, fs::copy_options::recursive);
  std::string text = read_file(directory_ / "kustomization.yaml");
  text += components.empty() ? "" : "\ncomponents:\n";
  for (const std::string& component : components) {
    text += "  - components/" + component + "\n";
  }
  write_file(directory_ / "kustomization.yaml", text);
}

// Roles that nobody is bound to give nothing.
void Deployment::clear() const {
  std::string kinds = "rolebindings,clusterrolebindings";
  if (cluster_.minor() >= 30) {
    kinds += ",validatingadmissionpolicybindings";
  }
  cluster_.kubectl({"delete", kinds, "--all-namespaces", "--selector=" + std::string(kOurs)});
  cluster_.kubectl({"-n", std::string(kDeployedNamespace), "delete", "pods", "--all", "--force", "--grace-period=0"});
}

void Deployment::install() const {
  clear();
  cluster_.kubectl({"apply", "-k", directory_.string()});
  cluster_.kubectl({"-n", std::string(kDeployedNamespace), "delete", "daemonsets,deployments", "--all"});
}

void Deployment::install_rights() const {
  clear();
  // What runs, and the Services before it, are the objects with a name of an application.
  cluster_.kubectl(
      {"apply", "--server-side", "--force-conflicts", "--selector=!app.kubernetes.io/name", "-k", directory_.string()});
}

void Deployment::put_pod(std::string_view name, std::string_view account, std::string_view node) const {
  const nlohmann::json container = {{"name", "agent"}, {"image", "gpuskew-agent"}};
  cluster_.put({{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", {{"name", name}, {"namespace", kDeployedNamespace}}},
                {"spec",
                 {{"serviceAccountName", account},
                  {"nodeName", node},
                  {"tolerations", nlohmann::json::array({{{"operator", "Exists"}}})},
                  {"containers", nlohmann::json::array({container})}}}});
}

void Deployment::delete_pod(std::string_view name) const {
  cluster_.kubectl(
      {"-n", std::string(kDeployedNamespace), "delete", "pod", std::string(name), "--force", "--grace-period=0"});
}

std::string Deployment::token(std::string_view account, std::string_view audience, std::string_view pod) const {
  nlohmann::json spec = nlohmann::json::object();
  if (!audience.empty()) {
    spec["audiences"] = nlohmann::json::array({audience});
  }
  if (!pod.empty()) {
    spec["boundObjectRef"] = {{"kind", "Pod"}, {"apiVersion", "v1"}, {"name", pod}};
  }
  const std::string path =
      "/api/v1/namespaces/" + std::string(kDeployedNamespace) + "/serviceaccounts/" + std::string(account) + "/token";
  const nlohmann::json issued =
      cluster_.post_path(path, {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "TokenRequest"}, {"spec", spec}});
  return issued.at("status").at("token");
}

fs::path Deployment::kubeconfig(const std::string& token) const {
  const nlohmann::json cluster = {{"server", cluster_.server()},
                                  {"certificate-authority", (cluster_.certificates() / "ca.crt").string()}};
  const nlohmann::json config = {
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"current-context", "test"},
      {"clusters", nlohmann::json::array({{{"name", "test"}, {"cluster", cluster}}})},
      {"users", nlohmann::json::array({{{"name", "test"}, {"user", {{"token", token}}}}})},
      {"contexts", nlohmann::json::array({{{"name", "test"}, {"context", {{"cluster", "test"}, {"user", "test"}}}}})}};
  const fs::path file = temporary_.path() / ("kubeconfig-" + std::to_string(std::hash<std::string>{}(token)) + ".yaml");
  write_file(file, config.dump());
  return file;
}

std::string Deployment::patch(const std::string& token, const std::string& path, const std::string& type,
                              const std::string& body) const {
  return run({"curl",
              "--silent",
              "--noproxy",
              "*",
              "--max-time",
              "60",
              "-o",
              "/dev/null",
              "-w",
              "%{http_code}",
              "--cacert",
              (cluster_.certificates() / "ca.crt").string(),
              "--request",
              "PATCH",
              "--header",
              "Authorization: Bearer " + token,
              "--header",
              "Content-Type: application/" + type,
              "--data",
              body,
              cluster_.server() + path},
             {}, kClusterPatience)
      .out;
}

Outcome Deployment::as(const std::string& token, const std::vector<std::string>& arguments) const {
  std::vector<std::string> command{"--kubeconfig", kubeconfig(token).string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return cluster_.try_kubectl(command);
}

}  // namespace gpuskew
