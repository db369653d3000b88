#include <cstdint>
#include <functional>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "core/facts/each_fact.h"
#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "proto/text.h"
#include "tests/unit/proto/sample.h"

namespace gpuskew {
namespace {

v1::Snapshot sample_wire() {
  v1::Snapshot wire;
  to_wire(sample_snapshot(), wire);
  return wire;
}

/// The sample as it arrives after `damage`; damage must not make the whole message useless.
Snapshot damaged(const std::function<void(v1::Snapshot&)>& damage) {
  v1::Snapshot wire = sample_wire();
  damage(wire);
  Result<Snapshot> result = from_wire(wire);
  EXPECT_TRUE(result.has_value()) << result.error().what;
  return result ? *result : Snapshot{};
}

ErrorCode refusal(const std::function<void(v1::Snapshot&)>& damage) {
  v1::Snapshot wire = sample_wire();
  damage(wire);
  const Result<Snapshot> result = from_wire(wire);
  EXPECT_FALSE(result.has_value());
  return result ? ErrorCode::Internal : result.error().code;
}

template <class T>
void expect_unknown(const Fact<T>& fact, ErrorCode code, const std::string& why) {
  ASSERT_TRUE(fact.is_unknown());
  EXPECT_EQ(fact.why().code, code);
  EXPECT_EQ(fact.why().what.substr(0, why.size()), why) << fact.why().what;
}

TEST(FromWire, AStateThatIsNotSetIsUnknownAndKeepsItsSource) {
  const Snapshot got = damaged([](v1::Snapshot& wire) {
    wire.mutable_kernel()->clear_state();
    wire.clear_gpus();
    wire.clear_loaded_driver();
  });
  expect_unknown(got.kernel, ErrorCode::Unsupported, "not reported by this agent");
  EXPECT_EQ(got.kernel.source(), "/proc/sys/kernel/osrelease");
  expect_unknown(got.gpus, ErrorCode::Unsupported, "not reported by this agent");
  expect_unknown(got.loaded_driver, ErrorCode::Unsupported, "not reported by this agent");
}

TEST(FromWire, AnEmptyMessageButForTheNodeIsAllUnknown) {
  v1::Snapshot wire;
  wire.set_node("a");
  const Snapshot got = from_wire(wire).value();
  for_each_fact(got, [](const char* name, const auto& fact) {
    EXPECT_TRUE(fact.is_unknown()) << name;
    EXPECT_FALSE(is_reported(fact)) << name;
  });
  EXPECT_EQ(got.expected_gpus, std::nullopt);
  EXPECT_EQ(got.remembered, std::nullopt);
}

TEST(FromWire, RefusesAMessageWithoutAValidNodeName) {
  for (const std::string& name : {std::string(), std::string("Gpu 1"), std::string("a..b"), std::string("-a"),
                                  std::string("a\nb"), std::string("../x"), std::string(254, 'a')}) {
    EXPECT_EQ(refusal([&name](v1::Snapshot& wire) { wire.set_node(name); }), ErrorCode::Malformed) << name;
  }
}

TEST(FromWire, AKernelThatDoesNotParseIsUnknownAndNamesTheField) {
  const auto kernel = [](const std::string& text) {
    return damaged([&text](v1::Snapshot& wire) { wire.mutable_kernel()->set_known(text); }).kernel;
  };
  expect_unknown(kernel(""), ErrorCode::Malformed, "kernel: ");
  expect_unknown(kernel("5.15 generic"), ErrorCode::Malformed, "kernel: ");
  expect_unknown(kernel(std::string(65, '5')), ErrorCode::TooLarge, "kernel: ");
  expect_unknown(kernel(std::string(1'000'000, '5')), ErrorCode::TooLarge, "kernel: longer than 1024 bytes");
}

TEST(FromWire, ADriverVersionThatDoesNotParseIsUnknown) {
  for (const char* text :
       {"", "550", "550.90.07 ", "550.90.07\n", "v550.90", "550.90.07.1", "550.999999", "5\x1b[0m.1"}) {
    const Snapshot got = damaged([text](v1::Snapshot& wire) {
      wire.mutable_loaded_driver()->set_known(text);
      wire.mutable_module_file()->mutable_known()->mutable_version()->set_known(text);
    });
    expect_unknown(got.loaded_driver, ErrorCode::Malformed, "loaded driver: ");
    EXPECT_EQ(got.loaded_driver.why().what.find('\x1b'), std::string::npos);
    EXPECT_EQ(got.loaded_driver.source(), "/sys/module/nvidia/version");
    // The file is there all the same: only its version is not known.
    ASSERT_TRUE(got.module_file.is_known());
    expect_unknown(got.module_file->version, ErrorCode::Malformed, "version: ");
  }
}

TEST(FromWire, TextThatIsEmptyTooLongOrForTerminalsIsUnknown) {
  const auto boot_id = [](const std::string& text) {
    return damaged([&text](v1::Snapshot& wire) { wire.mutable_boot_id()->set_known(text); }).boot_id;
  };
  expect_unknown(boot_id(""), ErrorCode::Malformed, "boot id: is empty");
  expect_unknown(boot_id("a\tb"), ErrorCode::Malformed, "boot id: 'a?b' has control characters");
  expect_unknown(boot_id(std::string(kMaxWireText + 1, 'b')), ErrorCode::TooLarge, "boot id: longer");
}

TEST(FromWire, TimesOutsideTheYears1970To9999AreUnknown) {
  for (const std::int64_t ms : {std::int64_t{-1}, std::int64_t{253'402'300'800'000},
                                std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    const Snapshot got = damaged([ms](v1::Snapshot& wire) {
      wire.mutable_boot_time()->set_known_unix_ms(ms);
      wire.set_taken_unix_ms(ms);
      wire.mutable_remembered()->set_at_unix_ms(ms);
    });
    expect_unknown(got.boot_time, ErrorCode::Malformed, "boot time: ");
    EXPECT_GE(to_unix_ms(got.taken_at), 0);
    EXPECT_LE(to_unix_ms(got.taken_at), 253'402'300'799'999);
    EXPECT_EQ(got.remembered, std::nullopt);
  }
}

TEST(FromWire, AnOsWithoutAnIdIsUnknownAndAnEmptyVersionIdIsAValue) {
  const Snapshot no_id = damaged([](v1::Snapshot& wire) { wire.mutable_os()->mutable_known()->clear_id(); });
  expect_unknown(no_id.os, ErrorCode::Malformed, "os-release: ID: is empty");

  const Snapshot empty = damaged([](v1::Snapshot& wire) { wire.mutable_os()->mutable_known()->set_version_id(""); });
  EXPECT_EQ(empty.os->version_id, "");
  const Snapshot rolling = damaged([](v1::Snapshot& wire) { wire.mutable_os()->mutable_known()->clear_version_id(); });
  EXPECT_EQ(rolling.os->version_id, std::nullopt);
}

TEST(FromWire, AFlavourOfALaterVersionIsUnknown) {
  const Snapshot got = damaged([](v1::Snapshot& wire) { wire.mutable_loaded_flavour()->set_known("quantum"); });
  expect_unknown(got.loaded_flavour, ErrorCode::Malformed, "loaded flavour: 'quantum' is no module flavour known here");
}

TEST(FromWire, OneBadGpuMakesTheListUnknownBecauseAShorterListWouldBeAWrongCount) {
  for (const char* address : {"", "3b:00.0", "0000:3b:00.8", "0000:3B:00.0", "0000:3b:00.0 ", "000000000:3b:00.0",
                              "0000-3b:00.0", "0000:3b-00.0", "0000:3b:0g.0", "0000:3b:00,0", "0000"}) {
    const Snapshot got = damaged([address](v1::Snapshot& wire) {
      wire.mutable_gpus()->mutable_known()->mutable_items(1)->set_address(address);
    });
    expect_unknown(got.gpus, ErrorCode::Malformed, std::string("GPUs: '") + address + "' is no PCI address");
  }
  const Snapshot got = damaged(
      [](v1::Snapshot& wire) { wire.mutable_gpus()->mutable_known()->mutable_items(0)->set_device_id(0x10000); });
  expect_unknown(got.gpus, ErrorCode::Malformed, "GPUs: 0000:3b:00.0: device id 65536 is over 65535");
}

TEST(FromWire, AGpuWhoseDriverIsNotReportedIsNotAGpuWithoutOne) {
  const Snapshot got =
      damaged([](v1::Snapshot& wire) { wire.mutable_gpus()->mutable_known()->mutable_items(0)->clear_driver(); });
  ASSERT_EQ(got.gpus->size(), 2u);
  EXPECT_TRUE(got.gpus->front().driver.is_unknown());
}

TEST(FromWire, OneBadLibraryMakesTheListUnknown) {
  const Snapshot version = damaged(
      [](v1::Snapshot& wire) { wire.mutable_libraries()->mutable_known()->mutable_items(1)->set_version("newest"); });
  expect_unknown(version.libraries, ErrorCode::Malformed, "libraries: libcuda: ");
  const Snapshot name =
      damaged([](v1::Snapshot& wire) { wire.mutable_libraries()->mutable_known()->mutable_items(0)->clear_name(); });
  expect_unknown(name.libraries, ErrorCode::Malformed, "libraries: name: is empty");
}

TEST(FromWire, AModuleFileOrContainerWithoutItsPathIsUnknown) {
  const Snapshot got = damaged([](v1::Snapshot& wire) {
    wire.mutable_module_file()->mutable_known()->clear_path();
    wire.mutable_driver_container()->mutable_known()->clear_root();
  });
  expect_unknown(got.module_file, ErrorCode::Malformed, "module file: path: is empty");
  expect_unknown(got.driver_container, ErrorCode::Malformed, "driver container: root: is empty");
}

TEST(FromWire, ReasonsAndSourcesAreCutAndMadeSafeToShow) {
  const Snapshot got = damaged([](v1::Snapshot& wire) {
    wire.mutable_kernel()->set_source("/proc\x1b]0;title\x07");
    wire.mutable_kernel()->mutable_unknown()->set_code("denied");
    wire.mutable_kernel()->mutable_unknown()->set_because(std::string(5000, 'x'));
    wire.mutable_gpus()->mutable_unknown()->set_code("out-of-quota");
  });
  EXPECT_EQ(got.kernel.source(), "/proc?]0;title?");
  EXPECT_EQ(got.kernel.why().code, ErrorCode::Denied);
  EXPECT_EQ(got.kernel.why().what.size(), kMaxWireText);
  // A code of a later version still says why.
  EXPECT_EQ(got.gpus.why(), (Error{ErrorCode::Internal, "the agent gives no reason"}));
}

TEST(FromWire, ABadRememberedStateIsNothingRemembered) {
  EXPECT_EQ(damaged([](v1::Snapshot& wire) { wire.mutable_remembered()->set_driver("none"); }).remembered,
            std::nullopt);
  EXPECT_EQ(damaged([](v1::Snapshot& wire) { wire.mutable_remembered()->clear_kernel(); }).remembered, std::nullopt);
  EXPECT_EQ(damaged([](v1::Snapshot& wire) { wire.mutable_remembered()->set_gpu_count(257); }).remembered,
            std::nullopt);
}

TEST(FromWire, LastGoodBytesThatAreDamagedSayWhatIsWrong) {
  EXPECT_EQ(decode_last_good("").error().code, ErrorCode::Malformed);
  EXPECT_EQ(decode_last_good("\xFF\xFF").error().what, "last good state: not a LastGood message");
  EXPECT_EQ(decode_last_good(std::string(1 << 20, '\0')).error().code, ErrorCode::TooLarge);
  const std::string whole = encode(sample_last_good());
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const Result<LastGood> cut = decode_last_good(std::string_view(whole).substr(0, length));
    // A cut between fields leaves a shorter message, but never one with a version or kernel that was not written.
    if (cut) {
      EXPECT_EQ(cut->driver, sample_last_good().driver);
      EXPECT_EQ(cut->kernel, sample_last_good().kernel);
    }
  }
}

}  // namespace
}  // namespace gpuskew
