#include "proto/json.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/proto/sample.h"

namespace gpuskew {
namespace {

using Json = nlohmann::ordered_json;

TEST(Json, AKnownFactHasItsValueAndSource) {
  EXPECT_EQ(dump(to_json(Fact<std::string>::known("x86_64", "/proc/sys/kernel/arch")), false),
            R"({"state":"known","value":"x86_64","source":"/proc/sys/kernel/arch"})");
}

TEST(Json, AnAbsentFactHasNoValue) {
  EXPECT_EQ(dump(to_json(Fact<DriverVersion>::absent("/sys/module/nvidia")), false),
            R"({"state":"absent","source":"/sys/module/nvidia"})");
}

TEST(Json, AnUnknownFactSaysWhyAndHasNoValue) {
  const Error denied{ErrorCode::Denied, "reading /proc/stat: permission denied"};
  EXPECT_EQ(dump(to_json(Fact<Time>::unknown(denied, "/proc/stat")), false),
            R"({"state":"unknown","because":"reading /proc/stat: permission denied","code":"denied",)"
            R"("source":"/proc/stat"})");
  EXPECT_EQ(to_json(Fact<std::uint32_t>())["state"], "unknown");
}

TEST(Json, ASnapshotHasEveryFactInTheOrderOfTheLayers) {
  const Json json = to_json(sample_snapshot());
  std::string keys;
  for (const auto& [key, value] : json.items()) {
    keys += key + " ";
  }
  EXPECT_EQ(keys,
            "node agent_version taken_at boot_id boot_time kernel architecture os loaded_driver loaded_flavour "
            "l4t_release wsl module_file modules libraries fabric_manager driver_container validations installs gpus "
            "pci_functions device_nodes holders command_line secure_boot lockdown kernel_log kernels next_kernel dkms "
            "boot_builders reboot_required runtime cdi_specs kubelet expected_gpus remembered ");
  EXPECT_EQ(json["node"], "gpu-7.rack-3");
  EXPECT_EQ(json["taken_at"], "2026-05-28T20:26:40Z");
  EXPECT_EQ(json["boot_time"]["value"], "2026-05-17T06:40:00Z");
  EXPECT_EQ(json["kernel"]["value"], "5.15.0-119-generic");
  EXPECT_EQ(json["loaded_driver"]["value"], "550.90.07");
  EXPECT_EQ(json["loaded_flavour"]["value"], "open");
  EXPECT_EQ(json["l4t_release"]["state"], "absent");
}

TEST(Json, TheOsSaysWhenItHasNoVersionId) {
  EXPECT_EQ(to_json(sample_snapshot())["os"]["value"],
            Json::parse(R"({"id":"ubuntu","version_id":"22.04","pretty_name":"Ubuntu 22.04.5 LTS","variant_id":"",)"
                        R"("build_id":"","ostree_version":""})"));
  OsIdentity rolling;
  rolling.id = "arch";
  EXPECT_TRUE(to_json(Fact<OsIdentity>::known(rolling, ""))["value"]["version_id"].is_null());
}

TEST(Json, NestedFactsKeepTheirOwnState) {
  const Json json = to_json(sample_snapshot());
  EXPECT_EQ(json["module_file"]["value"]["version"]["value"], "550.90.07");
  EXPECT_EQ(dump(json["gpus"]["value"][0], false),
            R"({"address":"0000:3b:00.0","device_id":"0x20b5","driver":{"state":"known","value":"nvidia",)"
            R"("source":"/sys/bus/pci/devices/0000:3b:00.0/driver"}})");
  EXPECT_EQ(json["gpus"]["value"][1]["driver"]["state"], "absent");
  EXPECT_EQ(dump(json["libraries"]["value"][1], false),
            R"({"name":"libcuda","version":"550.90.07","path":"/usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07",)"
            R"("root":"container"})");
  EXPECT_EQ(dump(json["driver_container"]["value"], false), R"({"root":"/run/nvidia/driver","mounted":true})");
}

TEST(Json, AKnownEmptyListIsAListAndNotNull) {
  Snapshot snapshot = sample_snapshot();
  snapshot.gpus = Fact<std::vector<Gpu>>::known({}, "/sys/bus/pci/devices");
  EXPECT_EQ(dump(to_json(snapshot)["gpus"]["value"], false), "[]");
}

TEST(Json, WhatIsNotRememberedIsNull) {
  Snapshot snapshot = sample_snapshot();
  snapshot.remembered.reset();
  EXPECT_TRUE(to_json(snapshot)["remembered"].is_null());
  LastGood good = sample_last_good();
  EXPECT_EQ(
      dump(to_json(good), false),
      R"({"at":"2026-05-05T16:53:20Z","boot_id":"boot-before","kernel":"5.15.0-117-generic","driver":"550.90.07",)"
      R"("gpu_count":2,"from_container":true,"gpus":["0000:3b:00.0","10000:af:00.0"]})");
  good.boot_id.clear();
  good.gpu_count.reset();
  EXPECT_TRUE(to_json(good)["boot_id"].is_null());
  EXPECT_TRUE(to_json(good)["gpu_count"].is_null());
}

Finding sample_finding() {
  Finding finding;
  finding.code = FindingCode::GpuGoneAfterKernelBump;
  finding.severity = Severity::Critical;
  finding.node = "gpu-7";
  finding.since = from_unix_ms(60'000);
  finding.cause = "the kernel moved";
  finding.evidence = {{"no nvidia module", "/lib/modules", from_unix_ms(61'000)}};
  finding.reboot_helps = RebootHelps::No;
  finding.reboot_why = "no module file";
  finding.next_step = "gpuskew explain gpu-7";
  finding.affected_gpus = {"0000:3b:00.0"};
  return finding;
}

TEST(Json, AFindingSaysEverythingOnCallNeeds) {
  EXPECT_EQ(dump(to_json(sample_finding()), false),
            R"({"code":"gpu-gone-after-kernel-bump","severity":"critical","node":"gpu-7",)"
            R"("since":"1970-01-01T00:01:00Z","cause":"the kernel moved","evidence":[{"text":"no nvidia module",)"
            R"("source":"/lib/modules","at":"1970-01-01T00:01:01Z"}],"reboot_helps":"no",)"
            R"("reboot_why":"no module file","next_step":"gpuskew explain gpu-7",)"
            R"("affected_gpus":["0000:3b:00.0"],"consequences":[]})");
}

TEST(Json, AVerdictHasItsFindingsAndWhenItMayChange) {
  Verdict verdict;
  verdict.state = NodeState::Broken;
  verdict.why = "no driver";
  verdict.findings = {sample_finding()};
  const Json json = to_json(verdict);
  EXPECT_EQ(json["state"], "broken");
  EXPECT_EQ(json["why"], "no driver");
  EXPECT_EQ(json["findings"].size(), 1u);
  EXPECT_TRUE(json["revisit_at"].is_null());
  EXPECT_EQ(dump(json["next_boot"], false), R"({"outcome":"cannot-tell","why":"","kernel":null})");
  verdict.next_boot = {NextBootGpu::Loses, "no module", KernelRelease::parse("6.8.0-45-generic").value()};
  EXPECT_EQ(dump(to_json(verdict)["next_boot"], false),
            R"({"outcome":"loses","why":"no module","kernel":"6.8.0-45-generic"})");
  verdict.revisit_at = from_unix_ms(1000);
  EXPECT_EQ(to_json(verdict)["revisit_at"], "1970-01-01T00:00:01Z");
}

TEST(Json, ATransitionAndATagAreFlat) {
  const Transition transition{
      "gpu-7", from_unix_ms(0), TransitionKind::KernelChanged, "5.15.0-119-generic", "5.15.0-122-generic", ""};
  EXPECT_EQ(dump(to_json(transition), false),
            R"({"node":"gpu-7","at":"1970-01-01T00:00:00Z","kind":"kernel","from":"5.15.0-119-generic",)"
            R"("to":"5.15.0-122-generic","detail":""})");
  Tag tag;
  tag.text = "550-5.15.0-119-generic-ubuntu22.04";
  tag.notes = {"a note"};
  EXPECT_EQ(dump(to_json(tag), false),
            R"({"text":"550-5.15.0-119-generic-ubuntu22.04","driver":"","kernel":"","os":"","os_rule":"",)"
            R"("notes":["a note"]})");
}

TEST(Json, BytesThatAreNotUtf8AreReplacedAndNeverThrow) {
  const Json json = to_json(Fact<std::string>::known("caf\xE9", "/etc"));
  EXPECT_EQ(dump(json, false), "{\"state\":\"known\",\"value\":\"caf\xEF\xBF\xBD\",\"source\":\"/etc\"}");
}

TEST(Json, PrettyTextIsIndentedByTwoSpaces) {
  Json json;
  json["a"] = 1;
  EXPECT_EQ(dump(json, true), "{\n  \"a\": 1\n}");
  EXPECT_EQ(dump(json, false), "{\"a\":1}");
}

}  // namespace
}  // namespace gpuskew
