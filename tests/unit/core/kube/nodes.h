#pragma once

// Nodes of a cluster as tests tell of them.

#include <string>
#include <utility>

#include "core/kube/cluster_node.h"
#include "core/label_names.h"

namespace gpuskew::testing {

/// lab-node-1: labels of NFD and GFD that agree with the kubelet, eight healthy GPUs.
inline ClusterNode labelled_node() {
  ClusterNode node;
  node.name = "lab-node-1";
  node.labels = {{std::string(kGpuPresentLabel), "true"},
                 {std::string(kCudaDriverMajorLabel), "550"},
                 {std::string(kCudaDriverMinorLabel), "90"},
                 {std::string(kCudaDriverRevLabel), "07"},
                 {std::string(kNfdKernelLabel), "5.15.0-119-generic"},
                 {std::string(kNfdOsLabel), "ubuntu"},
                 {std::string(kNfdOsVersionLabel), "22.04"}};
  node.info = {"5.15.0-119-generic", "Ubuntu 22.04.4 LTS", "amd64", "boot-a", "v1.30.1", "linux"};
  node.ready = NodeReady::Yes;
  node.gpu_resources = {{"nvidia.com/gpu", {8, 8}}};
  return node;
}

inline void set_label(ClusterNode& node, std::string_view key, std::string value) {
  node.labels.insert_or_assign(std::string(key), std::move(value));
}
inline void drop_label(ClusterNode& node, std::string_view key) {
  node.labels.erase(std::string(key));
}

}  // namespace gpuskew::testing
