#include "core/kernel_log.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "log_lines.h"

namespace gpuskew::testing {
namespace {

using namespace std::chrono_literals;
using Kind = KernelLogKind;

const std::vector<std::string> kOldMismatch{
    "NVRM: API mismatch: the client has the version 470.129.06, but",
    "NVRM: this kernel module has the version 470.103.01.  Please",
    "NVRM: make sure that this kernel module and all NVIDIA driver",
    "NVRM: components have the same version.",
};

const std::vector<std::string> kUnsupported{
    "NVRM: The NVIDIA GPU 0000:04:00.0 (PCI ID: 10de:20b0)",
    "NVRM: installed in this system is not supported by the",
    "NVRM: NVIDIA 535.309.01 driver release.",
    "NVRM: Please see 'Appendix A - Supported NVIDIA GPU Products'",
};

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += (text.empty() ? "" : "\n               ") + line;
  }
  return text;
}

TEST(KernelLogScannerTest, JoinsTheLinesOfOneMessage) {
  const auto events = events_of(kOldMismatch);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, Kind::ApiMismatch);
  EXPECT_EQ(events[0].theirs, "470.129.06");
  EXPECT_EQ(events[0].ours, "470.103.01");
  EXPECT_EQ(events[0].text,
            "API mismatch: the client has the version 470.129.06, but this kernel module has the version 470.103.01.  "
            "Please make sure that this kernel module and all NVIDIA driver components have the same version.");
  EXPECT_EQ(events[0].count, 1u);
}

TEST(KernelLogScannerTest, TakesOneRecordOfSeveralLinesAndSeveralRecordsAlike) {
  EXPECT_EQ(events_of({joined(kUnsupported)})[0].text, events_of(kUnsupported)[0].text);
  const auto events = events_of(kUnsupported);
  EXPECT_EQ(events[0].kind, Kind::NotSupported);
  EXPECT_EQ(events[0].gpu, "0000:04:00.0");
  EXPECT_EQ(events[0].theirs, "535.309.01");
}

TEST(KernelLogScannerTest, LinesOfOthersInBetweenBreakNothing) {
  const auto events = events_of({
      kUnsupported[0],
      "usb 1-1: new high-speed USB device",
      "NVRM: Xid (PCI:0000:98:00): 31, pid=1, name=a",
      kUnsupported[1],
      "NVRM: GPU0 kgspWaitForGfw_TU102: something",
      "NVRM: nvAssertFailedNoLog: Assertion failed: status == NV_OK @ a.c:1",
      kUnsupported[2],
      "NVRM: The NVIDIA probe routine failed for 1 device(s).",
      "NVRM: None of the NVIDIA devices were initialized.",
  });
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, Kind::Xid);
  EXPECT_EQ(events[1].theirs, "535.309.01");
  EXPECT_EQ(events[1].text,
            "The NVIDIA GPU 0000:04:00.0 (PCI ID: 10de:20b0) installed in this system is not supported by the NVIDIA "
            "535.309.01 driver release.");
}

TEST(KernelLogScannerTest, AMessageEndsAfterASecond) {
  KernelLogScanner scanner;
  scanner.feed(kLogStart, LogSource::Kernel, kOldMismatch[0]);
  EXPECT_FALSE(scanner.feed(kLogStart + 2s, LogSource::Kernel, kOldMismatch[1]));
  EXPECT_TRUE(scanner.events().empty());
}

TEST(KernelLogScannerTest, KnowsEveryReasonToRefuseAGpu) {
  const std::string gpu = "NVRM: The NVIDIA GPU 0000:02:00.0 (PCI ID: 10de:2c58)\n";
  const auto kind_of = [&gpu](const std::string& rest) { return events_of({gpu + rest}).at(0).kind; };
  EXPECT_EQ(kind_of("NVRM: installed in this system requires use of the NVIDIA open kernel modules."), Kind::NeedsOpen);
  EXPECT_EQ(kind_of("NVRM: installed in this system is not supported by open\nNVRM: nvidia.ko because it does not "
                    "include the required GPU\nNVRM: System Processor (GSP)."),
            Kind::NotSupportedByOpen);
  EXPECT_EQ(events_of({"NVRM: The NVIDIA GPU 0000:01:00.0\nNVRM: (PCI ID: 10de:2204) installed in this system has\n"
                       "NVRM: fallen off the bus and is not responding to commands."})
                .at(0)
                .kind,
            Kind::FellOffBus);
  const auto legacy =
      events_of({"NVRM: The NVIDIA GeForce GT 710 GPU installed in this system is\nNVRM:  supported "
                 "through the NVIDIA 470.xx Legacy drivers. Please\nNVRM:  visit www.nvidia.com for "
                 "more\nNVRM:  information.  The 550.54.14 NVIDIA driver will ignore"});
  EXPECT_EQ(legacy.at(0).kind, Kind::NotSupported);
  EXPECT_EQ(legacy[0].theirs, "550.54.14");
}

TEST(KernelLogScannerTest, AProcessCanNotNameItselfIntoTheVersions) {
  const auto events =
      events_of({"NVRM: API mismatch: the client 'has the version' (pid 7)",
                 "NVRM: has the version 595.84, but this kernel module has", "NVRM: the version 595.80."});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].theirs, "595.84");
  EXPECT_EQ(events[0].ours, "595.80");
}

TEST(KernelLogScannerTest, RepetitionCountsAndIsNoNews) {
  KernelLogScanner scanner;
  const std::string line = "NVRM: Xid (PCI:0000:98:00): 31, pid=1, name=a";
  EXPECT_TRUE(scanner.feed(kLogStart, LogSource::Kernel, line));
  EXPECT_FALSE(scanner.feed(kLogStart + 1h, LogSource::Kernel, line));
  ASSERT_EQ(scanner.events().size(), 1u);
  EXPECT_EQ(scanner.events()[0].count, 2u);
  EXPECT_EQ(scanner.events()[0].first_at, kLogStart);
  EXPECT_EQ(scanner.events()[0].last_at, kLogStart + 1h);
  EXPECT_TRUE(scanner.feed(kLogStart + 2h, LogSource::Kernel, kLoading));
  EXPECT_TRUE(scanner.feed(kLogStart + 3h, LogSource::Kernel, line))
      << "for the first time since the driver was loaded";
}

TEST(KernelLogScannerTest, WhatTheDriverSaysWhileItLoadsBelongsToThatLoad) {
  const auto events = events_of({"nvidia-nvlink: Nvlink Core is being initialized, major device number 236",
                                 "nvidia 0000:3c:00.0: probe with driver nvidia failed with error -1", kLoading});
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[1].kind, Kind::DriverLoaded);
  EXPECT_LT(events[1].last_at, events[0].last_at);
}

TEST(KernelLogScannerTest, AFailedProbeTellsOfTheWindowThatIsMissing) {
  const auto events =
      events_of({"NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
                 "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:0b:00.0)", "nvidia: probe of 0000:0b:00.0 failed with error -1"});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].text,
            "NVRM: BAR1 is 0M @ 0x0 (PCI:0000:0b:00.0); nvidia: probe of 0000:0b:00.0 failed with error -1");
}

TEST(KernelLogScannerTest, ATraceIsOneEventWithWhatItIsAbout) {
  const auto events = events_of({"INFO: task nvidia-smi:123 blocked for more than 120 seconds.",
                                 "Call Trace:", "  uvm_pmm_devmem_exit+0x88/0x108 [nvidia_uvm]",
                                 "  uvm_global_exit+0x68/0xe8 [nvidia_uvm]"});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind, Kind::KernelTrace);
  EXPECT_EQ(events[0].count, 1u);
  EXPECT_EQ(events[0].text.find("INFO: task nvidia-smi:123"), 0u);
  EXPECT_NE(events[0].text.find("uvm_global_exit+0x68/0xe8 [nvidia_uvm]"), std::string::npos);
}

TEST(KernelLogScannerTest, ATraceKeepsTheModulesThatWereBeingUnloaded) {
  const std::string note = "Internal error: Oops: 96000004 [#1] SMP";
  const std::string modules = "Modules linked in: ipt_REJECT nvidia_uvm(OE-) nvidia(OE) mlx5_ib [last unloaded: xfs]";
  const std::string kept = "Modules linked in: nvidia_uvm(OE-) nvidia(OE)";
  const std::string trace = " uvm_global_exit+0x68/0xe8 [nvidia_uvm]";
  const auto before = events_of({note, modules, "Call trace:", trace});
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].kind, Kind::KernelTrace);
  EXPECT_EQ(before[0].text, note + " " + kept + trace);
  EXPECT_EQ(before[0].count, 1u);
  const auto behind = events_of({note, trace, modules, trace});
  ASSERT_EQ(behind.size(), 1u);
  EXPECT_EQ(behind[0].text, note + " " + trace.substr(1) + " " + kept + " " + trace.substr(1));
  EXPECT_EQ(events_of({modules}).at(0).text, kept) << "a sign by itself";
}

TEST(KernelLogScannerTest, AListOfModulesFindsRoomHoweverLongItAndTheTraceAre) {
  std::string modules = "Modules linked in:";
  while (modules.size() < 900) {
    modules += " nf_conntrack nvidia_drm(OE)";
  }
  modules += " nvidia_uvm(OE-)";
  const std::string note = "BUG: unable to handle page fault " + std::string(800, 'x');
  EXPECT_NE(events_of({note, modules}).at(0).text.find(" nvidia_uvm(OE-) nvidia_drm(OE)"), std::string::npos);
  std::vector<std::string> lines(20, " uvm_global_exit+0x68/0xe8 [nvidia_uvm]");
  lines.push_back(modules);
  const auto events = events_of(lines);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_NE(events[0].text.find(" nvidia_uvm(OE-)"), std::string::npos);
  EXPECT_LE(events[0].text.size(), KernelLogEvent::kMaxText);
}

TEST(KernelLogScannerTest, ALaterTraceDoesNotHideTheModulesUntilTheDriverIsLoadedAnew) {
  KernelLogScanner scanner;
  const std::string trace = " uvm_global_exit+0x68/0xe8 [nvidia_uvm]";
  const auto keeps = [&scanner] { return scanner.events().at(0).text.find(" nvidia_uvm(OE-)") != std::string::npos; };
  scanner.feed(kLogStart, LogSource::Kernel, "Modules linked in: xfs nvidia_uvm(OE-) nvidia(OE)");
  scanner.feed(kLogStart + 3s, LogSource::Kernel, trace);
  EXPECT_TRUE(keeps());
  scanner.feed(kLogStart + 1h, LogSource::Kernel, "INFO: task nvidia-smi:123 blocked for more than 120 seconds.");
  EXPECT_TRUE(keeps());
  EXPECT_EQ(scanner.events().size(), 1u);
  scanner.feed(kLogStart + 2h, LogSource::Kernel, kLoading);
  scanner.feed(kLogStart + 3h, LogSource::Kernel, trace);
  EXPECT_FALSE(keeps());
}

TEST(KernelLogScannerTest, TheSecondRecordOfAListOfModulesIsOne) {
  const auto events = events_of({"Modules linked in: xfs ib_core", " mlx5_ib nvidia_uvm(POE-) nvidia(POE) ast"});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].text, "Modules linked in: nvidia_uvm(POE-) nvidia(POE)");
}

TEST(KernelLogScannerTest, AListOfModulesAtRestIsNoSignByItself) {
  const std::string modules = "Modules linked in: xfs(E-) nvidia_uvm(OE) nvidia(OE)";
  EXPECT_TRUE(events_of({"WARNING: CPU: 3 PID: 1 at fs/xfs/xfs.c:1", modules}).empty());
  EXPECT_TRUE(events_of({"nvidia", "nvidia(OE) nvidia_uvm", "nvidia_uvm(OE-), said somebody"}).empty());
  const auto events = events_of({"Oops: 0000 [#1] SMP", modules, " os_x+0x1/0x2 [nvidia]"});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].text, "Oops: 0000 [#1] SMP Modules linked in: nvidia_uvm(OE) nvidia(OE) os_x+0x1/0x2 [nvidia]");
}

TEST(KernelLogScannerTest, GoesOnWhereAnotherEnded) {
  KernelLogScanner scanner(events_of({kLoading, "NVRM: GPU 0000:98:00.0: RmInitAdapter failed! (0x62:0x65:1792)"}));
  scanner.feed(kLogStart + 1h, LogSource::Kernel, "NVRM: GPU 0000:98:00.0: RmInitAdapter failed! (0x62:0x65:1792)");
  ASSERT_EQ(scanner.events().size(), 2u);
  EXPECT_EQ(scanner.events()[1].count, 2u);
}

TEST(KernelLogScannerTest, ApplicationsFaultsAreTheFirstToBeLeftOut) {
  KernelLogScanner scanner;
  scanner.feed(kLogStart, LogSource::Kernel, kLoading);
  scanner.feed(kLogStart, LogSource::Kernel, "NVRM: GPU 0000:98:00.0: GPU has fallen off the bus.");
  for (int i = 0; i < 300; ++i) {
    const std::string bus = std::to_string(10 + i % 90);
    scanner.feed(kLogStart + std::chrono::seconds(i), LogSource::Kernel,
                 "NVRM: Xid (PCI:0000:" + bus + ":00): 31, pid=1");
  }
  EXPECT_EQ(scanner.events().size(), kMaxKernelLogEvents);
  EXPECT_EQ(scanner.events()[0].kind, Kind::DriverLoaded);
  EXPECT_EQ(scanner.events()[1].kind, Kind::FellOffBus);
}

TEST(KernelLogScannerTest, ShowsNothingThatIsNotPrintable) {
  const auto events = events_of({"NVRM: Xid (PCI:0000:98:00): 31, name=\x1b[31m\xff" + std::string(9000, 'x')});
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].text.size(), KernelLogEvent::kMaxText);
  EXPECT_EQ(events[0].text.find_first_of("\x1b\xff"), std::string::npos);
}

RC_GTEST_PROP(KernelLogScannerProperty, IsBoundedAndKeepsTheOrder, ()) {
  const std::vector<std::string> pieces{kOldMismatch[0],
                                        kOldMismatch[1],
                                        joined(kUnsupported),
                                        kUnsupported[0],
                                        kUnsupported[1],
                                        kUnsupported[2],
                                        kLoading,
                                        "NVRM: Xid (PCI:0000:98:00): 79, GPU has fallen off the bus.",
                                        "NVRM: ",
                                        "NVRM: Xid (",
                                        "  uvm_global_exit+0x68/0xe8 [nvidia_uvm]",
                                        "Modules linked in: xfs nvidia_uvm(OE-) nvidia(OE)",
                                        "nvidia: version magic 'a"};
  const auto any_line = rc::gen::oneOf(
      rc::gen::elementOf(pieces), rc::gen::arbitrary<std::string>(), rc::gen::map(rc::gen::inRange(0, 9999), [](int n) {
        return "NVRM: Xid (PCI:" + std::to_string(n) + ":00:00): " + std::to_string(n % 120);
      }));
  const auto lines = *rc::gen::container<std::vector<std::string>>(any_line);
  KernelLogScanner scanner;
  Time at = kLogStart;
  std::uint64_t news = 0;
  for (const std::string& line : lines) {
    news += scanner.feed(at, LogSource::Kernel, line) ? 1 : 0;
    at += std::chrono::milliseconds(*rc::gen::inRange(0, 2000));
  }
  const auto& events = scanner.events();
  RC_ASSERT(events.size() <= kMaxKernelLogEvents);
  RC_ASSERT(std::is_sorted(events.begin(), events.end(),
                           [](const auto& a, const auto& b) { return a.first_at < b.first_at; }));
  RC_ASSERT(news >= events.size());
  for (const KernelLogEvent& event : events) {
    RC_ASSERT(event.count > 0);
    RC_ASSERT(event.first_at <= event.last_at);
    RC_ASSERT(event.text.size() <= KernelLogEvent::kMaxText);
  }
}

}  // namespace
}  // namespace gpuskew::testing
