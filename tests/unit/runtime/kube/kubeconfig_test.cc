#include "runtime/kube/kubeconfig.h"

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

std::string error_of(std::string_view text) {
  const auto parsed = Kubeconfig::parse("/k/config", text);
  return parsed ? "no error" : parsed.error().what;
}

TEST(Kubeconfig, FindsEntriesByName) {
  const auto file = Kubeconfig::parse("/k/config", "users:\n- name: a\n  user: {token: x}\n- name: b\n  user: {}\n");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->entry("users", "user", "a").value()->text("token"), "x");
  EXPECT_EQ(file->entry("users", "user", "b").value()->text("token"), "");
  EXPECT_FALSE(file->entry("users", "user", "c").value());
  EXPECT_EQ(file->names("users"), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(file->names("clusters").empty());
}

TEST(Kubeconfig, NamesThePlaceOfAWrongType) {
  const auto file = Kubeconfig::parse("/k/config", "users:\n- name: a\n  user: {token: [1], exec: 7}\n");
  const auto user = *file->entry("users", "user", "a").value();
  EXPECT_EQ(user.text("token"), "");
  ASSERT_TRUE(user.error());
  EXPECT_EQ(user.error()->what, "/k/config: users[a].user.token: expected text");
}

TEST(Kubeconfig, RefusesListsAndTextWhereMapsBelong) {
  EXPECT_EQ(error_of("- a\n- b\n"), "/k/config: no kubeconfig: expected 'key: value' lines");
  EXPECT_EQ(error_of("just text"), "/k/config: no kubeconfig: expected 'key: value' lines");
  const auto file = Kubeconfig::parse("/k/config", "users: {a: b}\n");
  EXPECT_EQ(file->entry("users", "user", "a").error().what, "/k/config: users: expected a list");
}

TEST(Kubeconfig, NamesTheLineOfASyntaxError) {
  EXPECT_EQ(error_of("a: b\nc: [1\n").find("/k/config:"), 0U) << error_of("a: b\nc: [1\n");
}

TEST(Kubeconfig, RefusesAliases) {
  EXPECT_EQ(error_of("a: &x [1]\nb: [*x, *x]\n"), "/k/config:2: an alias; write the value out");
}

TEST(Kubeconfig, LimitsDepthCountAndSize) {
  const std::string deep = "a: " + std::string(kMaxKubeconfigDepth, '[') + std::string(kMaxKubeconfigDepth, ']');
  EXPECT_EQ(Kubeconfig::parse("/k", deep).error().code, ErrorCode::TooLarge);
  std::string many = "a: [";
  for (std::size_t value = 0; value <= kMaxKubeconfigValues; ++value) {
    many += "1,";
  }
  EXPECT_EQ(Kubeconfig::parse("/k", many + "1]").error().code, ErrorCode::TooLarge);
  EXPECT_EQ(Kubeconfig::parse("/k", std::string(kMaxKubeconfigBytes + 1, ' ')).error().code, ErrorCode::TooLarge);
}

TEST(Kubeconfig, PrefersDataToAFileAndPutsPathsUnderItsDirectory) {
  const auto file = Kubeconfig::parse(
      "/k/config", "m: {c: rel.pem, d: /abs.pem, e: x.pem, e-data: aGVsbG8=, f-data: '***', g: sub/../x.pem}\n");
  const KubeconfigMap map = file->top().map("m");
  EXPECT_EQ(map.pem("c").file, "/k/rel.pem");
  EXPECT_EQ(map.pem("d").file, "/abs.pem");
  EXPECT_EQ(map.pem("e"), (PemSource{"hello", {}}));
  EXPECT_TRUE(map.pem("nothing").is_empty());
  EXPECT_FALSE(map.error());
  EXPECT_TRUE(map.pem("f").is_empty());
  EXPECT_EQ(map.error()->what, "/k/config: m.f-data: not base64");
}

}  // namespace
}  // namespace gpuskew
