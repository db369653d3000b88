#include "runtime/kube/access.h"

#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

constexpr const char* kOneCluster =
    "apiVersion: v1\nkind: Config\ncurrent-context: main\n"
    "contexts: [{name: main, context: {cluster: c, user: u}}]\n"
    "clusters: [{name: c, cluster: {server: 'https://10.0.0.1:6443'}}]\n";

class KubeAccessTest : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    const auto path = directory_.path() / name;
    std::ofstream(path) << text;
    return path;
  }
  /// With this user.
  KubeAccess access_of(const std::string& user) const {
    const auto access =
        kubeconfig_access({write("config", kOneCluster + ("users: [{name: u, user: " + user + "}]\n"))});
    EXPECT_TRUE(access) << access.error().what;
    return access ? *access : KubeAccess();
  }
  /// The error's text behind the file's name.
  std::string error_of(const std::string& text, std::string_view context = {}) const {
    const auto path = write("config", text);
    const auto access = kubeconfig_access({path}, context);
    if (access) {
      return "no error";
    }
    std::string what = access.error().what;
    for (std::size_t at = what.find(path.string()); at != std::string::npos; at = what.find(path.string())) {
      what.replace(at, path.string().size(), "CONFIG");
    }
    return what;
  }
  std::string user_error(const std::string& user) const {
    return error_of(kOneCluster + ("users: [{name: u, user: " + user + "}]\n"));
  }

  TemporaryDirectory directory_;
};

TEST_F(KubeAccessTest, ReadsWhatKindWrites) {
  const auto path = write("config",
                          "apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: Q0E=\n"
                          "    server: https://127.0.0.1:42781\n  name: kind-kind\ncontexts:\n- context:\n"
                          "    cluster: kind-kind\n    user: kind-kind\n  name: kind-kind\n"
                          "current-context: kind-kind\nkind: Config\npreferences: {}\nusers:\n- name: kind-kind\n"
                          "  user:\n    client-certificate-data: Q0VSVA==\n    client-key-data: S0VZ\n");
  const auto access = kubeconfig_access({path});
  ASSERT_TRUE(access) << access.error().what;
  EXPECT_EQ(access->server, "https://127.0.0.1:42781");
  EXPECT_EQ(access->ca.data, "CA");
  EXPECT_EQ(access->certificate.data, "CERT");
  EXPECT_EQ(access->key.data, "KEY");
  EXPECT_EQ(access->name_space, "default");
  EXPECT_EQ(access->source, path.string() + ", context kind-kind");
}

TEST_F(KubeAccessTest, ReadsK3sAndMicrok8s) {
  const KubeAccess k3s = access_of("{client-certificate: pki/admin.crt, client-key: /etc/k3s/admin.key}");
  EXPECT_EQ(k3s.certificate.file, directory_.path() / "pki/admin.crt");
  EXPECT_EQ(k3s.key.file, "/etc/k3s/admin.key");
  EXPECT_EQ(access_of("{token: c2VjcmV0Cg==}").token, "c2VjcmV0Cg==");
  EXPECT_EQ(access_of("{token: 0123456789}").token, "0123456789");
  EXPECT_EQ(access_of("{tokenFile: token}").token_file, directory_.path() / "token");
  const KubeAccess basic = access_of("{username: admin, password: s3cret}");
  EXPECT_EQ(basic.username, "admin");
  EXPECT_EQ(basic.password, "s3cret");
}

TEST_F(KubeAccessTest, ReadsTheExecPluginsOfTheClouds) {
  const KubeAccess eks = access_of(
      "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: aws, args: [--region, eu-west-1, eks, "
      "get-token, --cluster-name, prod], env: [{name: AWS_PROFILE, value: ops}]}}");
  ASSERT_TRUE(eks.exec);
  EXPECT_EQ(eks.exec->command, "aws");
  EXPECT_EQ(eks.exec->arguments.size(), 6U);
  EXPECT_EQ(eks.exec->environment, (std::vector<std::pair<std::string, std::string>>{{"AWS_PROFILE", "ops"}}));

  const KubeAccess gke = access_of(
      "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: gke-gcloud-auth-plugin, installHint: Install "
      "gke-gcloud-auth-plugin, provideClusterInfo: true, interactiveMode: IfAvailable}}");
  EXPECT_EQ(gke.exec->install_hint, "Install gke-gcloud-auth-plugin");
  EXPECT_TRUE(gke.exec->provide_cluster_info);
  EXPECT_FALSE(gke.exec->needs_terminal);

  const KubeAccess aks = access_of(
      "{exec: {apiVersion: client.authentication.k8s.io/v1, command: bin/kubelogin, args: [get-token, --server-id, "
      "id], "
      "env: null, interactiveMode: Always, provideClusterInfo: false}}");
  EXPECT_EQ(aks.exec->command, (directory_.path() / "bin/kubelogin").string());
  EXPECT_TRUE(aks.exec->needs_terminal);
}

TEST_F(KubeAccessTest, ReadsJson) {
  const auto path = write("config", R"({
	"apiVersion": "v1", "kind": "Config", "current-context": "a",
	"contexts": [{"name": "a", "context": {"cluster": "c", "user": "u", "namespace": "gpu"}}],
	"clusters": [{"name": "c", "cluster": {"server": "https:\/\/api.example", "insecure-skip-tls-verify": true,
	              "tls-server-name": "inside", "proxy-url": "http://proxy:3128"}}],
	"users": [{"name": "u", "user": {"token": "t"}}]
})");
  const auto access = kubeconfig_access({path});
  ASSERT_TRUE(access) << access.error().what;
  EXPECT_EQ(access->server, "https://api.example");
  EXPECT_TRUE(access->skip_verify);
  EXPECT_EQ(access->tls_server_name, "inside");
  EXPECT_EQ(access->proxy_url, "http://proxy:3128");
  EXPECT_EQ(access->name_space, "gpu");
}

TEST_F(KubeAccessTest, TakesTheFirstFileThatSetsAName) {
  const auto first = write("first",
                           "current-context: b\nusers: [{name: u, user: {token: first}}]\n"
                           "contexts: [{name: a, context: {cluster: c, user: u}}]\n");
  const auto second = write("second",
                            "current-context: a\nusers: [{name: u, user: {token: second, username: left-out}}]\n"
                            "contexts: [{name: b, context: {cluster: c, user: u}}]\n"
                            "clusters: [{name: c, cluster: {server: 'https://one', certificate-authority: ca.pem}}]\n");
  const auto access = kubeconfig_access({directory_.path() / "missing", first, second});
  ASSERT_TRUE(access) << access.error().what;
  EXPECT_EQ(access->token, "first");
  EXPECT_EQ(access->username, "");
  EXPECT_EQ(access->source, first.string() + ", context b");
  EXPECT_EQ(access->ca.file, directory_.path() / "ca.pem");
  const auto other = kubeconfig_access({first, second}, "a");
  ASSERT_TRUE(other) << other.error().what;
  EXPECT_EQ(other->source, first.string() + ", context a");
}

TEST_F(KubeAccessTest, ActsAsAnotherUserWhenItIsTold) {
  const KubeAccess access = access_of("{token: t, as: jane, as-groups: [dev, ops], as-uid: '7'}");
  EXPECT_EQ(access.impersonate_user, "jane");
  EXPECT_EQ(access.impersonate_groups, (std::vector<std::string>{"dev", "ops"}));
  EXPECT_EQ(access.impersonate_uid, "7");
  EXPECT_EQ(user_error("{token: t, as-groups: [dev]}"),
            "kubeconfig: CONFIG: users[u].user.as: is missing; as-groups and as-uid need it");
}

TEST_F(KubeAccessTest, SaysWhatIsNotThere) {
  EXPECT_EQ(error_of(""),
            "kubeconfig: CONFIG: current-context: is not set; set it by `kubectl config use-context "
            "NAME` or name a context");
  EXPECT_EQ(error_of("current-context: a\n"), "kubeconfig: CONFIG: no context 'a'; there is none at all");
  EXPECT_EQ(error_of("contexts: [{name: x, context: {}}, {name: y, context: {}}]\n", "z"),
            "kubeconfig: CONFIG: no context 'z'; there are 'x', 'y'");
  EXPECT_EQ(error_of("current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"),
            "kubeconfig: CONFIG, context a: no cluster 'c'; there is none at all");
  EXPECT_EQ(error_of(kOneCluster), "kubeconfig: CONFIG, context main: no user 'u'; there is none at all");
  const auto missing = kubeconfig_access({"/no/such/file"});
  EXPECT_EQ(missing.error(), (Error{ErrorCode::NotFound,
                                    "kubeconfig: /no/such/file: no such file; name one with "
                                    "--kubeconfig or KUBECONFIG"}));
}

TEST_F(KubeAccessTest, RefusesWaysToLogInThatItDoesNotKnow) {
  EXPECT_EQ(user_error("{auth-provider: {name: gcp}}"),
            "kubeconfig: CONFIG: users[u].user.auth-provider: 'gcp': kubectl has dropped it too; take an exec plugin "
            "(gke-gcloud-auth-plugin)");
  EXPECT_EQ(user_error("{tocken: t}"),
            "kubeconfig: CONFIG: users[u].user.'tocken': no way to log in of this name is known");
  EXPECT_EQ(user_error("{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: aws}}"),
            "kubeconfig: CONFIG: users[u].user.exec.apiVersion: 'client.authentication.k8s.io/v1alpha1': only "
            "client.authentication.k8s.io/v1 and v1beta1 are; update the plugin's entry");
  EXPECT_EQ(user_error("{client-certificate-data: Q0VSVA==}"),
            "kubeconfig: CONFIG: users[u].user.client-key: is missing; certificate and key belong together");
  EXPECT_EQ(user_error("{client-key-data: '*'}"), "kubeconfig: CONFIG: users[u].user.client-key-data: not base64");
}

TEST_F(KubeAccessTest, RefusesToSkipAVerificationThatIsAskedFor) {
  EXPECT_EQ(error_of("current-context: a\ncontexts: [{name: a, context: {cluster: c}}]\n"
                     "clusters: [{name: c, cluster: {server: s, insecure-skip-tls-verify: true, "
                     "certificate-authority: ca}}]\n"),
            "kubeconfig: CONFIG: clusters[c].cluster.insecure-skip-tls-verify: a certificate-authority beside it; take "
            "one of both out");
}

TEST(KubeconfigFiles, AreThoseOfTheVariableOrTheHomes) {
  using Paths = std::vector<std::filesystem::path>;
  EXPECT_EQ(kubeconfig_files("/a:/b", "/home/ops"), (Paths{"/a", "/b"}));
  EXPECT_EQ(kubeconfig_files(":/a::", "/home/ops"), (Paths{"/a"}));
  EXPECT_EQ(kubeconfig_files("", "/home/ops"), (Paths{"/home/ops/.kube/config"}));
  EXPECT_EQ(kubeconfig_files("", ""), Paths{});
}

TEST(InClusterAccess, ComesFromThePodsAccount) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "namespace") << "gpuskew\n";
  const std::map<std::string, std::string, std::less<>> variables = {{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                                                     {"KUBERNETES_SERVICE_PORT", "443"}};
  const auto environment = [&variables](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
  const auto access = in_cluster_access(environment, directory.path());
  ASSERT_TRUE(access);
  EXPECT_EQ(access->server, "https://[fd00::1]:443");
  EXPECT_EQ(access->ca.file, directory.path() / "ca.crt");
  EXPECT_EQ(access->token_file, directory.path() / "token");
  EXPECT_EQ(access->name_space, "gpuskew");
  const auto outside = in_cluster_access([](std::string_view) { return std::nullopt; }, directory.path());
  EXPECT_EQ(outside.error().code, ErrorCode::NotFound);
}

}  // namespace
}  // namespace gpuskew
