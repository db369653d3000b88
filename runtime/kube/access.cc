#include "runtime/kube/access.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/file.h"
#include "runtime/kube/kubeconfig.h"

namespace gpuskew {
namespace {

std::string list_of(const std::vector<std::filesystem::path>& files) {
  std::string text;
  for (const auto& file : files) {
    text += (text.empty() ? "" : ", ") + file.string();
  }
  return text;
}

/// The files that are there, in their order.
Result<std::vector<Kubeconfig>> read_all(const std::vector<std::filesystem::path>& files) {
  std::vector<Kubeconfig> read;
  for (const auto& file : files) {
    auto text = read_file(file, kMaxKubeconfigBytes);
    if (!text && text.error().code == ErrorCode::NotFound) {
      continue;
    }
    if (!text) {
      return fail("kubeconfig", text.error());
    }
    auto parsed = Kubeconfig::parse(file, *text);
    if (!parsed) {
      return fail("kubeconfig", parsed.error());
    }
    read.push_back(std::move(*parsed));
  }
  if (read.empty()) {
    return fail(ErrorCode::NotFound, "kubeconfig: " + (files.empty() ? "no file is named" : list_of(files)) +
                                         ": no such file; name one with --kubeconfig or KUBECONFIG");
  }
  return read;
}

/// The first file's entry of that name, whole: entries are not mixed.
Result<KubeconfigMap> find_entry(const std::vector<Kubeconfig>& files, std::string_view list, std::string_view inner,
                                 const std::string& name, const std::string& asked_by) {
  std::string known;
  for (const Kubeconfig& file : files) {
    auto entry = file.entry(list, inner, name);
    if (!entry) {
      return fail("kubeconfig", entry.error());
    }
    if (*entry) {
      return **entry;
    }
    for (const std::string& other : file.names(list)) {
      known += (known.empty() ? "" : ", ") + in_quotes(other);
    }
  }
  constexpr std::size_t kShown = 400;
  if (known.size() > kShown) {
    known.resize(kShown);
    known += "...";
  }
  return fail(ErrorCode::NotFound, "kubeconfig: " + asked_by + ": no " + std::string(inner) + " " + in_quotes(name) +
                                       (known.empty() ? "; there is none at all" : "; there are " + known));
}

void read_cluster(const KubeconfigMap& cluster, KubeAccess& access) {
  access.server = cluster.text("server");
  access.ca = cluster.pem("certificate-authority");
  access.skip_verify = cluster.boolean("insecure-skip-tls-verify");
  access.tls_server_name = cluster.text("tls-server-name");
  access.proxy_url = cluster.text("proxy-url");
  if (access.server.empty()) {
    cluster.report("server", ErrorCode::Malformed, "names no server");
  }
  if (access.skip_verify && !access.ca.is_empty()) {
    cluster.report("insecure-skip-tls-verify", ErrorCode::Malformed,
                   "a certificate-authority beside it; take one of both out");
  }
}

void read_exec(const KubeconfigMap& exec, KubeAccess& access) {
  ExecPlugin plugin;
  plugin.command = exec.text("command");
  // A path is relative to the file; a bare name is looked up in PATH.
  if (plugin.command.find('/') != std::string::npos) {
    plugin.command = exec.path("command").string();
  }
  plugin.arguments = exec.texts("args");
  for (const KubeconfigMap& variable : exec.maps("env")) {
    plugin.environment.emplace_back(variable.text("name"), variable.text("value"));
  }
  plugin.api_version = exec.text("apiVersion");
  plugin.install_hint = exec.text("installHint");
  plugin.provide_cluster_info = exec.boolean("provideClusterInfo");
  plugin.needs_terminal = exec.text("interactiveMode") == "Always";
  const bool is_known = plugin.api_version == "client.authentication.k8s.io/v1" ||
                        plugin.api_version == "client.authentication.k8s.io/v1beta1";
  if (plugin.command.empty()) {
    exec.report("command", ErrorCode::Malformed, "names no program");
  } else if (!is_known) {
    exec.report("apiVersion", ErrorCode::Unsupported,
                in_quotes(plugin.api_version) +
                    ": only client.authentication.k8s.io/v1 and v1beta1 are; update the plugin's entry");
  }
  access.exec = std::move(plugin);
}

/// What a user entry may hold. An unknown key may be a way to log in that we would leave out.
constexpr std::array<std::string_view, 17> kUserKeys = {"client-certificate",
                                                        "client-certificate-data",
                                                        "client-key",
                                                        "client-key-data",
                                                        "token",
                                                        "tokenFile",
                                                        "as",
                                                        "as-uid",
                                                        "as-groups",
                                                        "as-user-extra",
                                                        "username",
                                                        "password",
                                                        "auth-provider",
                                                        "exec",
                                                        "extensions",
                                                        "auth-info",
                                                        "locationOfOrigin"};

void check_user(const KubeconfigMap& user, const KubeAccess& access) {
  for (const std::string& key : user.keys()) {
    if (std::find(kUserKeys.begin(), kUserKeys.end(), key) == kUserKeys.end()) {
      user.report(in_quotes(key), ErrorCode::Unsupported, "no way to log in of this name is known");
    }
  }
  if (user.has("auth-provider")) {
    const std::string name = user.map("auth-provider").text("name");
    user.report("auth-provider", ErrorCode::Unsupported,
                in_quotes(name) + ": kubectl has dropped it too; take an exec plugin" +
                    (name == "gcp"     ? " (gke-gcloud-auth-plugin)"
                     : name == "azure" ? " (kubelogin)"
                                       : ""));
  }
  if (user.has("as-user-extra")) {
    user.report("as-user-extra", ErrorCode::Unsupported, "impersonation with extra fields");
  }
  if (access.certificate.is_empty() != access.key.is_empty()) {
    user.report(access.key.is_empty() ? "client-key" : "client-certificate", ErrorCode::Malformed,
                "is missing; certificate and key belong together");
  }
  const bool has_groups = !access.impersonate_groups.empty() || !access.impersonate_uid.empty();
  if (has_groups && access.impersonate_user.empty()) {
    user.report("as", ErrorCode::Malformed, "is missing; as-groups and as-uid need it");
  }
}

void read_user(const KubeconfigMap& user, KubeAccess& access) {
  access.certificate = user.pem("client-certificate");
  access.key = user.pem("client-key");
  access.token = user.text("token");
  access.token_file = user.path("tokenFile");
  access.username = user.text("username");
  access.password = user.text("password");
  access.impersonate_user = user.text("as");
  access.impersonate_uid = user.text("as-uid");
  access.impersonate_groups = user.texts("as-groups");
  if (user.has("exec")) {
    read_exec(user.map("exec"), access);
  }
  check_user(user, access);
}

struct ChosenContext {
  std::string name;
  std::string file;
};

Result<ChosenContext> choose_context(const std::vector<Kubeconfig>& files, std::string_view context) {
  for (const Kubeconfig& file : files) {
    std::string current = context.empty() ? file.top().text("current-context") : std::string(context);
    if (file.top().error()) {
      return fail("kubeconfig", *file.top().error());
    }
    auto entry = file.entry("contexts", "context", current);
    if (!entry) {
      return fail("kubeconfig", entry.error());
    }
    // A name that is asked for is looked for in all files; a current one counts where it is set first.
    if (!current.empty() && (*entry || context.empty())) {
      return ChosenContext{std::move(current), file.top().place("")};
    }
  }
  if (!context.empty()) {
    return ChosenContext{std::string(context), files.front().top().place("")};
  }
  return fail(ErrorCode::NotFound, "kubeconfig: " + files.front().top().place("current-context") +
                                       ": is not set; set it by `kubectl config use-context NAME` or name a context");
}

std::string without_end(std::string place) {
  place.resize(place.find_last_not_of(": ") + 1);
  return place;
}

}  // namespace

std::vector<std::filesystem::path> kubeconfig_files(std::string_view kubeconfig, std::string_view home) {
  std::vector<std::filesystem::path> files;
  while (!kubeconfig.empty()) {
    const std::size_t end = std::min(kubeconfig.find(':'), kubeconfig.size());
    if (end != 0) {
      files.emplace_back(kubeconfig.substr(0, end));
    }
    kubeconfig.remove_prefix(std::min(end + 1, kubeconfig.size()));
  }
  if (files.empty() && !home.empty()) {
    files.push_back(std::filesystem::path(home) / ".kube" / "config");
  }
  return files;
}

Result<KubeAccess> kubeconfig_access(const std::vector<std::filesystem::path>& files, std::string_view context) {
  const auto read = read_all(files);
  if (!read) {
    return tl::unexpected(read.error());
  }
  const auto chosen = choose_context(*read, context);
  if (!chosen) {
    return tl::unexpected(chosen.error());
  }
  const std::string file = without_end(chosen->file);
  const auto entry = find_entry(*read, "contexts", "context", chosen->name, file);
  if (!entry) {
    return tl::unexpected(entry.error());
  }
  KubeAccess access;
  access.source = file + ", context " + chosen->name;
  access.name_space = entry->text("namespace");
  if (access.name_space.empty()) {
    access.name_space = "default";
  }
  const auto cluster = find_entry(*read, "clusters", "cluster", entry->text("cluster"), access.source);
  if (!cluster) {
    return tl::unexpected(cluster.error());
  }
  read_cluster(*cluster, access);
  if (cluster->error()) {
    return fail("kubeconfig", *cluster->error());
  }
  if (const std::string name = entry->text("user"); !name.empty()) {
    const auto user = find_entry(*read, "users", "user", name, access.source);
    if (!user) {
      return tl::unexpected(user.error());
    }
    read_user(*user, access);
    if (user->error()) {
      return fail("kubeconfig", *user->error());
    }
  }
  if (entry->error()) {
    return fail("kubeconfig", *entry->error());
  }
  return access;
}

Result<KubeAccess> in_cluster_access(const std::function<std::optional<std::string>(std::string_view)>& environment,
                                     const std::filesystem::path& directory) {
  const auto host = environment("KUBERNETES_SERVICE_HOST");
  const auto port = environment("KUBERNETES_SERVICE_PORT");
  if (!host || host->empty() || !port || port->empty()) {
    return fail(ErrorCode::NotFound,
                "this pod's service account: KUBERNETES_SERVICE_HOST and _PORT are not set; is this a pod?");
  }
  KubeAccess access;
  const bool is_v6 = host->find(':') != std::string::npos;
  access.server = "https://" + (is_v6 ? "[" + *host + "]" : *host) + ":" + *port;
  access.source = "this pod's service account";
  access.ca.file = directory / "ca.crt";
  access.token_file = directory / "token";
  auto name_space = read_file(directory / "namespace", kMaxTokenBytes);
  access.name_space = name_space && !name_space->empty() ? std::move(*name_space) : "default";
  access.name_space.resize(access.name_space.find_last_not_of(" \r\n") + 1);
  return access;
}

}  // namespace gpuskew
