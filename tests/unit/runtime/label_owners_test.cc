#include "runtime/kube/label_owners.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gpuskew {
namespace {

Result<LabelOwners> owners_of(const char* text) {
  return label_owners(nlohmann::json::parse(text));
}

ErrorCode refusal_of(const char* text) {
  const auto owners = owners_of(text);
  EXPECT_FALSE(owners) << text;
  return owners ? ErrorCode::Internal : owners.error().code;
}

TEST(LabelOwnersTest, TellsWhoOwnsEachLabel) {
  const auto owners = owners_of(R"([
    {"manager": "gpuskew-agent", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
     "fieldsV1": {"f:metadata": {"f:labels": {"f:gpuskew.io/state": {}, "f:nvidia.com/gpu.present": {}}}}},
    {"manager": "kubectl-label", "operation": "Update", "fieldsType": "FieldsV1",
     "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:nvidia.com/gpu.present": {}}}}},
    {"manager": "kubelet", "operation": "Update", "subresource": "status", "fieldsType": "FieldsV1",
     "fieldsV1": {"f:status": {"f:conditions": {}}, "f:metadata": {"f:labels": {"f:a": {}}}}},
    {"manager": "kube-controller-manager", "operation": "Update", "fieldsType": "FieldsV1",
     "fieldsV1": {"f:metadata": {"f:annotations": {"f:x": {}}}}}])");
  ASSERT_TRUE(owners) << owners.error().what;
  EXPECT_EQ(*owners, (LabelOwners{{"a", {{"kubelet", false, "status"}}},
                                  {"gpuskew.io/state", {{"gpuskew-agent", true}}},
                                  {"nvidia.com/gpu.present", {{"gpuskew-agent", true}, {"kubectl-label", false}}}}));
}

TEST(LabelOwnersTest, HasNoOwnersWhereNothingIsManaged) {
  for (const char* text : {"null", "[]", R"([{"manager": "a", "operation": "Update"}])",
                           R"([{"manager": "a", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": {}}])"}) {
    const auto owners = owners_of(text);
    ASSERT_TRUE(owners) << owners.error().what;
    EXPECT_TRUE(owners->empty());
  }
}

TEST(LabelOwnersTest, RefusesWhatItCanNotRead) {
  EXPECT_EQ(refusal_of("{}"), ErrorCode::Malformed);
  EXPECT_EQ(refusal_of("[1]"), ErrorCode::Malformed);
  EXPECT_EQ(refusal_of(R"([{"manager": 1, "operation": "Update"}])"), ErrorCode::Malformed);
  EXPECT_EQ(refusal_of(R"([{"manager": "a", "operation": "Guess"}])"), ErrorCode::Unsupported);
  EXPECT_EQ(refusal_of(R"([{"manager": "a", "operation": "Apply", "fieldsType": "FieldsV2", "fieldsV1": {}}])"),
            ErrorCode::Unsupported);
  EXPECT_EQ(refusal_of(R"([{"manager": "a", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": []}])"),
            ErrorCode::Malformed);
  EXPECT_EQ(refusal_of(R"([{"manager": "a", "operation": "Apply", "fieldsType": "FieldsV1",
                            "fieldsV1": {"f:metadata": {"f:labels": 7}}}])"),
            ErrorCode::Malformed);
  const nlohmann::json many(kMaxFieldManagers + 1, {{"manager", "a"}, {"operation", "Apply"}});
  EXPECT_EQ(label_owners(many).error().code, ErrorCode::TooLarge);
}

TEST(LabelOwnersTest, NamesTheEntryItCanNotRead) {
  const auto owners = owners_of(R"([{"manager": "a", "operation": "Apply"}, 3])");
  ASSERT_FALSE(owners);
  EXPECT_EQ(owners.error().what, "metadata.managedFields[1]: it is no object");
}

TEST(LabelOwnersTest, TakesTheLabelFromAConflictsField) {
  EXPECT_EQ(label_of_field(".metadata.labels.nvidia.com/gpu.present"), "nvidia.com/gpu.present");
  EXPECT_EQ(label_of_field(".metadata.annotations.a"), "");
  EXPECT_EQ(label_of_field(""), "");
}

}  // namespace
}  // namespace gpuskew
