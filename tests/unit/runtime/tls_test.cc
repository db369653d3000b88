#include "runtime/tls.h"

#include <sys/stat.h>

#include <fstream>

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "runtime/file.h"
#include "tests/support/certificates.h"
#include "tests/unit/runtime/temporary_directory.h"

namespace gpuskew {
namespace {

class TlsContextTest : public testing::Test {
 protected:
  static CertificateSpec named(const std::string& name) {
    CertificateSpec spec;
    spec.common_name = name;
    spec.dns_names = {name};
    return spec;
  }
  std::string error_of(const TlsFiles& files) {
    const auto context = TlsContext::server(files);
    return context ? "no error" : context.error().what;
  }
  std::string path(const std::string& file) const { return (directory_.path() / file).string(); }

  TemporaryDirectory directory_;
  CertificateAuthority authority_{directory_.path(), "good"};
  TlsFiles files_ = authority_.issue("node-a", named("node-a"));
};

TEST_F(TlsContextTest, TakesGoodFilesForBothSides) {
  EXPECT_TRUE(TlsContext::server(files_));
  EXPECT_TRUE(TlsContext::client(files_));
}

TEST_F(TlsContextTest, NeedsNoIdentityAsAClientAndNoCaAsAServer) {
  EXPECT_TRUE(TlsContext::client(TlsFiles{files_.ca, {}, {}}));
  EXPECT_TRUE(TlsContext::server(TlsFiles{{}, files_.certificate, files_.key}));
  EXPECT_EQ(TlsContext::client(TlsFiles{}).error().what, "ca: no file is named");
  EXPECT_EQ(error_of(TlsFiles{files_.ca, {}, {}}), "certificate: no file is named");
  EXPECT_EQ(error_of(TlsFiles{files_.ca, files_.certificate, {}}), "key: no file is named");
}

TEST_F(TlsContextTest, NamesAMissingFile) {
  files_.certificate = path("missing.pem");
  EXPECT_EQ(error_of(files_), "certificate: reading " + path("missing.pem") + ": no such file or directory");
}

TEST_F(TlsContextTest, NamesAFileThatIsADirectory) {
  files_.ca = directory_.path();
  EXPECT_EQ(error_of(files_), "ca: reading " + directory_.path().string() + ": is a directory");
}

TEST_F(TlsContextTest, NamesAFileWithoutPem) {
  std::ofstream(path("text")) << "no PEM here\n";
  TlsFiles wrong = files_;
  wrong.certificate = path("text");
  EXPECT_EQ(error_of(wrong), "certificate " + path("text") + ": holds no PEM certificate");
  wrong = files_;
  wrong.ca = path("text");
  EXPECT_EQ(error_of(wrong), "ca " + path("text") + ": holds no PEM certificate");
  wrong = files_;
  wrong.key = path("text");
  EXPECT_EQ(error_of(wrong).find("key " + path("text") + ": holds no PEM private key"), 0U) << error_of(wrong);
}

TEST_F(TlsContextTest, NamesADamagedCertificate) {
  std::string pem = read_file(files_.certificate).value();
  pem.replace(pem.find('\n') + 1, 4, "!!!!");
  std::ofstream(path("damaged.pem")) << pem;
  files_.certificate = path("damaged.pem");
  EXPECT_EQ(error_of(files_).find("certificate " + path("damaged.pem") + ": does not parse"), 0U) << error_of(files_);
}

TEST_F(TlsContextTest, NamesAKeyOfAnotherCertificate) {
  files_.key = authority_.issue("node-b", named("node-b")).key;
  EXPECT_EQ(error_of(files_),
            "key " + path("node-b.key") + ": does not match the certificate in " + path("node-a.pem"));
}

TEST_F(TlsContextTest, NamesAnExpiredCertificateAndOneOfTheFuture) {
  CertificateSpec spec = named("old");
  spec.valid_from = std::chrono::hours(-48);
  spec.valid_until = std::chrono::hours(-24);
  EXPECT_EQ(error_of(authority_.issue("old", spec)).find("certificate " + path("old.pem") + ": expired on 20"), 0U);
  spec.valid_from = std::chrono::hours(24);
  spec.valid_until = std::chrono::hours(48);
  EXPECT_EQ(error_of(authority_.issue("new", spec)).find("certificate " + path("new.pem") + ": is not valid before 20"),
            0U);
}

TEST_F(TlsContextTest, SaysThatAKeyNeedsAPassphraseInsteadOfAsking) {
  EVP_PKEY* const key = EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
  std::FILE* const file = std::fopen(path("secret.key").c_str(), "w");
  unsigned char passphrase[] = "passphrase";
  PEM_write_PrivateKey(file, key, EVP_aes_128_cbc(), passphrase, 10, nullptr, nullptr);
  std::fclose(file);
  EVP_PKEY_free(key);
  files_.key = path("secret.key");
  EXPECT_EQ(error_of(files_),
            "key " + path("secret.key") + ": is protected by a passphrase; store it without one, mode 0600");
}

TEST_F(TlsContextTest, RefusesAFileOverItsLimit) {
  std::ofstream(path("big")) << std::string(kMaxPemBytes + 1, 'x');
  files_.ca = path("big");
  EXPECT_EQ(TlsContext::server(files_).error().code, ErrorCode::TooLarge);
}

TEST_F(TlsContextTest, KeepsTheOldContextWhenAReloadFails) {
  auto context = TlsContext::server(files_);
  ASSERT_TRUE(context);
  const SSL_CTX* const before = context->native();
  std::ofstream(files_.certificate) << "broken";
  EXPECT_FALSE(context->reload());
  EXPECT_EQ(context->native(), before);
  const TlsFiles other = authority_.issue("node-b", named("node-b"));
  ASSERT_TRUE(context->reload(other));
  EXPECT_NE(context->native(), before);
  EXPECT_TRUE(context->reload());  // the files that were good last
}

TEST_F(TlsContextTest, WarnsOfAKeyThatEveryUserCanRead) {
  EXPECT_EQ(key_permission_warning(files_), std::nullopt);
  EXPECT_EQ(key_permission_warning(TlsFiles{}), std::nullopt);
  ASSERT_EQ(::chmod(files_.key.c_str(), 0644), 0);
  EXPECT_EQ(key_permission_warning(files_),
            "key " + path("node-a.key") + " can be read by every user of this machine; chmod 0600 it");
}

}  // namespace
}  // namespace gpuskew
