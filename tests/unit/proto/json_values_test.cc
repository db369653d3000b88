#include "proto/json_values.h"

#include <string>

#include <gtest/gtest.h>

#include "proto/json.h"
#include "tests/unit/proto/sample.h"

namespace gpuskew {
namespace {

/// The first item of a list, or the value itself, of the sample's fact `key`.
std::string first(const char* key) {
  const auto json = to_json(sample_snapshot())[key]["value"];
  return dump(json.is_array() ? json[0] : json, false);
}

TEST(JsonValues, AModuleFileSaysWhoPutItThereAndForWhichKernel) {
  const auto json = to_json(sample_snapshot())["module_file"]["value"];
  EXPECT_EQ(json["home"], "dkms");
  EXPECT_EQ(json["built_for"]["value"], "5.15.0-119-generic");
  EXPECT_EQ(json["flavour"]["value"], "open");
}

TEST(JsonValues, ModulesMarksAndInstallersAreFlat) {
  EXPECT_EQ(first("modules"), R"({"name":"nvidia","refcount":3,"used_by":["nvidia_uvm","nvidia_modeset"],)"
                              R"("state":"live","taints":"POE","state_since":null})");
  const auto unloading = to_json(sample_snapshot())["modules"]["value"][1];
  EXPECT_TRUE(unloading["refcount"].is_null());
  EXPECT_EQ(unloading["state_since"], "2026-05-23T01:33:20Z");
  EXPECT_EQ(first("validations"), R"({"name":"driver-ready","written":"2026-05-17T06:43:20Z","host_driver":true})");
  EXPECT_EQ(first("installs"), R"({"kind":"deb","part":"user-space","name":"nvidia-driver-550",)"
                               R"("version":"550.90.07-0ubuntu1","source":"/var/lib/dpkg/status",)"
                               R"("changed_by":"/usr/bin/unattended-upgrade"})");
  EXPECT_TRUE(to_json(sample_snapshot())["installs"]["value"][1]["version"].is_null());
}

TEST(JsonValues, DevicesAndWhoHoldsThem) {
  EXPECT_EQ(first("pci_functions"), R"({"address":"0000:3b:00.1","device_id":"0x1aef","kind":"audio"})");
  EXPECT_EQ(first("device_nodes"), R"({"path":"/dev/nvidia0","major":195,"minor":0})");
  const auto holders = to_json(sample_snapshot())["holders"]["value"];
  EXPECT_EQ(holders["total"], 3);
  EXPECT_EQ(holders["unread"], 1);
  EXPECT_EQ(holders["unread_why"], "permission denied");
  EXPECT_EQ(dump(holders["items"][1], false),
            R"({"pid":812,"command":"Xorg","devices":["/dev/nvidia0"],"pod_uid":null,"container_id":null,)"
            R"("unit":"gdm.service","asked_for_gpu":false})");
}

TEST(JsonValues, AKernelLogEventHasItsTimesAndNumber) {
  EXPECT_EQ(first("kernel_log"), R"({"kind":"api-mismatch","gpu":null,"xid":null,"ours":"550.90.07",)"
                                 R"("theirs":"550.107.02","text":"NVRM: API mismatch",)"
                                 R"("first_at":"2026-05-17T06:41:00Z","last_at":"2026-05-17T06:42:00Z","count":7})");
  EXPECT_EQ(to_json(sample_snapshot())["kernel_log"]["value"][1]["xid"], 79);
}

TEST(JsonValues, WhatTheNextBootBrings) {
  const auto json = to_json(sample_snapshot());
  EXPECT_EQ(json["command_line"]["value"], "root=/dev/sda1 ro quiet");
  EXPECT_EQ(json["secure_boot"]["value"], true);
  EXPECT_EQ(json["lockdown"]["value"], "integrity");
  EXPECT_EQ(json["kernels"]["value"][0]["module_file"]["value"]["version"]["value"], "550.90.07");
  EXPECT_EQ(dump(json["kernels"]["value"][1], false),
            R"({"release":"5.15.0-122-generic","has_image":true,"has_headers":false,)"
            R"("module_file":{"state":"absent","source":"/lib/modules/5.15.0-122-generic"}})");
  EXPECT_EQ(first("next_kernel"), R"({"release":"5.15.0-122-generic","rule":"first entry of grub.cfg"})");
  EXPECT_EQ(dump(json["dkms"]["value"][1], false),
            R"({"module":"nvidia","version":"550.90.07","kernel":"5.15.0-122-generic","architecture":"x86_64",)"
            R"("stage":"failed","note":"see make.log"})");
  EXPECT_EQ(first("boot_builders"), R"({"name":"dkms","source":"/etc/systemd/system/x.wants"})");
  EXPECT_EQ(first("reboot_required"), R"({"packages":["linux-image-5.15.0-122-generic"]})");
  EXPECT_EQ(json["expected_gpus"], 8);
}

TEST(JsonValues, RuntimeAndKubelet) {
  EXPECT_EQ(first("runtime"),
            R"({"kind":"containerd","flavour":"k3s","config":"/etc/containerd/config.toml","config_version":2,)"
            R"("version":{"state":"known","value":"1.7.24","source":"/usr/bin/containerd"},)"
            R"("handlers":[{"name":"nvidia","binary":"/usr/bin/nvidia-container-runtime",)"
            R"("file":"/etc/containerd/conf.d/99-nvidia.toml"}],"default_runtime":"runc","cdi_enabled":true,)"
            R"("unimported":["/etc/containerd/conf.d/nobody.toml"],"conflicts":[{"key":"plugins.cri",)"
            R"("kept":"/etc/containerd/a.toml","lost":"/etc/containerd/b.toml","effect":"runtime nvidia"}],)"
            R"("started_at":{"state":"known","value":"2026-05-17T06:40:30Z","source":"/proc/1203/stat"},)"
            R"("newest_file":"/etc/containerd/conf.d/99-nvidia.toml","newest_change":"2026-05-27T16:40:00Z",)"
            R"("toolkit":"/usr/bin/nvidia-container-runtime"})");
  EXPECT_EQ(first("cdi_specs"),
            R"({"path":"/var/run/cdi/nvidia.yaml","kind":"nvidia.com/gpu","devices":2,"driver_version":"550.90.07"})");
  EXPECT_EQ(first("kubelet"), R"({"sockets":["nvidia-gpu.sock"],"registered":[{"name":"nvidia.com/gpu","devices":2}],)"
                              R"("pods":[{"pod_uid":"b1946ac9","container":"trainer","resource":"nvidia.com/gpu",)"
                              R"("devices":1}]})");
}

TEST(JsonValues, WhatThereIsNoneOfIsNull) {
  const auto runtime = value_json(ContainerRuntime{});
  for (const char* key : {"flavour", "config_version", "default_runtime", "newest_file", "newest_change", "toolkit"}) {
    EXPECT_TRUE(runtime[key].is_null()) << key;
  }
  EXPECT_TRUE(value_json(CdiSpec{})["driver_version"].is_null());
  EXPECT_TRUE(value_json(DkmsEntry{})["kernel"].is_null());
  EXPECT_EQ(value_json(KubeletDevices{})["pods"], nlohmann::ordered_json::array());
}

}  // namespace
}  // namespace gpuskew
