#include "aggregator/config_check.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/support/certificates.h"
#include "tests/unit/aggregator/rig.h"

namespace gpuskew {
namespace {

class ConfigCheck : public testing::Test {
 protected:
  ConfigCheck() {
    config.agents.tls = authority.issue("aggregator", spec("aggregator"));
    config.agents.listen = "127.0.0.1:0";
    config.api.listen = "127.0.0.1:0";
    config.history.path = directory.path() / "history.db";
  }

  static CertificateSpec spec(const std::string& name) {
    CertificateSpec made;
    made.common_name = name;
    return made;
  }

  std::string problems() const {
    std::string text;
    for (const std::string& problem : all_problems(config)) {
      text += problem + "\n";
    }
    return text;
  }

  TempDir directory;
  CertificateAuthority authority{directory.path(), "test"};
  Config config;
};

TEST_F(ConfigCheck, FindsNothingWrongAndCreatesNothing) {
  EXPECT_EQ(problems(), "");
  EXPECT_FALSE(std::filesystem::exists(config.history.path));
}

TEST_F(ConfigCheck, FindsAKeyThatDoesNotMatchItsCertificate) {
  config.agents.tls.key = authority.issue("other", spec("other")).key;
  EXPECT_NE(problems().find("agents: "), std::string::npos) << problems();
}

TEST_F(ConfigCheck, ReportsEveryProblemOnALineOfItsOwn) {
  config.agents.listen = "somewhere";
  config.agents.tls.ca = directory.path() / "no-ca.pem";
  config.history.path = directory.path() / "no-directory" / "history.db";
  config.matrix_file = directory.write("matrix.csv", "what,is,this\n");
  config.api.token_file = directory.write("token", "short\n");
  const std::string found = problems();
  for (const char* key : {"agents.listen: ", "agents: ", "history.path: ", "matrix.file: ", "api.token_file: "}) {
    EXPECT_NE(found.find(key), std::string::npos) << key << "\n" << found;
  }
  EXPECT_NE(found.find("no-ca.pem"), std::string::npos) << found;
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 5);
}

TEST_F(ConfigCheck, RefusesPlainHttpOnANetwork) {
  config.api.listen = "0.0.0.0:7480";
  config.api.allow_anonymous = true;
  EXPECT_NE(problems().find("needs TLS"), std::string::npos) << problems();
}

TEST_F(ConfigCheck, RefusesAnOpenApiOnANetworkUnlessItIsSaidToBe) {
  config.api.listen = "0.0.0.0:7480";
  config.api.tls = config.agents.tls;
  config.api.tls->ca.clear();
  EXPECT_NE(problems().find("anyone could read"), std::string::npos) << problems();
  config.api.allow_anonymous = true;
  EXPECT_EQ(problems(), "");
}

TEST_F(ConfigCheck, RefusesADatabaseThatIsNone) {
  directory.write("history.db", std::string(8192, 'x'));
  EXPECT_NE(problems().find("history.path: "), std::string::npos) << problems();
  EXPECT_EQ(read_text(config.history.path), std::string(8192, 'x'));
}

TEST_F(ConfigCheck, WarnsOfAKeyThatEveryUserCanRead) {
  EXPECT_TRUE(warnings(config).empty());
  std::filesystem::permissions(config.agents.tls.key, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  ASSERT_EQ(warnings(config).size(), 1u);
  EXPECT_EQ(warnings(config).front().find("agents.key: "), 0u);
}

}  // namespace
}  // namespace gpuskew
