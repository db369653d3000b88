#pragma once

#include <string_view>

namespace gpuskew {

/// nvidia-container-runtime, and its variants .cdi, .legacy, .experimental, in whatever directory.
inline bool is_nvidia_runtime_binary(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return (slash == std::string_view::npos ? path : path.substr(slash + 1)).starts_with("nvidia-container-runtime");
}

/// A handler that is NVIDIA's by its name or by its binary.
inline bool is_nvidia_handler(std::string_view name, std::string_view binary) {
  return name.starts_with("nvidia") || is_nvidia_runtime_binary(binary);
}

}  // namespace gpuskew
