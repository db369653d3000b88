#include "runtime/kube/exec_plugin.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/file.h"
#include "runtime/kube/json_text.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

constexpr const char* kVersion = "client.authentication.k8s.io/v1";

class ExecPluginTest : public testing::Test {
 protected:
  /// An access whose plugin is a script.
  KubeAccess plugin(const std::string& script) const {
    const auto path = directory_.path() / "plugin";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    ::chmod(path.c_str(), 0700);
    KubeAccess access;
    access.server = "https://10.0.0.1:6443";
    access.exec.emplace();
    access.exec->command = path.string();
    access.exec->api_version = kVersion;
    return access;
  }
  static std::string printing(const std::string& status) {
    return R"(echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)" + status +
           "}'\n";
  }

  TemporaryDirectory directory_;
};

TEST_F(ExecPluginTest, GivesAToken) {
  const auto credential =
      run_exec_plugin(plugin(printing(R"({"token":"abc","expirationTimestamp":"2026-11-30T16:05:37Z"})")));
  ASSERT_TRUE(credential) << credential.error().what;
  EXPECT_EQ(credential->token, "abc");
  EXPECT_EQ(to_rfc3339(*credential->expires), "2026-11-30T16:05:37Z");
}

TEST_F(ExecPluginTest, IsGivenItsArgumentsItsEnvironmentAndTheCluster) {
  const auto seen = directory_.path() / "seen";
  KubeAccess access = plugin("printf '%s\\n' \"$1\" \"$AWS_PROFILE\" \"$KUBERNETES_EXEC_INFO\" > " + seen.string() +
                             "\n" + printing(R"({"token":"t"})"));
  access.exec->arguments = {"a b; c"};
  access.exec->environment = {{"AWS_PROFILE", "ops"}};
  access.exec->provide_cluster_info = true;
  access.ca.data = "CA";
  ASSERT_TRUE(run_exec_plugin(access));
  EXPECT_EQ(read_file(seen).value(),
            "a b; c\nops\n"
            R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"cluster":)"
            R"({"certificate-authority-data":"Q0E=","server":"https://10.0.0.1:6443"},"interactive":false}})"
            "\n");
}

TEST_F(ExecPluginTest, TellsWhyItFailed) {
  EXPECT_EQ(run_exec_plugin(plugin("echo 'the SSO session has expired' >&2\nexit 255\n")).error(),
            (Error{ErrorCode::Denied, "it failed with exit code 255: the SSO session has expired"}));
  EXPECT_EQ(run_exec_plugin(plugin("kill -9 $$\n")).error().what, "it was ended by signal 9");
}

TEST_F(ExecPluginTest, SaysHowToInstallWhatIsNotThere) {
  KubeAccess access = plugin("");
  access.exec->command = "gpuskew-no-such-plugin";
  access.exec->install_hint = "Install it from\nhere";
  EXPECT_EQ(run_exec_plugin(access).error(), (Error{ErrorCode::NotFound, "no such program; Install it from here"}));
  access.exec->install_hint.clear();
  EXPECT_EQ(run_exec_plugin(access).error().what, "no such program; install it, or put it in PATH");
}

TEST_F(ExecPluginTest, IsKilledWithWhatItStartedWhenItTakesTooLong) {
  const auto pid_file = directory_.path() / "pid";
  const auto result = run_exec_plugin(plugin("sleep 600 &\necho $! > " + pid_file.string() + "\nwait\n"),
                                      std::chrono::milliseconds(500));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::Timeout);
  const pid_t sleeper = std::stoi(read_file(pid_file).value());
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto is_there = [sleeper] {
    const auto state = read_file("/proc/" + std::to_string(sleeper) + "/stat");
    return state && state->find(") Z") == std::string::npos;
  };
  while (is_there() && std::chrono::steady_clock::now() < limit) {
  }
  EXPECT_FALSE(is_there());
}

TEST_F(ExecPluginTest, IsWaitedForAlsoAfterItClosedItsOutput) {
  const auto result = run_exec_plugin(plugin("exec >&- 2>&-\nsleep 600\n"), std::chrono::milliseconds(300));
  EXPECT_EQ(result.error().code, ErrorCode::Timeout);
}

TEST_F(ExecPluginTest, MayNotPrintWithoutEnd) {
  EXPECT_EQ(run_exec_plugin(plugin("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done\n")).error().code,
            ErrorCode::TooLarge);
}

TEST_F(ExecPluginTest, CanNotAsk) {
  KubeAccess access = plugin("read -r password && exit 3\n" + printing(R"({"token":"t"})"));
  EXPECT_TRUE(run_exec_plugin(access));
  access.exec->needs_terminal = true;
  EXPECT_EQ(run_exec_plugin(access).error().code, ErrorCode::Unsupported);
}

TEST(ExecCredential, ReadsCertificatesAndZones) {
  const std::string head = R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)";
  const auto credential = parse_exec_credential(
      head +
          R"({"clientCertificateData":"C","clientKeyData":"K","expirationTimestamp":"2026-11-30T18:05:37.5+02:00"}})",
      kVersion);
  ASSERT_TRUE(credential) << credential.error().what;
  EXPECT_EQ(credential->certificate.data, "C");
  EXPECT_EQ(credential->key.data, "K");
  EXPECT_EQ(to_rfc3339(*credential->expires), "2026-11-30T16:05:37Z");
}

TEST(ExecCredential, RefusesWhatIsNone) {
  const std::string head = R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)";
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("secret"), head + "{}}", head + R"({"token":""}})",
        head + R"({"clientKeyData":"K"}})", head + R"({"token":"t","expirationTimestamp":"soon"}})"}) {
    const auto credential = parse_exec_credential(text, kVersion);
    ASSERT_FALSE(credential) << text;
    EXPECT_EQ(credential.error().what.find("secret"), std::string::npos);
  }
  EXPECT_EQ(parse_exec_credential(R"({"apiVersion":"x/v1beta1","kind":"ExecCredential"})", kVersion).error().what,
            "it printed an ExecCredential of 'x/v1beta1', and the kubeconfig asks for "
            "'client.authentication.k8s.io/v1'");
}

}  // namespace
}  // namespace gpuskew
