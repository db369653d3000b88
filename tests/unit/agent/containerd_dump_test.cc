// The real containerd beside our merge, on the same files: `containerd config dump` and we must agree.
//
// Debian's is 1.x. With GPUSKEW_CONTAINERD=PROGRAM any other one is asked, by the rules of its own version.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "agent/probes/containerd_merge.h"
#include "agent/probes/nvidia_handler.h"
#include "tests/unit/agent/containerd_shapes.h"
#include "tests/unit/agent/scratch_tree.h"

namespace gpuskew {
namespace {

std::string output_of(const std::string& command, int* status = nullptr) {
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> block{};
  while (const std::size_t got = std::fread(block.data(), 1, block.size(), pipe)) {
    text.append(block.data(), got);
  }
  const int ended = ::pclose(pipe);
  if (status != nullptr) {
    *status = ended;
  }
  return text;
}

std::string containerd() {
  const char* chosen = std::getenv("GPUSKEW_CONTAINERD");
  return chosen == nullptr ? "containerd" : chosen;
}

// "containerd github.com/containerd/containerd 1.6.20~ds1 1.6.20~ds1-1+deb12u3"
ContainerdVersion real_version() {
  const std::string line = output_of(containerd() + " --version");
  const std::size_t second = line.find(' ', line.find(' ') + 1);
  return parse_containerd_version(second == std::string::npos ? "" : std::string_view(line).substr(second + 1));
}

struct Dump {
  std::string default_runtime;
  std::set<std::string> nvidia;  ///< handlers
  bool enable_cdi = false;

  bool operator==(const Dump&) const = default;
};

std::string at(const TomlPath& path, std::size_t index) {
  return path.size() > index ? path[index] : "";
}

Dump read_dump(const std::string& text) {
  Dump dump;
  const auto settings = parse_toml("dump", text);
  EXPECT_TRUE(settings.has_value()) << settings.error().what;
  for (const TomlSetting& setting : settings.value_or(std::vector<TomlSetting>())) {
    const TomlPath& path = setting.path;
    // The same name in every version of the dump that has this part of the plugin.
    if (at(path, 0) != "plugins" ||
        (at(path, 1) != "io.containerd.grpc.v1.cri" && at(path, 1) != "io.containerd.cri.v1.runtime")) {
      continue;
    }
    const std::string* value = setting.text();
    if (at(path, 2) == "containerd" && at(path, 3) == "default_runtime_name" && value != nullptr) {
      dump.default_runtime = *value;
    }
    if (at(path, 2) == "containerd" && at(path, 3) == "runtimes" && path.size() == 5 && setting.is_table() &&
        is_nvidia_handler(path[4], "")) {
      dump.nvidia.insert(path[4]);
    }
    if (at(path, 2) == "containerd" && at(path, 6) == "BinaryName" && value != nullptr &&
        is_nvidia_handler("", *value)) {
      dump.nvidia.insert(path[4]);
    }
    if (at(path, 2) == "enable_cdi" && path.size() == 3) {
      dump.enable_cdi = std::get<bool>(setting.value);
    }
  }
  return dump;
}

class RealContainerd : public testing::TestWithParam<ContainerdShape> {};

TEST_P(RealContainerd, AgreesWithOurMerge) {
  const ScratchTree tree;
  for (const auto& [path, text] : GetParam().files) {
    std::string made = text;
    for (std::size_t sign = made.find('@'); sign != std::string::npos; sign = made.find('@')) {
      made.replace(sign, 1, tree.path().string());
    }
    tree.write("/" + path, made);
  }
  const std::string config = tree.path().string() + "/config.toml";
  const ContainerdVersion version = real_version();
  const auto rules = possible_rules(version);
  ASSERT_EQ(rules.size(), 1U) << "containerd does not tell its version";

  SeenFiles seen;
  const auto files = read_containerd_files(root_at("/"), config, rules.front(), seen);
  Result<ContainerdMerge> ours = files ? merge_containerd(*files, rules.front()) : tl::unexpected(files.error());

  int status = 0;
  const std::string text = output_of(containerd() + " -c " + config + " config dump 2>&1 </dev/null", &status);
  // A missing import looks like a missing main file to its dump (the daemon itself does stop there).
  const bool refused = status != 0 || std::string_view(GetParam().name) == "ImportThatIsNotThere";
  ASSERT_EQ(ours.has_value(), !refused) << (ours ? "" : ours.error().what) << "\n" << text;
  if (!ours) {
    return;
  }
  const Dump real = read_dump(output_of(containerd() + " -c " + config + " config dump 2>/dev/null </dev/null"));
  if (ours->cri_disabled) {
    EXPECT_TRUE(ours->handlers.empty());
    return;  // the dump leaves a disabled plugin's table as it was
  }
  Dump made{ours->default_runtime, {}, false};
  for (const RuntimeHandler& handler : ours->handlers) {
    made.nvidia.insert(handler.name);
  }
  EXPECT_EQ(made.default_runtime, real.default_runtime);
  EXPECT_EQ(made.nvidia, real.nvidia);
  const bool has_cdi = version.major > 1 || version.minor > 6;  // 1.6 ignores the key
  if (has_cdi && version.minor < 4) {                           // 2.4 dropped it
    EXPECT_EQ(ours->enable_cdi.value_or(version.major > 1), real.enable_cdi);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, RealContainerd, testing::ValuesIn(containerd_shapes()),
                         [](const auto& shape) { return std::string(shape.param.name); });

}  // namespace
}  // namespace gpuskew
