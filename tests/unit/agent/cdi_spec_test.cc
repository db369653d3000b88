#include "agent/probes/cdi_spec.h"

#include <string>

#include <gtest/gtest.h>

namespace gpuskew {
namespace {

constexpr const char* kYaml = R"(---
cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidia-modeset
  - path: /dev/nvidiactl
  hooks:
  - args:
    - nvidia-cdi-hook
    - --link
    - libcuda.so.1::/usr/lib/libcuda.so
  mounts:
  - containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07
    hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.550.90.07
devices:
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
    - path: /dev/dri/card1
  name: "0"
- name: GPU-8f1c
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: all
kind: nvidia.com/gpu # the usual
)";

constexpr const char* kJson =
    R"({"cdiVersion":"0.5.0","kind":"k8s.device-plugin.nvidia.com/gpu","devices":[{"name":"GPU-1","containerEdits":)"
    R"({"deviceNodes":[{"path":"/dev/nvidia0"}]}},{"name":"a\"]}{[b","containerEdits":{}}],"containerEdits":{"mounts":)"
    R"([{"hostPath":"/usr/lib64/libnvidia-ml.so.535.161.08"}],"env":["devices","kind"]}})";

CdiSpecScanner scanned(std::string_view text, std::size_t block) {
  CdiSpecScanner scanner;
  for (std::size_t at = 0; at < text.size(); at += block) {
    scanner.feed(text.substr(at, block));
  }
  scanner.finish();
  return scanner;
}

TEST(CdiSpec, InYamlIsReadLineByLineWhereverItsBlocksEnd) {
  for (const std::size_t block : {std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
    const CdiSpecScanner spec = scanned(kYaml, block);
    EXPECT_EQ(spec.kind(), "nvidia.com/gpu");
    EXPECT_EQ(spec.devices(), 3U);
    EXPECT_EQ(spec.driver_version(), "550.90.07");
  }
}

TEST(CdiSpec, InYamlMayIndentItsListsAndQuoteItsKind) {
  const CdiSpecScanner spec = scanned(
      "kind: 'management.nvidia.com/gpu'\ndevices:\n  - name: all\n    containerEdits:\n      deviceNodes:\n"
      "        - path: /dev/nvidiactl\n  - name: two\ncontainerEdits:\n  mounts:\n  - hostPath: x",
      5);
  EXPECT_EQ(spec.kind(), "management.nvidia.com/gpu");
  EXPECT_EQ(spec.devices(), 2U);
  EXPECT_EQ(spec.driver_version(), "");
}

TEST(CdiSpec, InJsonIsReadByItsLevels) {
  for (const std::size_t block : {std::size_t{1}, std::size_t{11}, std::size_t{100'000}}) {
    const CdiSpecScanner spec = scanned(kJson, block);
    EXPECT_EQ(spec.kind(), "k8s.device-plugin.nvidia.com/gpu");
    EXPECT_EQ(spec.devices(), 2U);
    EXPECT_EQ(spec.driver_version(), "535.161.08");
  }
}

TEST(CdiSpec, TakesNoLinksNameForAVersion) {
  EXPECT_EQ(scanned("a: libcuda.so.1\nb: libcuda.so.1.1\nc: libcuda.so.\nd: libcuda.so.x", 9).driver_version(), "");
  EXPECT_EQ(scanned("a: libcuda.so.1\nb: libcuda.so.555.58.\n", 9).driver_version(), "555.58");
}

TEST(CdiSpec, ThatIsWholeHasNoProblem) {
  EXPECT_EQ(scanned(kYaml, 7).problem(), "");
  EXPECT_EQ(scanned(std::string(kJson) + "\n\n", 7).problem(), "");
  EXPECT_EQ(scanned("# c\n%YAML 1.2\n---\n\ncdiVersion: '0.5.0'\nkind: \"a.b/c\"\ndevices: []\n...\n", 3).problem(),
            "");
}

TEST(CdiSpec, OfJsonThatIsCutOffAnywhereHasAProblem) {
  const std::string_view whole = kJson;
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(scanned(whole.substr(0, length), 64).problem(), "") << length;
  }
  EXPECT_EQ(scanned(std::string(kJson) + "}", 64).problem(), "its JSON goes on behind its end");
  EXPECT_EQ(scanned(R"({"kind":"nvidia.com/gpu","devices":[{"na)", 64).problem(), "it ends in the middle of its JSON");
}

TEST(CdiSpec, SaysWhyItIsNone) {
  EXPECT_EQ(scanned("", 9).problem(), "it is empty");
  EXPECT_EQ(scanned(std::string(3, '\0'), 9).problem(), "it holds NUL bytes");
  EXPECT_EQ(scanned("cdiVersion: 0.5.0\nkind: nvidia.c", 9).problem(), "its kind is no vendor and class");
  EXPECT_EQ(scanned("cdiVersion: 0.5.0\nkind: nvidia.com/gpu\n", 9).problem(), "it has no devices");
  EXPECT_EQ(scanned("cdiVersion: 0.5.0\ndevices:\n- name: '0'\n", 9).problem(), "it has no kind");
  EXPECT_EQ(scanned("garbage\nkind: nvidia.com/gpu\ndevices: []\n", 9).problem(), "a line in it is no YAML");
}

TEST(CdiSpec, KnowsWhetherItNamesNvidia) {
  EXPECT_TRUE(scanned("x: /dev/nvidia0", 3).names_nvidia());
  EXPECT_TRUE(scanned(R"({"a":"nvidia.co)", 3).names_nvidia());
  EXPECT_FALSE(scanned("x: /dev/dri", 3).names_nvidia());
}

TEST(CdiSpec, OfRubbishSaysNothing) {
  for (const std::string& text :
       {std::string(), std::string("}}}]]]"), std::string("{\"kind\":1,\"devices\":[[[{"), std::string(1u << 20, 'x'),
        std::string(1000, '\0'), std::string("kind\n- - -\n: :"), std::string(100'000, '[')}) {
    const CdiSpecScanner spec = scanned(text, 4096);
    EXPECT_EQ(spec.kind(), "");
    EXPECT_EQ(spec.devices(), 0U);
  }
}

}  // namespace
}  // namespace gpuskew
