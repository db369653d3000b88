// The limits and words of the composite facts: what breaks one leaves the others alone.

#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "proto/text.h"
#include "tests/unit/proto/sample.h"

namespace gpuskew {
namespace {

Snapshot damaged(const std::function<void(v1::Snapshot&)>& damage) {
  v1::Snapshot wire;
  to_wire(sample_snapshot(), wire);
  damage(wire);
  Result<Snapshot> result = from_wire(wire);
  EXPECT_TRUE(result.has_value()) << result.error().what;
  return result ? *result : Snapshot{};
}

template <class T>
void expect_unknown(const Fact<T>& fact, ErrorCode code, const std::string& why) {
  ASSERT_TRUE(fact.is_unknown()) << why;
  EXPECT_EQ(fact.why().code, code);
  EXPECT_EQ(fact.why().what, why);
}

/// The sample with so many copies of the first item of the list `items` gives.
template <class Items>
Snapshot with_copies(std::size_t count, Items* (*items)(v1::Snapshot&)) {
  return damaged([&](v1::Snapshot& wire) {
    Items& list = *items(wire);
    const auto one = list.Get(0);
    list.Clear();
    for (std::size_t at = 0; at < count; ++at) {
      *list.Add() = one;
    }
  });
}

/// Exactly `limit` items are taken, one more makes the fact unknown.
template <class Items, class T>
void expect_limit(std::size_t limit, Items* (*items)(v1::Snapshot&), const Fact<T> Snapshot::*fact,
                  const std::string& why) {
  EXPECT_TRUE((with_copies(limit, items).*fact).is_known()) << why;
  const Snapshot over = with_copies(limit + 1, items);
  expect_unknown(over.*fact, ErrorCode::TooLarge, why);
  EXPECT_TRUE(over.kernel.is_known());
}

TEST(FromWireFacts, MoreItemsThanAListMayHaveMakeItUnknown) {
  expect_limit(
      Snapshot::kMaxGpus, +[](v1::Snapshot& wire) { return wire.mutable_gpus()->mutable_known()->mutable_items(); },
      &Snapshot::gpus, "GPUs: 257 GPUs, at most 256 are taken");
  expect_limit(
      Snapshot::kMaxLibraries,
      +[](v1::Snapshot& wire) { return wire.mutable_libraries()->mutable_known()->mutable_items(); },
      &Snapshot::libraries, "libraries: 33 libraries, at most 32 are taken");
  expect_limit(
      Snapshot::kMaxModules,
      +[](v1::Snapshot& wire) { return wire.mutable_modules()->mutable_known()->mutable_items(); }, &Snapshot::modules,
      "modules: 33 modules, at most 32 are taken");
  expect_limit(
      kMaxValidationMarks,
      +[](v1::Snapshot& wire) { return wire.mutable_validations()->mutable_known()->mutable_items(); },
      &Snapshot::validations, "validations: 17 marks, at most 16 are taken");
  expect_limit(
      kMaxInstallTraces, +[](v1::Snapshot& wire) { return wire.mutable_installs()->mutable_known()->mutable_items(); },
      &Snapshot::installs, "installs: 65 traces, at most 64 are taken");
  expect_limit(
      Snapshot::kMaxPciFunctions,
      +[](v1::Snapshot& wire) { return wire.mutable_pci_functions()->mutable_known()->mutable_items(); },
      &Snapshot::pci_functions, "PCI functions: 257 PCI functions, at most 256 are taken");
  expect_limit(
      Snapshot::kMaxDeviceNodes,
      +[](v1::Snapshot& wire) { return wire.mutable_device_nodes()->mutable_known()->mutable_items(); },
      &Snapshot::device_nodes, "device nodes: 301 device nodes, at most 300 are taken");
}

TEST(FromWireFacts, TheSameHoldsOfLogBootAndRuntime) {
  expect_limit(
      kMaxKernelLogEvents,
      +[](v1::Snapshot& wire) { return wire.mutable_kernel_log()->mutable_known()->mutable_items(); },
      &Snapshot::kernel_log, "kernel log: 65 events, at most 64 are taken");
  expect_limit(
      Snapshot::kMaxKernels,
      +[](v1::Snapshot& wire) { return wire.mutable_kernels()->mutable_known()->mutable_items(); }, &Snapshot::kernels,
      "kernels: 65 kernels, at most 64 are taken");
  expect_limit(
      Snapshot::kMaxDkmsEntries,
      +[](v1::Snapshot& wire) { return wire.mutable_dkms()->mutable_known()->mutable_items(); }, &Snapshot::dkms,
      "dkms: 65 entries, at most 64 are taken");
  expect_limit(
      Snapshot::kMaxBootBuilders,
      +[](v1::Snapshot& wire) { return wire.mutable_boot_builders()->mutable_known()->mutable_items(); },
      &Snapshot::boot_builders, "boot builders: 9 services, at most 8 are taken");
  expect_limit(
      RebootRequired::kMaxPackages,
      +[](v1::Snapshot& wire) { return wire.mutable_reboot_required()->mutable_known()->mutable_packages(); },
      &Snapshot::reboot_required, "reboot required: 65 packages, at most 64 are taken");
  expect_limit(
      kMaxCdiSpecs, +[](v1::Snapshot& wire) { return wire.mutable_cdi_specs()->mutable_known()->mutable_items(); },
      &Snapshot::cdi_specs, "CDI specifications: 17 specifications, at most 16 are taken");
  expect_limit(
      ContainerRuntime::kMaxItems,
      +[](v1::Snapshot& wire) { return wire.mutable_runtime()->mutable_known()->mutable_handlers(); },
      &Snapshot::runtime, "runtime: 33 handlers, at most 32 are taken");
  expect_limit(
      ContainerRuntime::kMaxItems,
      +[](v1::Snapshot& wire) { return wire.mutable_runtime()->mutable_known()->mutable_unimported(); },
      &Snapshot::runtime, "runtime: 33 files that nothing imports, at most 32 are taken");
  expect_limit(
      ContainerRuntime::kMaxItems,
      +[](v1::Snapshot& wire) { return wire.mutable_runtime()->mutable_known()->mutable_conflicts(); },
      &Snapshot::runtime, "runtime: 33 conflicts, at most 32 are taken");
  expect_limit(
      KubeletDevices::kMaxItems,
      +[](v1::Snapshot& wire) { return wire.mutable_kubelet()->mutable_known()->mutable_pods(); }, &Snapshot::kubelet,
      "kubelet: 129 pods, at most 128 are taken");
}

TEST(FromWireFacts, ListsInsideAnItemHaveLimitsToo) {
  expect_limit(
      KernelModule::kMaxUsers,
      +[](v1::Snapshot& wire) { return wire.mutable_modules()->mutable_known()->mutable_items(0)->mutable_used_by(); },
      &Snapshot::modules, "modules: 33 users of a module, at most 32 are taken");
  expect_limit(
      DeviceHolder::kMaxDevices,
      +[](v1::Snapshot& wire) { return wire.mutable_holders()->mutable_known()->mutable_items(0)->mutable_devices(); },
      &Snapshot::holders, "device holders: 33 devices of a process, at most 32 are taken");
}

TEST(FromWireFacts, HoldersBeyondTheirTotalAreNoAnswer) {
  const Snapshot got = damaged([](v1::Snapshot& wire) { wire.mutable_holders()->mutable_known()->set_total(1); });
  expect_unknown(got.holders, ErrorCode::Malformed, "device holders: 2 processes of a total of 1 are no answer");
  const Snapshot many = damaged([](v1::Snapshot& wire) {
    v1::DeviceHolders& known = *wire.mutable_holders()->mutable_known();
    known.set_total(65);
    while (known.items_size() < 65) {
      *known.add_items() = known.items(0);
    }
  });
  expect_unknown(many.holders, ErrorCode::TooLarge, "device holders: 65 processes, at most 64 are taken");
}

TEST(FromWireFacts, AWordNobodyKnowsHereMakesItsFactUnknownAndIsNamed) {
  const Snapshot got = damaged([](v1::Snapshot& wire) {
    wire.mutable_modules()->mutable_known()->mutable_items(1)->set_state("frozen\x1b");
    wire.mutable_installs()->mutable_known()->mutable_items(0)->set_kind("snap");
    wire.mutable_pci_functions()->mutable_known()->mutable_items(0)->set_kind("dpu");
    wire.mutable_kernel_log()->mutable_known()->mutable_items(0)->set_kind("overheated");
    wire.mutable_dkms()->mutable_known()->mutable_items(0)->clear_stage();
    wire.mutable_runtime()->mutable_known()->set_kind("docker");
  });
  expect_unknown(got.modules, ErrorCode::Malformed, "modules: 'frozen?' is no module state known here");
  expect_unknown(got.installs, ErrorCode::Malformed, "installs: 'snap' is no kind of installer known here");
  expect_unknown(got.pci_functions, ErrorCode::Malformed, "PCI functions: 'dpu' is no kind of PCI function known here");
  expect_unknown(got.kernel_log, ErrorCode::Malformed, "kernel log: 'overheated' is no kind of event known here");
  expect_unknown(got.dkms, ErrorCode::Malformed, "dkms: '' is no stage of dkms known here");
  expect_unknown(got.runtime, ErrorCode::Malformed, "runtime: 'docker' is no container runtime known here");
  EXPECT_TRUE(got.kernels.is_known() && got.holders.is_known());
  const Snapshot part =
      damaged([](v1::Snapshot& wire) { wire.mutable_installs()->mutable_known()->mutable_items(1)->set_part("all"); });
  expect_unknown(part.installs, ErrorCode::Malformed, "installs: 'all' is no part of a driver known here");
}

TEST(FromWireFacts, TimesAndNumbersAreChecked) {
  const Snapshot got = damaged([](v1::Snapshot& wire) {
    wire.mutable_modules()->mutable_known()->mutable_items(0)->set_state_since_unix_ms(-1);
    wire.mutable_validations()->mutable_known()->mutable_items(0)->set_written_unix_ms(-2);
    wire.mutable_kernel_log()->mutable_known()->mutable_items(0)->set_last_unix_ms(-3);
    wire.mutable_runtime()->mutable_known()->set_newest_change_unix_ms(-4);
    wire.mutable_pci_functions()->mutable_known()->mutable_items(0)->set_device_id(65536);
  });
  expect_unknown(got.modules, ErrorCode::Malformed, "modules: nvidia: -1 ms is not within 1970 to 9999");
  expect_unknown(got.validations, ErrorCode::Malformed, "validations: driver-ready: -2 ms is not within 1970 to 9999");
  expect_unknown(got.kernel_log, ErrorCode::Malformed, "kernel log: last: -3 ms is not within 1970 to 9999");
  expect_unknown(got.runtime, ErrorCode::Malformed, "runtime: newest change: -4 ms is not within 1970 to 9999");
  expect_unknown(got.pci_functions, ErrorCode::Malformed, "PCI functions: 0000:3b:00.1: device id 65536 is over 65535");
}

TEST(FromWireFacts, WhatAValueCanNotDoWithoutMustBeThere) {
  const Snapshot got = damaged([](v1::Snapshot& wire) {
    wire.mutable_device_nodes()->mutable_known()->mutable_items(0)->clear_path();
    wire.mutable_next_kernel()->mutable_known()->clear_release();
    wire.mutable_boot_builders()->mutable_known()->mutable_items(0)->set_name("a\nb");
    wire.mutable_cdi_specs()->mutable_known()->mutable_items(0)->clear_kind();
    wire.mutable_kubelet()->mutable_known()->mutable_registered(0)->clear_name();
  });
  expect_unknown(got.device_nodes, ErrorCode::Malformed, "device nodes: path: is empty");
  EXPECT_EQ(got.next_kernel.why().what.substr(0, 22), "next kernel: release: ");
  expect_unknown(got.boot_builders, ErrorCode::Malformed, "boot builders: name: 'a?b' has control characters");
  expect_unknown(got.cdi_specs, ErrorCode::Malformed, "CDI specifications: kind: is empty");
  expect_unknown(got.kubelet, ErrorCode::Malformed, "kubelet: name: is empty");
}

TEST(FromWireFacts, TextForPeopleIsCutAndMadeSafeToShow) {
  const Snapshot got = damaged([](v1::Snapshot& wire) {
    wire.mutable_kernel_log()->mutable_known()->mutable_items(0)->set_text("NVRM\x1b[2J " + std::string(600, 'x'));
    wire.mutable_holders()->mutable_known()->mutable_items(0)->set_command("py\nthon");
  });
  const std::string& text = got.kernel_log->front().text;
  EXPECT_EQ(text.substr(0, 9), "NVRM?[2J ");
  EXPECT_EQ(text.size(), KernelLogEvent::kMaxText);
  EXPECT_EQ(got.holders->items.front().command, "py?thon");
}

TEST(FromWireFacts, ACommandLineMayBeLongerThanOtherTextButIsNeverCut) {
  const auto line = [](std::size_t size) {
    return damaged([size](v1::Snapshot& wire) { wire.mutable_command_line()->set_known(std::string(size, 'a')); })
        .command_line;
  };
  EXPECT_EQ(line(kMaxWireCommandLine)->size(), kMaxWireCommandLine);
  expect_unknown(line(kMaxWireCommandLine + 1), ErrorCode::TooLarge, "command line: longer than 4096 bytes");
}

TEST(FromWireFacts, AnOlderAgentsModuleFileHasItsNewFactsUnknown) {
  const Snapshot got = damaged([](v1::Snapshot& wire) {
    wire.mutable_module_file()->mutable_known()->clear_built_for();
    wire.mutable_module_file()->mutable_known()->clear_flavour();
  });
  ASSERT_TRUE(got.module_file.is_known());
  EXPECT_TRUE(got.module_file->version.is_known());
  expect_unknown(got.module_file->built_for, ErrorCode::Unsupported, "not reported by this agent");
  expect_unknown(got.module_file->flavour, ErrorCode::Unsupported, "not reported by this agent");
}

TEST(FromWireFacts, ABadAddressAmongTheRememberedGpusIsNothingRemembered) {
  EXPECT_EQ(damaged([](v1::Snapshot& wire) { wire.mutable_remembered()->set_gpus(0, "3b"); }).remembered, std::nullopt);
  EXPECT_EQ(damaged([](v1::Snapshot& wire) {
              while (wire.remembered().gpus_size() <= static_cast<int>(Snapshot::kMaxGpus)) {
                wire.mutable_remembered()->add_gpus("0000:3b:00.0");
              }
            }).remembered,
            std::nullopt);
}

}  // namespace
}  // namespace gpuskew
