#pragma once

#include <string>

namespace gpuskew {

/// Which cluster; see kubeconfig_access().
struct ClusterOptions {
  std::string kubeconfig;    ///< a file, or a value of KUBECONFIG; "" is ~/.kube/config
  bool is_one_file = false;  ///< of --kubeconfig: a ':' in it is part of its name
  std::string context;       ///< "" is the current one
  std::string home;          ///< for ~
};

}  // namespace gpuskew
