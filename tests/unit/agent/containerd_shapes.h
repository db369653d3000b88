#pragma once

// Configurations of containerd as they are met, for the tests of the merge and for the real containerd beside it.
// A '@' in a text is the directory they are written to.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuskew {

struct ContainerdShape {
  const char* name;
  std::vector<std::pair<std::string, std::string>> files;  ///< the first is the main file
};

inline std::string nvidia_runtime(std::string_view plugin, std::string_view name = "nvidia") {
  const std::string table = "plugins." + std::string(plugin) + ".containerd.runtimes." + std::string(name);
  return "[" + table + "]\n  runtime_type = \"io.containerd.runc.v2\"\n  [" + table +
         ".options]\n    BinaryName = \"/usr/bin/nvidia-container-runtime\"\n";
}

inline constexpr std::string_view kV2 = "\"io.containerd.grpc.v1.cri\"";
inline constexpr std::string_view kV3 = "'io.containerd.cri.v1.runtime'";

inline std::vector<ContainerdShape> containerd_shapes() {
  const std::string v2 = "version = 2\n";
  const std::string v3 = "version = 3\n";
  const std::string conf_d = "imports = [\"@/conf.d/*.toml\"]\n";
  const std::string cri2 = "[plugins." + std::string(kV2) + "]\n";
  const std::string default2 = "[plugins." + std::string(kV2) + ".containerd]\n  default_runtime_name = \"nvidia\"\n";
  return {
      {"NothingSet", {{"config.toml", ""}}},
      {"MainFileOfVersion2", {{"config.toml", v2 + default2 + nvidia_runtime(kV2)}}},
      {"MainFileOfVersion1", {{"config.toml", nvidia_runtime("cri")}}},
      {"Version1WithTheNameOfVersion2", {{"config.toml", nvidia_runtime(kV2)}}},
      {"MainFileOfVersion3", {{"config.toml", v3 + nvidia_runtime(kV3)}}},
      {"Version3WithTheNameOfVersion2", {{"config.toml", v3 + nvidia_runtime(kV2)}}},
      {"DropInByAnAbsolutePattern",
       {{"config.toml", v2 + conf_d}, {"conf.d/99-nvidia.toml", v2 + default2 + nvidia_runtime(kV2)}}},
      {"DropInByARelativePattern",
       {{"config.toml", v2 + "imports = [\"conf.d/*.toml\"]\n"}, {"conf.d/nvidia.toml", v2 + nvidia_runtime(kV2)}}},
      {"DropInThatReplacesTheTable",
       {{"config.toml", v2 + conf_d + default2 + nvidia_runtime(kV2)},
        {"conf.d/mirrors.toml",
         v2 + "[plugins." + std::string(kV2) + ".registry]\n  config_path = \"/etc/certs.d\"\n"}}},
      {"NvidiaDropInThatReplacesTheTable",
       {{"config.toml",
         v2 + conf_d + cri2 + "  sandbox_image = \"registry.local/pause:3.9\"\n" + "  enable_cdi = true\n"},
        {"conf.d/99-nvidia.toml", v2 + nvidia_runtime(kV2)}}},
      {"TwoDropInsWithARuntimeEach",
       {{"config.toml", v2 + conf_d},
        {"conf.d/10-a.toml", v2 + nvidia_runtime(kV2, "nvidia-cdi")},
        {"conf.d/20-b.toml", v2 + nvidia_runtime(kV2, "nvidia-legacy")}}},
      {"LaterFileTurnsTheDefaultBack",
       {{"config.toml", v2 + conf_d + default2 + nvidia_runtime(kV2) + nvidia_runtime(kV2, "runc")},
        {"conf.d/z.toml", v2 + "[plugins." + std::string(kV2) + ".containerd]\n  default_runtime_name = \"runc\"\n"}}},
      {"CdiTurnedOffLater",
       {{"config.toml", v2 + conf_d + cri2 + "  enable_cdi = true\n" + nvidia_runtime(kV2)},
        {"conf.d/z.toml", v2 + cri2 + "  enable_cdi = false\n"}}},
      {"ImportsOfImportsAndALoop",
       {{"config.toml", v2 + "imports = [\"@/a/one.toml\"]\n"},
        {"a/one.toml", v2 + "imports = [\"../b/two.toml\", \"@/config.toml\"]\n"},
        {"b/two.toml", v2 + "imports = [\"@/a/one.toml\"]\n" + nvidia_runtime(kV2)}}},
      {"PatternInADirectoryPart",
       {{"config.toml", v2 + "imports = [\"@/*.d/[0-9]*-nvidia.toml\", \"@/nothing/*.toml\"]\n"},
        {"x.d/10-nvidia.toml", v2 + nvidia_runtime(kV2)},
        {"x.d/a-nvidia.toml", v2 + nvidia_runtime(kV2, "nvidia-unseen")}}},
      {"DropInWithoutAVersion", {{"config.toml", v2 + conf_d}, {"conf.d/n.toml", nvidia_runtime(kV2)}}},
      {"Version2MainAndVersion3DropIn",
       {{"config.toml", v2 + conf_d + nvidia_runtime(kV2)}, {"conf.d/n.toml", v3 + nvidia_runtime(kV3, "nvidia-cdi")}}},
      {"Version3MainAndVersion2DropIn",
       {{"config.toml", v3 + conf_d + nvidia_runtime(kV3, "nvidia-cdi")}, {"conf.d/n.toml", v2 + nvidia_runtime(kV2)}}},
      {"DisabledInVersion1", {{"config.toml", "disabled_plugins = [\"cri\"]\n" + nvidia_runtime("cri")}}},
      {"ShortNameInVersion2", {{"config.toml", v2 + nvidia_runtime("cri")}}},
      {"ImportThatIsNotThere", {{"config.toml", v2 + "imports = [\"@/gone.toml\"]\n"}}},
      {"SingleQuotesAndDottedKeys",
       {{"config.toml", v2 + "plugins.'io.containerd.grpc.v1.cri'.containerd.runtimes.'nvidia'.options.BinaryName = "
                             "'/usr/local/nvidia/toolkit/nvidia-container-runtime'\n"}}},
      {"AnotherNameWithTheBinary",
       {{"config.toml", v2 + nvidia_runtime(kV2, "gpu") + nvidia_runtime(kV2, "\"with.dot\"")}}},
      {"MalformedDropIn", {{"config.toml", v2 + conf_d}, {"conf.d/n.toml", "version = = 2\n"}}},
  };
}

}  // namespace gpuskew
