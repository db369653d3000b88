// The GPU works, but the image this node needs does not exist: the next driver pod here would not start.

#include "core/rules/rules.h"

namespace gpuskew::rules {

std::optional<Ruling> image(const Scene& scene) {
  if (scene.matrix == nullptr) {
    return std::nullopt;
  }
  const Result<ImageNeed> need = image_need(scene);
  if (!need) {
    return Ruling{NodeState::Unknown, "whether this node's driver image exists is unknown: " + need.error().what,
                  std::nullopt, std::nullopt};
  }
  if (need->exists.value_or(true)) {
    return std::nullopt;
  }
  Finding finding = make_finding(scene, FindingCode::ImageMissing, Severity::Warning, scene.now);
  finding.cause = "driver image " + need->tag + " is not in the matrix";
  finding.evidence = {
      Evidence{need->tag + " is not among " + std::to_string(scene.matrix->size()) + " images", "matrix", scene.now},
      seen(scene, scene.snapshot.kernel, "running kernel: " + kernel_text(scene)),
      seen(scene, scene.snapshot.loaded_driver, "loaded driver: " + scene.snapshot.loaded_driver->text())};
  finding.reboot_helps = RebootHelps::No;
  finding.reboot_why = "the image does not exist; a driver pod that restarts on this node would not come up";
  finding.next_step =
      "gpuskew tag " + shell_word(scene.snapshot.node) + "   # build this image before the node restarts";
  finding.affected_gpus.clear();
  std::string why = finding.cause;
  return Ruling{NodeState::Degraded, std::move(why), std::move(finding), std::nullopt};
}

std::optional<Finding> silence(const Scene& scene, Time last_heard) {
  if (scene.now < last_heard + scene.policy.silent_after) {
    return std::nullopt;
  }
  Finding finding = make_finding(scene, FindingCode::AgentSilent, Severity::Warning, last_heard);
  finding.cause = "no word from the agent since " + to_rfc3339(last_heard) + ": what is shown is its last report";
  finding.evidence = {Evidence{"last word from the agent", "agent stream", last_heard}};
  finding.reboot_helps = RebootHelps::Unknown;
  finding.reboot_why = "the node, its network or only the agent may be down";
  finding.next_step = on_node(scene, "systemctl status gpuskew-agent");
  finding.affected_gpus.clear();
  return finding;
}

}  // namespace gpuskew::rules
