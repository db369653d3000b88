// Agents and aggregators are never upgraded at one moment: each must understand a peer of a later version.
// `later` is such a version (later.proto); `v1` is ours.

#include <string>

#include <gtest/gtest.h>

#include "gpuskew/v1/agent.pb.h"
#include "later.pb.h"
#include "proto/convert.h"
#include "tests/unit/proto/sample.h"

namespace gpuskew {
namespace {

/// The sample, said by a later agent, with everything in it that only a later version knows.
later::Snapshot later_snapshot() {
  v1::Snapshot ours;
  to_wire(sample_snapshot(), ours);
  later::Snapshot later;
  EXPECT_TRUE(later.ParseFromString(ours.SerializeAsString()));
  later.set_sequence(3);
  later.mutable_power_limit()->set_source("/sys/class/hwmon");
  later.mutable_power_limit()->set_known("700 W");
  later.add_phases("L1");
  later.add_phases("");
  later.mutable_kernel()->set_read_unix_ns(0x0123456789abcdef);
  later.mutable_l4t_release()->mutable_disputed()->add_values("35.4.1");
  later.mutable_l4t_release()->mutable_disputed()->add_values("36.2.0");
  later.mutable_boot_time()->mutable_unknown()->set_code("quota");
  later.mutable_boot_time()->mutable_unknown()->set_because("asked too often");
  later.mutable_boot_time()->mutable_unknown()->set_tries(9);
  later.mutable_gpus()->mutable_known()->mutable_items(0)->set_uuid("GPU-5f3c");
  later.mutable_gpus()->mutable_known()->mutable_items(0)->set_link_width(15.5F);
  return later;
}

v1::Snapshot as_read_here(const later::Snapshot& later) {
  v1::Snapshot ours;
  EXPECT_TRUE(ours.ParseFromString(later.SerializeAsString()));
  return ours;
}

TEST(LaterVersion, FactsKnownTodayAreReadRightFromALaterAgent) {
  const Result<Snapshot> got = from_wire(as_read_here(later_snapshot()));
  ASSERT_TRUE(got.has_value()) << got.error().what;
  Snapshot expected = sample_snapshot();
  // What a later version says in a way we do not know is unknown, and nothing else changes.
  expected.l4t_release = got->l4t_release;
  expected.boot_time = got->boot_time;
  EXPECT_TRUE(got->same_facts(expected));
  EXPECT_EQ(got->taken_at, expected.taken_at);
}

TEST(LaterVersion, AStateOfALaterVersionReadsAsUnknown) {
  const Snapshot got = from_wire(as_read_here(later_snapshot())).value();
  ASSERT_TRUE(got.l4t_release.is_unknown());
  EXPECT_EQ(got.l4t_release.why().what, "not reported by this agent");
  EXPECT_EQ(got.l4t_release.source(), "/proc/driver/nvidia/version");
}

TEST(LaterVersion, AnErrorCodeOfALaterVersionKeepsItsReason) {
  const Snapshot got = from_wire(as_read_here(later_snapshot())).value();
  EXPECT_EQ(got.boot_time.why(), (Error{ErrorCode::Internal, "asked too often"}));
}

TEST(LaterVersion, AWordOfALaterVersionMakesItsFactUnknownAndIsNamed) {
  later::Snapshot later = later_snapshot();
  later.mutable_modules()->mutable_known()->mutable_items(1)->set_state("frozen");
  later.mutable_kernel_log()->mutable_known()->mutable_items(0)->set_kind("overheated");
  later.mutable_runtime()->mutable_known()->set_kind("docker");
  const Snapshot got = from_wire(as_read_here(later)).value();
  ASSERT_TRUE(got.modules.is_unknown());
  EXPECT_EQ(got.modules.why().what, "modules: 'frozen' is no module state known here");
  ASSERT_TRUE(got.kernel_log.is_unknown());
  EXPECT_EQ(got.kernel_log.why().what, "kernel log: 'overheated' is no kind of event known here");
  ASSERT_TRUE(got.runtime.is_unknown());
  EXPECT_EQ(got.runtime.why().what, "runtime: 'docker' is no container runtime known here");
  EXPECT_TRUE(got.dkms.is_known());
}

TEST(LaterVersion, WhatWeStoreAndPassOnIsWholeForTheLaterVersion) {
  const later::Snapshot sent = later_snapshot();
  later::Snapshot returned;
  ASSERT_TRUE(returned.ParseFromString(as_read_here(sent).SerializeAsString()));
  EXPECT_EQ(returned.SerializeAsString(), sent.SerializeAsString());
  EXPECT_EQ(returned.power_limit().known(), "700 W");
  ASSERT_EQ(returned.phases_size(), 2);
  EXPECT_EQ(returned.phases(0), "L1");
  EXPECT_EQ(returned.kernel().read_unix_ns(), 0x0123456789abcdefu);
  EXPECT_EQ(returned.l4t_release().disputed().values(1), "36.2.0");
  EXPECT_EQ(returned.boot_time().unknown().tries(), 9u);
  EXPECT_EQ(returned.gpus().known().items(0).uuid(), "GPU-5f3c");
  EXPECT_EQ(returned.gpus().known().items(0).link_width(), 15.5F);
}

TEST(LaterVersion, AMessageKindOfALaterVersionIsNothingSaid) {
  later::AgentMessage later;
  later.mutable_farewell()->set_reason("node is going down");
  v1::AgentMessage ours;
  ASSERT_TRUE(ours.ParseFromString(later.SerializeAsString()));
  EXPECT_EQ(ours.message_case(), v1::AgentMessage::MESSAGE_NOT_SET);
  later::AgentMessage returned;
  ASSERT_TRUE(returned.ParseFromString(ours.SerializeAsString()));
  EXPECT_EQ(returned.farewell().reason(), "node is going down");
}

TEST(LaterVersion, ALaterAgentsHelloOffersARangeThatHoldsOurVersion) {
  later::AgentMessage later;
  later.mutable_hello()->set_min_version(1);
  later.mutable_hello()->set_max_version(4);
  later.mutable_hello()->set_node("gpu-7");
  later.mutable_hello()->add_features("events");
  v1::AgentMessage ours;
  ASSERT_TRUE(ours.ParseFromString(later.SerializeAsString()));
  ASSERT_TRUE(ours.has_hello());
  EXPECT_EQ(ours.hello().min_version(), 1u);
  EXPECT_EQ(ours.hello().max_version(), 4u);
  EXPECT_EQ(ours.hello().node(), "gpu-7");
}

TEST(LaterVersion, ARefusalCodeOfALaterAggregatorKeepsItsReason) {
  later::AggregatorMessage later;
  later.mutable_refusal()->set_code(later::Refusal::DRAINING);
  later.mutable_refusal()->set_reason("moving to another replica");
  v1::AggregatorMessage ours;
  ASSERT_TRUE(ours.ParseFromString(later.SerializeAsString()));
  ASSERT_TRUE(ours.has_refusal());
  EXPECT_FALSE(v1::Refusal::Code_IsValid(ours.refusal().code()));
  EXPECT_EQ(ours.refusal().reason(), "moving to another replica");
}

TEST(LaterVersion, ALaterAggregatorReadsUsAsWeMeantIt) {
  v1::Snapshot ours;
  to_wire(sample_snapshot(), ours);
  ours.set_sequence(12);
  later::Snapshot later;
  ASSERT_TRUE(later.ParseFromString(ours.SerializeAsString()));
  EXPECT_EQ(later.SerializeAsString(), ours.SerializeAsString());
  EXPECT_EQ(later.sequence(), 12u);
  EXPECT_EQ(later.kernel().known(), "5.15.0-119-generic");
  EXPECT_EQ(later.power_limit().state_case(), later::TextFact::STATE_NOT_SET);
}

}  // namespace
}  // namespace gpuskew
