#include "aggregator/api_audit.h"

#include <gtest/gtest.h>

#include "tests/unit/aggregator/api_rig.h"

namespace gpuskew {
namespace {

using nlohmann::json;

constexpr const char* kCsv = "driver_branch,kernel,os_tag\n550,5.15.0-119-generic,ubuntu22.04\n";

TEST(ApiAudit, SaysWhereToConfigureAMatrixWhenThereIsNone) {
  ApiRig rig;
  const HttpResponse response = rig.get("/api/v1/audit");
  EXPECT_EQ(response.status, 409);
  EXPECT_NE(response.body.find("set matrix.file in /etc/gpuskew/aggregator.yaml"), std::string::npos) << response.body;
}

TEST(ApiAudit, SaysWhyAMatrixWasNeverRead) {
  ApiRig rig;
  rig.use_matrix("nonsense\n");
  const HttpResponse response = rig.get("/api/v1/audit");
  EXPECT_EQ(response.status, 409);
  EXPECT_NE(response.body.find("never read well"), std::string::npos) << response.body;
}

TEST(ApiAudit, IsOkWhenEveryImageExistsAndLeavesNodesWithoutGpuOut) {
  ApiRig rig;
  rig.use_matrix(kCsv);
  rig.report(healthy_snapshot("gpu-1"));
  rig.report(plain_snapshot("web-1"));
  const json audit = rig.json("/api/v1/audit");
  EXPECT_EQ(audit["result"], "ok");
  EXPECT_EQ(audit["matrix"]["rows"], 1);
  ASSERT_EQ(audit["nodes"].size(), 1u);
  EXPECT_EQ(audit["nodes"][0]["name"], "gpu-1");
  EXPECT_EQ(audit["nodes"][0]["verdict"], "ok");
  EXPECT_EQ(audit["nodes"][0]["tag"], "550-5.15.0-119-generic-ubuntu22.04");
  EXPECT_EQ(audit["notes"], json::array());
}

TEST(ApiAudit, NamesTheMissingTag) {
  ApiRig rig;
  rig.use_matrix(kCsv);
  rig.report(healthy_snapshot("gpu-1"));
  rig.report(healthy_snapshot("gpu-2"));
  rig.report(bumped_snapshot("gpu-2"));
  const json audit = rig.json("/api/v1/audit");
  EXPECT_EQ(audit["result"], "missing");
  EXPECT_EQ(audit["nodes"][1]["verdict"], "missing");
  EXPECT_EQ(audit["nodes"][1]["tag"], "550-5.15.0-122-generic-ubuntu22.04");
}

TEST(ApiAudit, ANodeWithoutATagIsUnknownAndNeverOk) {
  ApiRig rig;
  rig.use_matrix(kCsv);
  Snapshot snapshot = healthy_snapshot("gpu-1");
  snapshot.os = Fact<OsIdentity>::unknown(Error{ErrorCode::Denied, "permission denied"}, "/etc/os-release");
  rig.report(snapshot);
  const json audit = rig.json("/api/v1/audit");
  EXPECT_EQ(audit["result"], "unknown");
  EXPECT_TRUE(audit["nodes"][0]["tag"].is_null());
  EXPECT_NE(audit["nodes"][0]["why"].get<std::string>().find("permission denied"), std::string::npos);
}

TEST(ApiAudit, ASilentNodeIsUnknownAndNeverOk) {
  ApiRig rig;
  rig.use_matrix(kCsv);
  rig.report(healthy_snapshot("gpu-1"));
  rig.recorder.tick(kNow + rig.fleet.policy().silent_after);
  const json audit = rig.json("/api/v1/audit");
  EXPECT_EQ(audit["result"], "unknown");
  EXPECT_NE(audit["nodes"][0]["why"].get<std::string>().find("no word from the agent"), std::string::npos);
}

TEST(ApiAudit, ANodeThatMayHaveAGpuIsAudited) {
  ApiRig rig;
  rig.use_matrix(kCsv);
  Snapshot snapshot = plain_snapshot("web-1");
  snapshot.gpus = Fact<std::vector<Gpu>>::unknown(Error{ErrorCode::Denied, "permission denied"}, "/sys/bus/pci");
  rig.report(snapshot);
  EXPECT_EQ(rig.json("/api/v1/audit")["result"], "unknown");
}

TEST(ApiAudit, AJetsonTakesNoImage) {
  ApiRig rig;
  rig.use_matrix(kCsv);
  Snapshot snapshot = plain_snapshot("jetson-1");
  snapshot.l4t_release = Fact<std::string>::known("36.4.0", "/etc/nv_tegra_release");
  rig.report(snapshot);
  EXPECT_EQ(rig.json("/api/v1/audit")["nodes"], json::array());
}

TEST(ApiAudit, NotesKernelsThatTheOperatorCanNotTellApart) {
  ApiRig rig;
  rig.use_matrix(kCsv);
  for (const char* kernel : {"6.6.72.x86_64", "6.6.72.aarch64"}) {
    Snapshot snapshot = healthy_snapshot(std::string("gpu-") + (kernel[7] == 'x' ? "1" : "2"));
    snapshot.kernel = Fact<KernelRelease>::known(KernelRelease::parse(kernel).value(), "/proc/sys/kernel/osrelease");
    rig.report(snapshot);
  }
  const json notes = rig.json("/api/v1/audit")["notes"];
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].get<std::string>().find("6.6.72.aarch64"), std::string::npos);
}

}  // namespace
}  // namespace gpuskew
