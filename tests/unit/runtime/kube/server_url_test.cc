#include "runtime/kube/server_url.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

TEST(ServerUrl, ReadsTheFormsThatKubeconfigsHave) {
  const auto plain = parse_server_url("https://10.0.0.1:6443");
  ASSERT_TRUE(plain);
  EXPECT_TRUE(plain->is_tls);
  EXPECT_EQ(plain->address, (HostPort{"10.0.0.1", 6443}));
  EXPECT_EQ(plain->path, "");
  EXPECT_EQ(plain->host_header(), "10.0.0.1:6443");

  const auto rancher = parse_server_url("https://rancher.example/k8s/clusters/c-m-1/");
  ASSERT_TRUE(rancher);
  EXPECT_EQ(rancher->address, (HostPort{"rancher.example", 443}));
  EXPECT_EQ(rancher->path, "/k8s/clusters/c-m-1");
  EXPECT_EQ(rancher->host_header(), "rancher.example");

  const auto six = parse_server_url("https://[2001:db8::1]");
  ASSERT_TRUE(six);
  EXPECT_EQ(six->address, (HostPort{"2001:db8::1", 443}));
  EXPECT_EQ(six->host_header(), "[2001:db8::1]");

  const auto proxy = parse_server_url("http://localhost:8001");
  ASSERT_TRUE(proxy);
  EXPECT_FALSE(proxy->is_tls);
}

TEST(ServerUrl, TakesAServerWithoutSchemeForHttps) {
  const auto url = parse_server_url("api.example:6443");
  ASSERT_TRUE(url);
  EXPECT_TRUE(url->is_tls);
}

TEST(ServerUrl, RefusesWhatIsNone) {
  for (const std::string& text :
       {std::string(), std::string("https://"), std::string("https://a:b"), std::string("https://a b"),
        std::string("https://a\r\nX: y"), std::string("ftp://a"), std::string("unix:///run/x"),
        std::string("https://a/?x=1"), "https://" + std::string(3000, 'a')}) {
    EXPECT_FALSE(parse_server_url(text)) << text;
  }
}

TEST(ServerUrl, ShowsNoPassword) {
  const auto url = parse_server_url("ftp://ops:hunter2@proxy.example:3128");
  ASSERT_FALSE(url);
  EXPECT_EQ(url.error().what, "'proxy.example:3128': only https:// and http:// are");
}

TEST(ServerUrl, ReadsAProxyWithItsPassword) {
  const auto proxy = parse_proxy_url("http://ops:hunter2@proxy.example:3128");
  ASSERT_TRUE(proxy);
  EXPECT_EQ(proxy->address, (HostPort{"proxy.example", 3128}));
  EXPECT_EQ(proxy->basic_authorization(), "Basic b3BzOmh1bnRlcjI=");
  EXPECT_EQ(parse_proxy_url("socks5://proxy.example").error().what,
            "proxy-url 'socks5': only http:// proxies are supported");
}

}  // namespace
}  // namespace gpuskew
