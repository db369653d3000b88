// The cases in which the kernel's log, or the device id that it does not mention, decides.

#include <string>

#include "case_files.h"
#include "core/judge.h"
#include "log_lines.h"

namespace gpuskew::testing {
namespace {

using test::case_file;
using Kind = KernelLogKind;

std::vector<KernelLogEvent> case_events(const std::string& folder, const std::string& file = "dmesg.txt") {
  return events_of(lines_of(case_file(folder, file)));
}

/// One GPU with this id at this address, driver loaded.
Snapshot node(const std::string& address, std::uint16_t id) {
  Snapshot s = healthy_node();
  Gpu only = gpu(address);
  only.device_id = id;
  s.gpus = known(std::vector<Gpu>{only});
  return s;
}

/// The same whose module did not stay loaded.
Snapshot unloaded(Snapshot s) {
  s.loaded_driver = absent<DriverVersion>("/sys/module/nvidia");
  s.loaded_flavour = absent<ModuleFlavour>();
  Gpu only = s.gpus->front();
  only.driver = absent<std::string>();
  s.gpus = known(std::vector<Gpu>{only});
  return s;
}

Finding finding_of(const Snapshot& s) {
  const Verdict verdict = judge(s, NodeHistory{}, JudgePolicy{}, nullptr, kLongAfterBoot, kLongAfterBoot);
  EXPECT_FALSE(verdict.findings.empty()) << verdict.why;
  EXPECT_EQ(verdict.state, NodeState::Broken);
  return verdict.findings.empty() ? Finding{} : verdict.findings[0];
}

bool holds(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(CasesKernelLog, Case096BothWordingsOfTheApiMismatch) {
  const auto events = case_events("096-mismatch-dkms-left-old-module");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, Kind::ApiMismatch);
  EXPECT_EQ(events[0].theirs, "595.84");
  EXPECT_EQ(events[0].ours, "595.80");
  EXPECT_TRUE(holds(events[0].text, "the client 'kwin_wayland' (pid 1005)"));
}

// Cases 092 and 094 have no log; this is what theirs says in the wording of those branches.
TEST(CasesKernelLog, Cases092And094InTheOldWording) {
  const auto versions = [](const std::string& client, const std::string& module) {
    const auto events = events_of({"NVRM: API mismatch: the client has the version " + client + ", but",
                                   "NVRM: this kernel module has the version " + module + ".  Please"});
    return events.at(0).ours + " " + events.at(0).theirs;
  };
  EXPECT_EQ(versions("550.107.02", "550.90.07"), "550.90.07 550.107.02");
  EXPECT_EQ(versions("460.73.01", "460.56"), "460.56 460.73.01") << "two parts are not padded";
}

TEST(CasesKernelLog, Case104VermagicOfAnotherKernel) {
  const std::string folder = "104-vermagic-weak-updates";
  const std::string running = test::case_kernel(folder).text();
  Snapshot s = unloaded(healthy_node());
  s.kernel = known(test::case_kernel(folder));
  s.module_file =
      known(ModuleFile{"/lib/modules/" + running + "/weak-updates/nvidia/nvidia.ko", known(driver("440.59"))});
  s.dkms = known(std::vector<DkmsEntry>{{"nvidia", "440.59", running, "x86_64", DkmsStage::Installed, ""}});
  s.kernel_log = known(case_events(folder), "journal");
  const Finding finding = finding_of(s);
  EXPECT_EQ(finding.code, FindingCode::ModuleRejected);
  EXPECT_TRUE(holds(finding.cause, "built for kernel 5.4.18-100.fc30.x86_64, not for 5.4.18-200.fc31.x86_64"));
  EXPECT_TRUE(holds(finding.cause, "dkms and a packaged module both provide it"));
}

TEST(CasesKernelLog, Case106LockdownIsNotAQuestionOfPermissions) {
  const std::string folder = "106-lockdown-operation-not-permitted";
  EXPECT_TRUE(holds(case_file(folder, "log.txt"), "Operation not permitted"));
  ASSERT_TRUE(holds(case_file(folder, "settings.txt"), "lockdown = integrity"));
  Snapshot s = unloaded(healthy_node());
  s.os = known(OsIdentity{"bottlerocket", "1.22.0", "", "", "", ""});
  s.module_file = known(ModuleFile{"/lib/modules/6.1.102/kernel/drivers/video/nvidia.ko", known(driver("535.183.06"))});
  s.lockdown = known<std::string>("integrity", "/sys/kernel/security/lockdown");
  // What the kernel says to modprobe's words in log.txt.
  s.kernel_log = kernel_log({"Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7"});
  const Finding finding = finding_of(s);
  EXPECT_EQ(finding.code, FindingCode::ModuleRejected);
  EXPECT_TRUE(holds(finding.cause, "the kernel is locked down (integrity)"));
  EXPECT_TRUE(holds(finding.cause, "not about permissions"));
  EXPECT_FALSE(holds(finding.next_step, "mok/MOK.der")) << "that is another distribution's key";
  EXPECT_EQ(finding.reboot_helps, RebootHelps::No);
}

TEST(CasesKernelLog, Case107NouveauHoldsTheGpu) {
  ASSERT_TRUE(holds(case_file("107-nouveau-bound", "lspci.txt"), "Kernel driver in use: nouveau"));
  const auto events =
      events_of({"NVRM: The NVIDIA probe routine was not called for 1 device(s).",
                 "NVRM: This can occur when a driver such as: ", "NVRM: nouveau, rivafb, nvidiafb or rivatv ",
                 "NVRM: was loaded and obtained ownership of the NVIDIA device(s)."});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, Kind::OtherDriver);
  Snapshot s = unloaded(node("0000:01:00.0", 0x13c2));
  s.gpus = known(std::vector<Gpu>{gpu("0000:01:00.0", "nouveau")});
  s.kernel_log = known(events);
  const Finding finding = finding_of(s);
  EXPECT_EQ(finding.code, FindingCode::WrongDriverBound);
  EXPECT_TRUE(holds(finding.next_step, "blacklist nouveau"));
}

TEST(CasesKernelLog, Case109GspDoesNotStart) {
  Snapshot s = node("0000:98:00.0", 0x2204);
  s.kernel_log = known(case_events("109-gsp-init-failed"), "journal");
  const Finding finding = finding_of(s);
  EXPECT_EQ(finding.code, FindingCode::GpuFailed) << "not a mismatch, not a missing module";
  EXPECT_EQ(finding.cause,
            "GPU 0000:98:00.0 (10de:2204) failed to initialise: its System Processor (GSP) did not start");
  EXPECT_EQ(finding.affected_gpus, std::vector<std::string>{"0000:98:00.0"});
}

TEST(CasesKernelLog, Case111OpenModulesOnAGpuWithoutGsp) {
  const std::string folder = "111-open-module-on-pre-gsp-gpu";
  Snapshot s = unloaded(node("0000:af:00.0", 0x1db5));
  s.kernel_log = known(case_events(folder), "journal");
  ASSERT_EQ(s.kernel_log->front().kind, Kind::NotSupportedByOpen);
  EXPECT_TRUE(holds(s.kernel_log->front().text, "does not include the required GPU System Processor (GSP)."));
  Finding finding = finding_of(s);
  EXPECT_EQ(finding.code, FindingCode::WrongModuleFlavour);
  EXPECT_EQ(finding.cause,
            "GPU 0000:af:00.0 (10de:1db5) is older than Turing and needs the proprietary nvidia modules, and "
            "the open ones are installed");
  // The same words of an H100 in a confidential virtual machine.
  s = unloaded(node("0000:af:00.0", 0x2331));
  s.kernel_log = known(case_events(folder), "journal");
  finding = finding_of(s);
  EXPECT_TRUE(holds(finding.cause, "flavour or the platform"));
  EXPECT_TRUE(holds(finding.cause, "10de:2331"));
}

TEST(CasesKernelLog, Case112ProprietaryModulesOnBlackwellSayNothing) {
  const std::string folder = "112-proprietary-on-blackwell-silent";
  Snapshot s = node("0000:01:00.0", 0x2bb5);
  s.loaded_flavour = known(ModuleFlavour::Proprietary);
  s.kernel_log = known(case_events(folder), "journal");
  EXPECT_TRUE(s.kernel_log->empty());
  const Finding finding = finding_of(s);
  EXPECT_EQ(finding.code, FindingCode::WrongModuleFlavour);
  EXPECT_TRUE(holds(finding.cause, "needs the open nvidia modules"));
}

TEST(CasesKernelLog, Case114FabricManagersOwnWord) {
  const std::string folder = "114-fabric-manager-mismatch";
  std::string line = case_file(folder, "journal.txt");
  line = line.substr(line.find(": ") + 2);  // as the journal has it: the identifier is a field of its own
  const auto events = events_of(lines_of(line), LogSource::FabricManager);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, Kind::FabricManagerVersion);
  EXPECT_EQ(events[0].theirs, "530.30.02");
  EXPECT_EQ(events[0].ours, "530.41.03");
  EXPECT_EQ(events_of(lines_of(case_file(folder, "journal.2.txt")), LogSource::FabricManager).at(0).theirs,
            "550.90.07");
}

TEST(CasesKernelLog, Case117TheTraceOfAModuleThatHangs) {
  const auto events = case_events("117-module-unloading-wedged");
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, Kind::KernelTrace);
  EXPECT_TRUE(holds(events[0].text, "uvm_pmm_devmem_exit+0x88/0x108 [nvidia_uvm]"));
  EXPECT_TRUE(holds(events[0].text, "uvm_global_exit+0x68/0xe8 [nvidia_uvm]"));
}

TEST(CasesKernelLog, Case122TheDriverRejectsTheDevice) {
  Snapshot s = unloaded(node("0000:01:00.0", 0x2330));
  s.kernel_log = known(case_events("122-gpu-not-supported-by-release"), "journal");
  const Finding finding = finding_of(s);
  EXPECT_EQ(finding.code, FindingCode::GpuFailed);
  EXPECT_TRUE(holds(finding.cause, "GPU 0000:01:00.0 (10de:2330) is rejected by driver 550.90.07"));
  EXPECT_TRUE(holds(finding.cause, "or a virtual machine's set-up")) << "an upgrade is not certain to help";
  EXPECT_FALSE(holds(finding.next_step, "install"));
}

}  // namespace
}  // namespace gpuskew::testing
