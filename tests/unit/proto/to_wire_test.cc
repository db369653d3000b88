#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "gpuskew/v1/agent.pb.h"
#include "proto/convert.h"
#include "tests/unit/proto/sample.h"

namespace gpuskew {
namespace {

// What two spellings of one version hide from ==, the wire form shows.
std::string wire_bytes(const Snapshot& snapshot) {
  v1::Snapshot wire;
  to_wire(snapshot, wire);
  return wire.SerializeAsString();
}

Result<Snapshot> parsed(const std::string& bytes) {
  v1::Snapshot wire;
  if (!wire.ParseFromString(bytes)) {
    return fail(ErrorCode::Malformed, "protobuf refuses it");
  }
  return from_wire(wire);
}

rc::Gen<std::string> text(int min_length) {
  auto character = rc::gen::element<std::string>("a", "Z", "7", "-", ".", "/", "_", " ", "\"", "\\", "é", "驱", "🚀");
  auto characters = rc::gen::withSize([character](int size) {
    return rc::gen::container<std::vector<std::string>>(static_cast<std::size_t>(size % 40), character);
  });
  return rc::gen::map(characters, [min_length](const std::vector<std::string>& pieces) {
    std::string all(static_cast<std::size_t>(min_length), 'x');
    for (const std::string& piece : pieces) {
      all += piece;
    }
    return all;
  });
}

template <class T>
rc::Gen<std::optional<T>> optional(const rc::Gen<T>& value) {
  return rc::gen::oneOf(rc::gen::map(value, [](const T& some) { return std::optional<T>(some); }),
                        rc::gen::just(std::optional<T>()));
}

rc::Gen<Time> time_point() {
  return rc::gen::map(rc::gen::inRange<std::int64_t>(0, 253'402'300'799'999), from_unix_ms);
}

rc::Gen<DriverVersion> driver() {
  return rc::gen::map(rc::gen::element("550.90.07", "570.133.7", "570.133.07", "460.56", "595.45.04"),
                      [](const char* version) { return DriverVersion::parse(version).value(); });
}

rc::Gen<KernelRelease> kernel() {
  return rc::gen::map(rc::gen::element("5.15.0-119-generic", "6.6.72+", "5.14.0-427.13.1.el9_4.x86_64+rt", "6.17"),
                      [](const char* release) { return KernelRelease::parse(release).value(); });
}

template <class T>
rc::Gen<Fact<T>> fact(const rc::Gen<T>& value) {
  auto code = rc::gen::element(ErrorCode::NotFound, ErrorCode::Denied, ErrorCode::Malformed, ErrorCode::TooLarge,
                               ErrorCode::Timeout, ErrorCode::Unreachable, ErrorCode::Unsupported, ErrorCode::Internal);
  return rc::gen::oneOf(rc::gen::apply(&Fact<T>::known, value, text(0)), rc::gen::map(text(0), &Fact<T>::absent),
                        rc::gen::apply(&Fact<T>::unknown,
                                       rc::gen::apply(
                                           [](ErrorCode c, std::string why) {
                                             return Error{c, why};
                                           },
                                           code, text(1)),
                                       text(0)),
                        rc::gen::just(Fact<T>()));
}

rc::Gen<OsIdentity> os_identity_value() {
  return rc::gen::build<OsIdentity>(
      rc::gen::set(&OsIdentity::id, text(1)), rc::gen::set(&OsIdentity::version_id, optional(text(0))),
      rc::gen::set(&OsIdentity::pretty_name, text(0)), rc::gen::set(&OsIdentity::variant_id, text(0)),
      rc::gen::set(&OsIdentity::build_id, text(0)), rc::gen::set(&OsIdentity::ostree_version, text(0)));
}

rc::Gen<Library> library() {
  return rc::gen::apply(
      [](const std::string& name, const DriverVersion& version, const std::string& path, bool container) {
        return Library{name, version, path, container ? DriverRoot::Container : DriverRoot::Host};
      },
      text(1), driver(), text(0), rc::gen::arbitrary<bool>());
}

rc::Gen<Gpu> gpu() {
  return rc::gen::apply(
      [](const char* address, std::uint16_t id, const Fact<std::string>& bound) {
        return Gpu{address, id, bound};
      },
      rc::gen::element("0000:3b:00.0", "10000:01:1f.7"), rc::gen::arbitrary<std::uint16_t>(), fact(text(1)));
}

rc::Gen<LastGood> last_good() {
  return rc::gen::apply([](Time at, const std::string& boot, const KernelRelease& release, const DriverVersion& version,
                           std::optional<std::uint32_t> gpus,
                           bool container) { return LastGood{at, boot, release, version, gpus, container}; },
                        time_point(), text(0), kernel(), driver(),
                        optional(rc::gen::inRange<std::uint32_t>(0, Snapshot::kMaxGpus + 1)),
                        rc::gen::arbitrary<bool>());
}

Snapshot any_snapshot() {
  Snapshot any;
  any.node = *rc::gen::element<std::string>("a", "gpu-7.rack-3", std::string(63, 'n'));
  any.agent_version = *text(0);
  any.taken_at = *time_point();
  any.boot_id = *fact(text(1));
  any.boot_time = *fact(time_point());
  any.kernel = *fact(kernel());
  any.architecture = *fact(text(1));
  any.os = *fact(os_identity_value());
  any.loaded_driver = *fact(driver());
  any.loaded_flavour = *fact(rc::gen::element(ModuleFlavour::Proprietary, ModuleFlavour::Open));
  any.l4t_release = *fact(text(1));
  any.module_file = *fact(rc::gen::apply(
      [](const std::string& path, const Fact<DriverVersion>& version) {
        return ModuleFile{path, version};
      },
      text(1), fact(driver())));
  any.libraries = *fact(rc::gen::resize(6, rc::gen::container<std::vector<Library>>(library())));
  any.driver_container = *fact(rc::gen::apply(
      [](const std::string& root, bool mounted) {
        return DriverContainer{root, mounted};
      },
      text(1), rc::gen::arbitrary<bool>()));
  any.gpus = *fact(rc::gen::resize(9, rc::gen::container<std::vector<Gpu>>(gpu())));
  any.remembered = *optional(last_good());
  return any;
}

RC_GTEST_PROP(ToWire, EverySnapshotComesBackAsItWas, ()) {
  const Snapshot before = any_snapshot();
  const std::string bytes = wire_bytes(before);
  const Result<Snapshot> after = parsed(bytes);
  RC_ASSERT(after.has_value());
  RC_ASSERT(after->same_facts(before));
  RC_ASSERT(after->taken_at == before.taken_at);
  RC_ASSERT(wire_bytes(*after) == bytes);
}

// The messages before must leave nothing behind.
RC_GTEST_PROP(ToWire, AMessageWrittenAgainEqualsANewOne, ()) {
  v1::Snapshot reused;
  for (int round = 0; round < 3; ++round) {
    const Snapshot snapshot = any_snapshot();
    to_wire(snapshot, reused);
    RC_ASSERT(reused.SerializeAsString() == wire_bytes(snapshot));
  }
}

RC_GTEST_PROP(ToWire, EveryLastGoodStateComesBackAsItWas, ()) {
  const LastGood before = *last_good();
  const Result<LastGood> after = decode_last_good(encode(before));
  RC_ASSERT(after.has_value());
  RC_ASSERT(*after == before);
  RC_ASSERT(encode(*after) == encode(before));
}

TEST(ToWire, LeavesTheSequenceNumberAlone) {
  v1::Snapshot wire;
  wire.set_sequence(7);
  to_wire(sample_snapshot(), wire);
  EXPECT_EQ(wire.sequence(), 7u);
}

TEST(ToWire, WritesUnitsAsTheProtocolDocumentsThem) {
  v1::Snapshot wire;
  to_wire(sample_snapshot(), wire);
  EXPECT_EQ(wire.taken_unix_ms(), 1'780'000'000'123);
  EXPECT_EQ(wire.boot_time().known_unix_ms(), 1'779'000'000'000);
  EXPECT_EQ(wire.gpus().known().items(0).device_id(), 0x20b5u);
  EXPECT_EQ(wire.loaded_flavour().known(), "open");
  EXPECT_EQ(wire.loaded_driver().known(), "550.90.07");
}

TEST(ToWire, ReplacesBytesThatAreNotUtf8SoThatThePeerTakesTheMessage) {
  Snapshot snapshot = sample_snapshot();
  OsIdentity os = *snapshot.os;
  os.pretty_name = "Caf\xE9 Linux";
  snapshot.os = Fact<OsIdentity>::known(os, "/etc/os-release\xFF");
  snapshot.gpus = Fact<std::vector<Gpu>>::unknown(Error{ErrorCode::Denied, "reading \xC0\x80"}, "/sys");
  const Result<Snapshot> after = parsed(wire_bytes(snapshot));
  ASSERT_TRUE(after.has_value()) << after.error().what;
  EXPECT_EQ(after->os->pretty_name, "Caf? Linux");
  EXPECT_EQ(after->os.source(), "/etc/os-release?");
  EXPECT_EQ(after->gpus.why().what, "reading ??");
}

TEST(ToWire, AFactNobodyReadArrivesAsUnknown) {
  Snapshot snapshot;
  snapshot.node = "a";
  const Result<Snapshot> after = parsed(wire_bytes(snapshot));
  ASSERT_TRUE(after.has_value()) << after.error().what;
  EXPECT_TRUE(after->loaded_driver.is_unknown());
  EXPECT_TRUE(after->gpus.is_unknown());
  EXPECT_EQ(after->gpus.why().what, "not reported");
}

}  // namespace
}  // namespace gpuskew
