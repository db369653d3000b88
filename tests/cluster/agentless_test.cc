// gpuskew straight against a cluster, with no aggregator and no agents: the shipped program and a real API server.

#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/cluster/cluster.h"
#include "tests/support/certificates.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

using Json = nlohmann::json;

constexpr const char* kCsv = "driver_branch,kernel,os_tag\n550,5.15.0-119-generic,ubuntu22.04\n";

NodeShape gpu_node(const std::string& name) {
  NodeShape shape;
  shape.name = name;
  shape.labels = {{"nvidia.com/gpu.present", "true"},
                  {"nvidia.com/cuda.driver.major", "550"},
                  {"nvidia.com/cuda.driver.minor", "90"},
                  {"nvidia.com/cuda.driver.rev", "07"},
                  {"feature.node.kubernetes.io/kernel-version.full", "5.15.0-119-generic"},
                  {"feature.node.kubernetes.io/system-os_release.ID", "ubuntu"},
                  {"feature.node.kubernetes.io/system-os_release.VERSION_ID", "22.04"}};
  return shape;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class AgentlessOnCluster : public ClusterTest {
 protected:
  Outcome gpuskew(std::vector<std::string> arguments) const { return gpuskew_as(cluster().admin(), arguments); }

  static Outcome gpuskew_as(const std::filesystem::path& kubeconfig, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {GPUSKEW_BINARY, "--kubeconfig", kubeconfig.string()});
    return run(arguments);
  }

  std::string matrix(const std::string& csv = kCsv) const { return write("matrix.csv", csv).string(); }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_.path() / name, std::ios::binary) << text;
    return directory_.path() / name;
  }

  /// The administrator's kubeconfig with `from` in it replaced.
  std::filesystem::path kubeconfig_with(const std::string& from, const std::string& to) const {
    std::string text = file_text(cluster().admin());
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return write("changed.kubeconfig", text);
  }

  /// A kubeconfig of this cluster's server, its authority in `ca`, and a client certificate.
  std::filesystem::path kubeconfig_of(const std::string& server, const std::filesystem::path& ca,
                                      const std::filesystem::path& certificate,
                                      const std::filesystem::path& key) const {
    return write("made.kubeconfig",
                 "apiVersion: v1\nkind: Config\ncurrent-context: made\nclusters:\n- name: c\n  cluster:\n    "
                 "server: " +
                     server + "\n    certificate-authority: " + ca.string() +
                     "\nusers:\n- name: u\n  user:\n    client-certificate: " + certificate.string() +
                     "\n    client-key: " + key.string() +
                     "\ncontexts:\n- name: made\n  context: {cluster: c, user: u}\n");
  }

  /// Exit code 2, nothing on standard output, one line that has each part.
  static void expect_one_line(const Outcome& outcome, const std::vector<std::string>& parts) {
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(lines_in(outcome.err), 1U) << outcome.err;
    for (const std::string& part : parts) {
      EXPECT_TRUE(has(outcome.err, part)) << part << " in: " << outcome.err;
    }
  }

  TemporaryDirectory directory_;
};

TEST_F(AgentlessOnCluster, PrintsTheTagOfANode) {
  cluster().make_node(gpu_node("gpu-1"));
  const Outcome outcome = gpuskew({"tag", "gpu-1"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, "550-5.15.0-119-generic-ubuntu22.04\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(AgentlessOnCluster, NamesTheMissingLabelAndTheNode) {
  NodeShape shape = gpu_node("gpu-1");
  shape.labels.erase("feature.node.kubernetes.io/system-os_release.VERSION_ID");
  cluster().make_node(shape);
  expect_one_line(gpuskew({"tag", "gpu-1"}),
                  {"node gpu-1 has no label feature.node.kubernetes.io/system-os_release.VERSION_ID"});
}

TEST_F(AgentlessOnCluster, NamesANodeThatIsNotThere) {
  expect_one_line(gpuskew({"tag", "no-such-node"}), {"no node no-such-node", cluster().server()});
  expect_one_line(gpuskew({"explain", "no-such-node"}), {"no node no-such-node"});
}

TEST_F(AgentlessOnCluster, ReportsALabelThatIsNotTheKubeletsKernel) {
  NodeShape shape = gpu_node("gpu-1");
  shape.kernel = "5.15.0-122-generic";
  cluster().make_node(shape);
  const std::string contradiction =
      "kernel-version.full says '5.15.0-119-generic', but status.nodeInfo.kernelVersion says '5.15.0-122-generic'";
  const Outcome tag = gpuskew({"tag", "gpu-1"});
  EXPECT_EQ(tag.out, "550-5.15.0-119-generic-ubuntu22.04\n");
  EXPECT_TRUE(has(tag.err, contradiction)) << tag.err;
  const Outcome audit = gpuskew({"audit", "--matrix", matrix()});
  EXPECT_EQ(audit.out, "OK\n");
  EXPECT_TRUE(has(audit.err, contradiction)) << audit.err;
  EXPECT_TRUE(has(gpuskew({"explain", "gpu-1"}).out, contradiction));
  EXPECT_TRUE(has(gpuskew({"nodes", "-o", "wide"}).out, contradiction));
  EXPECT_TRUE(has(gpuskew({"status"}).out, "1 at odds with its own labels"));
  EXPECT_TRUE(has(gpuskew({"report", "--matrix", matrix()}).err, "1 node is at odds with"));
}

TEST_F(AgentlessOnCluster, AuditNamesNodeAndMissingTagAndLeavesNodesWithoutGpuOut) {
  cluster().make_node(gpu_node("gpu-1"));
  NodeShape bumped = gpu_node("gpu-2");
  bumped.labels["feature.node.kubernetes.io/kernel-version.full"] = "5.15.0-122-generic";
  bumped.kernel = "5.15.0-122-generic";
  cluster().make_node(bumped);
  NodeShape plain;
  plain.name = "web-1";
  plain.gpus = 0;
  cluster().make_node(plain);
  const Outcome outcome = gpuskew({"audit", "--matrix", matrix()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "gpu-2 MISSING 550-5.15.0-122-generic-ubuntu22.04\n");
  EXPECT_EQ(outcome.err, "");
}

TEST_F(AgentlessOnCluster, AuditSaysOkOnlyWhenEveryGpuNodesTagIsKnown) {
  cluster().make_node(gpu_node("gpu-1"));
  EXPECT_EQ(gpuskew({"audit", "--matrix", matrix()}).out, "OK\n");
  NodeShape unlabelled;
  unlabelled.name = "gpu-2";
  cluster().make_node(unlabelled);
  const Outcome outcome = gpuskew({"audit", "--matrix", matrix()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(has(outcome.err, "gpu-2 UNKNOWN ")) << outcome.err;
}

TEST_F(AgentlessOnCluster, AnEmptyAuditIsNoAllClear) {
  expect_one_line(gpuskew({"audit", "--matrix", matrix()}), {"this cluster has no node, so there is nothing to audit"});
  NodeShape plain;
  plain.name = "web-1";
  plain.gpus = 0;
  cluster().make_node(plain);
  expect_one_line(gpuskew({"audit", "--matrix", matrix()}), {"none of the 1 nodes shows a sign of an NVIDIA GPU"});
}

TEST_F(AgentlessOnCluster, AsksForTheMatrix) {
  cluster().make_node(gpu_node("gpu-1"));
  expect_one_line(gpuskew({"audit"}), {"--matrix FILE"});
  expect_one_line(gpuskew({"audit", "--matrix", "/no/such.csv"}), {"--matrix", "/no/such.csv"});
}

TEST_F(AgentlessOnCluster, ForecastNamesTheImagesOfAnotherKernel) {
  cluster().make_node(gpu_node("gpu-1"));
  cluster().make_node(gpu_node("gpu-2"));
  const Outcome missing = gpuskew({"forecast", "--matrix", matrix(), "--kernel", "5.15.0-122-generic", "gpu-1"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_EQ(missing.out, "gpu-1 MISSING 550-5.15.0-122-generic-ubuntu22.04\n");
  const Outcome present = gpuskew({"forecast", "--matrix", matrix(), "--kernel", "5.15.0-119-generic"});
  EXPECT_EQ(present.code, 0);
  EXPECT_EQ(present.out, "gpu-1 OK 550-5.15.0-119-generic-ubuntu22.04\ngpu-2 OK 550-5.15.0-119-generic-ubuntu22.04\n");
  const Outcome unknown = gpuskew({"forecast", "--kernel", "5.15.0-119-generic", "gpu-1"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.out, "gpu-1 UNKNOWN 550-5.15.0-119-generic-ubuntu22.04\n");
  expect_one_line(gpuskew({"forecast", "--kernel", "5.15.0-119-generic", "nope"}), {"no node nope"});
}

TEST_F(AgentlessOnCluster, ReportsInFigures) {
  NodeShape done = gpu_node("lab-node-1");
  done.labels["nvidia.com/gpu-driver-upgrade-state"] = "upgrade-done";
  cluster().make_node(done);
  cluster().make_node(gpu_node("lab-node-2"));
  const Outcome one = gpuskew({"report", "--matrix", matrix(), "--node", "lab-node-1"});
  EXPECT_EQ(one.code, 0);
  EXPECT_EQ(one.out,
            "NODES=2\nSKEW=0\nLAB_NODE_1_TAG=550-5.15.0-119-generic-ubuntu22.04\nMATRIX_ROWS=1\n"
            "UPGRADE_STATE=upgrade-done\n");
  EXPECT_TRUE(has(gpuskew({"report", "--matrix", matrix()}).out, "UPGRADE_STATE=none:1,upgrade-done:1\n"));
  expect_one_line(gpuskew({"report", "--matrix", matrix(), "--node", "nope"}), {"no node nope"});
}

TEST_F(AgentlessOnCluster, NeverSaysThatANodeIsWell) {
  cluster().make_node(gpu_node("gpu-1"));
  const Outcome status = gpuskew({"status"});
  EXPECT_EQ(status.code, 2);
  EXPECT_TRUE(has(status.out, "1 node: 1 unknown")) << status.out;
  const Outcome findings = gpuskew({"findings"});
  EXPECT_EQ(findings.code, 2);
  EXPECT_EQ(findings.out, "");
  const Outcome explain = gpuskew({"explain", "gpu-1", "--matrix", matrix()});
  EXPECT_EQ(explain.code, 2);
  EXPECT_TRUE(has(explain.out, "gpu-1: unknown\nonly the Kubernetes API was asked")) << explain.out;
  EXPECT_TRUE(has(explain.out, "550-5.15.0-119-generic-ubuntu22.04, exists")) << explain.out;
  const Json node = Json::parse(gpuskew({"nodes", "-o", "json"}).out)["nodes"][0];
  EXPECT_EQ(node["state"], "unknown");
  EXPECT_TRUE(node["last_heard"].is_null());
  EXPECT_EQ(node["cluster"]["ready"], "yes");
  EXPECT_EQ(node["gpus"]["state"], "unknown");
}

TEST_F(AgentlessOnCluster, HasNoHistory) {
  expect_one_line(gpuskew({"history", "gpu-1"}), {"history", "--server or GPUSKEW_SERVER"});
}

TEST_F(AgentlessOnCluster, TakesKubeconfigOfTheEnvironmentWhereNoAggregatorIsNamed) {
  cluster().make_node(gpu_node("gpu-1"));
  const Environment kubeconfig = {{"KUBECONFIG", cluster().admin().string()}};
  EXPECT_EQ(run({GPUSKEW_BINARY, "tag", "gpu-1"}, kubeconfig).out, "550-5.15.0-119-generic-ubuntu22.04\n");
  const Outcome aggregator = run({GPUSKEW_BINARY, "--server", "http://127.0.0.1:1", "tag", "gpu-1"}, kubeconfig);
  EXPECT_EQ(aggregator.code, 2);
  EXPECT_TRUE(has(aggregator.err, "is gpuskew-aggregator running?")) << aggregator.err;
}

TEST_F(AgentlessOnCluster, NeedsGetAndListOnNodesAndNothingElse) {
  cluster().make_node(gpu_node("gpu-1"));
  cluster().put(Json::parse(R"({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
    "metadata": {"name": "gpuskew-reader"}, "rules": [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"]}]})"));
  cluster().put(Json::parse(R"({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
    "metadata": {"name": "gpuskew-reader"}, "subjects": [{"kind": "User", "name": "viewer", "apiGroup": "rbac.authorization.k8s.io"}],
    "roleRef": {"kind": "ClusterRole", "name": "gpuskew-reader", "apiGroup": "rbac.authorization.k8s.io"}})"));
  for (const std::vector<std::string>& question :
       {std::vector<std::string>{"tag", "gpu-1"},
        {"nodes"},
        {"audit", "--matrix", matrix()},
        {"report", "--matrix", matrix()},
        {"forecast", "--matrix", matrix(), "--kernel", "5.15.0-119-generic"}}) {
    const Outcome outcome = gpuskew_as(cluster().viewer_token(), question);
    EXPECT_EQ(outcome.code, 0) << question.front() << ": " << outcome.err;
  }
  cluster().kubectl({"delete", "clusterrolebinding/gpuskew-reader", "clusterrole/gpuskew-reader"});
}

TEST_F(AgentlessOnCluster, SaysWhichVerbIsForbidden) {
  expect_one_line(gpuskew_as(cluster().viewer_token(), {"nodes"}),
                  {cluster().server(), "viewer-token.kubeconfig", "cannot list resource \"nodes\"", "(Cluster)Role"});
  expect_one_line(gpuskew_as(cluster().viewer_token(), {"tag", "gpu-1"}), {"cannot get resource \"nodes\""});
}

TEST_F(AgentlessOnCluster, SaysWhatIsWrongWithAKubeconfig) {
  expect_one_line(gpuskew_as("/no/such/kubeconfig", {"nodes"}), {"/no/such/kubeconfig", "no such file"});
  expect_one_line(gpuskew_as(write("broken", "a: [b\n"), {"nodes"}), {"broken:2"});
  expect_one_line(gpuskew({"--context", "nope", "nodes"}), {"admin.kubeconfig", "no context 'nope'"});
  const auto no_token = kubeconfig_with("client-key-data: ", "client-key-data: !!!");
  expect_one_line(gpuskew_as(no_token, {"nodes"}), {"changed.kubeconfig"});
}

TEST_F(AgentlessOnCluster, SaysThatAClientCertificateHasExpired) {
  const std::string ca = (cluster().certificates() / "ca.crt").string();
  const std::string ca_key = (cluster().certificates() / "ca.key").string();
  const auto in = [this](const char* name) { return (directory_.path() / name).string(); };
  ASSERT_EQ(run({"openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc",
                 "-subj", "/O=system:masters/CN=late", "-keyout", in("late.key"), "-out", in("late.csr")})
                .code,
            0);
  ASSERT_EQ(run({"openssl", "x509", "-req", "-in", in("late.csr"), "-CA", ca, "-CAkey", ca_key, "-set_serial", "7",
                 "-days", "-1", "-out", in("late.crt")})
                .code,
            0);
  const auto config = kubeconfig_of(cluster().server(), ca, in("late.crt"), in("late.key"));
  expect_one_line(gpuskew_as(config, {"nodes"}), {"late.crt", "expired"});
}

TEST_F(AgentlessOnCluster, SaysThatTheAuthorityIsAnother) {
  const CertificateAuthority other(directory_.path(), "other");
  CertificateSpec spec;
  spec.common_name = "ops";
  const TlsFiles files = other.issue("ops", spec);
  const auto config = kubeconfig_of(cluster().server(), files.ca, files.certificate, files.key);
  expect_one_line(gpuskew_as(config, {"nodes"}), {cluster().server(), "certificate"});
}

TEST_F(AgentlessOnCluster, SaysThatNobodyListensThere) {
  const auto config = kubeconfig_with(cluster().server(), "https://127.0.0.1:1");
  expect_one_line(gpuskew_as(config, {"nodes"}), {"https://127.0.0.1:1", "connection refused"});
  const auto no_host = kubeconfig_with(cluster().server(), "https://no-such-host.invalid:6443");
  expect_one_line(gpuskew_as(no_host, {"nodes"}), {"no-such-host.invalid"});
}

}  // namespace
}  // namespace gpuskew
