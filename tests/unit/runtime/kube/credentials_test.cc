#include "runtime/kube/credentials.h"

#include <fstream>

#include <gtest/gtest.h>

#include "runtime/clock.h"
#include "runtime/file.h"
#include "tests/support/certificates.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

class KubeCredentialsTest : public testing::Test {
 protected:
  /// As Kubernetes replaces a token: another file under the same name.
  void replace(const std::filesystem::path& path, const std::string& text) const {
    ASSERT_TRUE(write_file_atomically(path, text));
  }
  static CertificateSpec named(const std::string& name) {
    CertificateSpec spec;
    spec.common_name = name;
    return spec;
  }

  TemporaryDirectory directory_;
  std::filesystem::path token_ = directory_.path() / "token";
  CertificateAuthority authority_{directory_.path(), "cluster"};
  TlsFiles files_ = authority_.issue("admin", named("admin"));
};

TEST_F(KubeCredentialsTest, ReadATokenAgainWhenItWasReplaced) {
  replace(token_, "first\n");
  KubeAccess access;
  access.token_file = token_;
  access.token = "passed over";
  const auto credentials = KubeCredentials::open(access, false, {});
  ASSERT_TRUE(credentials);
  EXPECT_EQ((*credentials)->headers(), "Authorization: Bearer first\r\n");
  replace(token_, "second\n");
  EXPECT_TRUE((*credentials)->refresh());
  EXPECT_EQ((*credentials)->headers(), "Authorization: Bearer second\r\n");
}

TEST_F(KubeCredentialsTest, KeepTheOldTokenWhileTheNewIsBroken) {
  replace(token_, "first");
  KubeAccess access;
  access.token_file = token_;
  const auto credentials = KubeCredentials::open(access, false, {});
  replace(token_, "");
  EXPECT_TRUE((*credentials)->refresh());
  EXPECT_EQ((*credentials)->headers(), "Authorization: Bearer first\r\n");
  EXPECT_EQ((*credentials)->problem(), "token " + token_.string() + ": the token is empty");
  EXPECT_FALSE((*credentials)->renew());
  replace(token_, "third");
  EXPECT_TRUE((*credentials)->renew());
  EXPECT_EQ((*credentials)->problem(), "");
}

TEST_F(KubeCredentialsTest, MakeANewTlsContextFromAReplacedCertificate) {
  KubeAccess access;
  access.ca.file = files_.ca;
  access.certificate.file = files_.certificate;
  access.key.file = files_.key;
  const auto credentials = KubeCredentials::open(access, true, {});
  ASSERT_TRUE(credentials);
  const auto before = (*credentials)->tls();
  const auto generation = (*credentials)->generation();
  EXPECT_TRUE((*credentials)->refresh());
  EXPECT_EQ((*credentials)->tls(), before);
  authority_.issue("admin", named("other"));
  EXPECT_TRUE((*credentials)->refresh());
  EXPECT_NE((*credentials)->tls(), before);
  EXPECT_NE((*credentials)->generation(), generation);
}

TEST_F(KubeCredentialsTest, TakeCertificatesAsText) {
  KubeAccess access;
  access.ca.data = read_file(files_.ca).value();
  access.certificate.data = read_file(files_.certificate).value();
  access.key.data = read_file(files_.key).value();
  EXPECT_TRUE(KubeCredentials::open(access, true, {}));
  access.key.data = "no key";
  const auto broken = KubeCredentials::open(access, true, {});
  EXPECT_EQ(broken.error().what.find("client: key: holds no PEM private key"), 0U) << broken.error().what;
}

TEST_F(KubeCredentialsTest, SayThatACertificateHasExpired) {
  CertificateSpec old = named("old");
  old.valid_from = std::chrono::hours(-48);
  old.valid_until = std::chrono::hours(-24);
  files_ = authority_.issue("old", old);
  KubeAccess access;
  access.certificate.file = files_.certificate;
  access.key.file = files_.key;
  const auto credentials = KubeCredentials::open(access, true, {});
  EXPECT_EQ(credentials.error().what.find("client: certificate " + files_.certificate.string() + ": expired on 20"), 0U)
      << credentials.error().what;
}

TEST_F(KubeCredentialsTest, RefuseATokenThatWouldEndItsHeader) {
  KubeAccess access;
  access.token = "a\r\nImpersonate-User: root";
  EXPECT_EQ(KubeCredentials::open(access, false, {}).error().what,
            "token: a token has no blanks or control characters in it");
  access.token = std::string(kMaxTokenBytes + 1, 't');
  EXPECT_EQ(KubeCredentials::open(access, false, {}).error().code, ErrorCode::TooLarge);
  access.token = "good";
  access.impersonate_user = "jane\nX: y";
  EXPECT_EQ(KubeCredentials::open(access, false, {}).error().code, ErrorCode::Malformed);
}

TEST_F(KubeCredentialsTest, SayWhoWeAreInEveryWay) {
  KubeAccess access;
  access.username = "admin";
  access.password = "secret";
  access.impersonate_user = "jane";
  access.impersonate_groups = {"dev", "ops"};
  const auto credentials = KubeCredentials::open(access, false, {});
  EXPECT_EQ((*credentials)->headers(),
            "Authorization: Basic YWRtaW46c2VjcmV0\r\nImpersonate-User: jane\r\nImpersonate-Group: dev\r\n"
            "Impersonate-Group: ops\r\n");
}

TEST_F(KubeCredentialsTest, RunAPluginAgainWhenItsCredentialExpires) {
  int runs = 0;
  Time expires = wall_clock_now() + std::chrono::hours(1);
  KubeAccess access;
  access.exec.emplace();
  access.exec->command = "login";
  const auto credentials = KubeCredentials::open(access, false, [&](const KubeAccess&) -> Result<ExecCredential> {
    ExecCredential credential;
    credential.token = "token" + std::to_string(++runs);
    credential.expires = expires;
    return credential;
  });
  ASSERT_TRUE(credentials);
  EXPECT_TRUE((*credentials)->refresh());
  EXPECT_EQ((*credentials)->headers(), "Authorization: Bearer token1\r\n");
  expires = wall_clock_now() + kExecExpiryMargin / 2;
  EXPECT_TRUE((*credentials)->renew());
  EXPECT_EQ((*credentials)->headers(), "Authorization: Bearer token2\r\n");
  EXPECT_TRUE((*credentials)->refresh());
  EXPECT_EQ((*credentials)->headers(), "Authorization: Bearer token3\r\n");
}

TEST_F(KubeCredentialsTest, RunNoPluginInAService) {
  KubeAccess access;
  access.exec.emplace();
  access.exec->command = "aws";
  EXPECT_EQ(KubeCredentials::open(access, false, {}).error(),
            (Error{ErrorCode::Unsupported,
                   "exec plugin 'aws': a service runs no programs; give it a token or a certificate"}));
  access.token = "stands-first";
  EXPECT_TRUE(KubeCredentials::open(access, false, {}));
}

}  // namespace
}  // namespace gpuskew
