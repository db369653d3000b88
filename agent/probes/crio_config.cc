#include "agent/probes/crio_config.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/probes/nvidia_handler.h"
#include "agent/probes/toml.h"

namespace gpuskew {
namespace {

constexpr std::size_t kMaxDropIns = 64;
constexpr int kMaxDepth = 4;
constexpr std::array kHookDirectories = {"/usr/share/containers/oci/hooks.d", "/etc/containers/oci/hooks.d"};

// Every file beneath a directory, in the order of a depth-first walk by name.
Result<void> walk(const HostRoot& root, const std::string& directory, int depth, SeenFiles& seen,
                  std::vector<std::string>& files) {
  const auto entries = seen.list(root, directory, kMaxDropIns);
  if (!entries) {
    return entries.error().code == ErrorCode::NotFound && depth == 0 ? Result<void>() : tl::unexpected(entries.error());
  }
  for (const DirectoryEntry& entry : *entries) {
    const std::string path = directory + "/" + entry.name;
    if (entry.kind != FileKind::Directory) {
      files.push_back(path);
    } else if (depth == kMaxDepth) {
      return fail(ErrorCode::TooLarge, directory + ": directories nested too deep");
    } else if (auto walked = walk(root, path, depth + 1, seen, files); !walked) {
      return walked;
    }
    if (files.size() > kMaxDropIns) {
      return fail(ErrorCode::TooLarge, directory + ": more than " + std::to_string(kMaxDropIns) + " files");
    }
  }
  return {};
}

class CrioMerger {
 public:
  explicit CrioMerger(ContainerRuntime& runtime) : runtime_(runtime) {}

  /// Whether the file says anything about NVIDIA.
  bool add(const std::string& file, const std::vector<TomlSetting>& settings) {
    std::map<std::string, RuntimeHandler> here;
    bool mentions = false;
    for (const TomlSetting& setting : settings) {
      const TomlPath& path = setting.path;
      if (path.size() < 3 || path[0] != "crio" || path[1] != "runtime") {
        continue;
      }
      const std::string* text = setting.text();
      if (path[2] == "runtimes" && path.size() > 3) {
        RuntimeHandler& handler = here.try_emplace(path[3], RuntimeHandler{path[3], "", file}).first->second;
        if (path.size() == 5 && path[4] == "runtime_path" && text != nullptr) {
          handler.binary = *text;
        }
      } else if (path.size() == 3 && path[2] == "default_runtime" && text != nullptr && !text->empty()) {
        set_default(file, setting);
        mentions = mentions || text->find("nvidia") != std::string::npos;
      } else if (path.size() == 3 && path[2] == "cdi_spec_dirs") {
        const auto* list = std::get_if<std::vector<std::string>>(&setting.value);
        runtime_.cdi_enabled = list == nullptr || !list->empty();
      }
    }
    for (auto& [name, handler] : here) {
      mentions = mentions || is_nvidia_handler(name, handler.binary);
      set_handler(std::move(handler));
    }
    return mentions;
  }

  void finish() {
    for (auto& [name, handler] : handlers_) {
      if (is_nvidia_handler(name, handler.binary) && runtime_.handlers.size() < ContainerRuntime::kMaxItems) {
        runtime_.handlers.push_back(std::move(handler));
      }
    }
  }

 private:
  void set_default(const std::string& file, const TomlSetting& setting) {
    const std::string& name = *setting.text();
    if (runtime_.default_runtime.find("nvidia") != std::string::npos && name.find("nvidia") == std::string::npos) {
      note({to_text(setting.path), file, default_file_, "default_runtime"});
    }
    runtime_.default_runtime = name;
    default_file_ = file;
  }

  void set_handler(RuntimeHandler handler) {
    const auto before = handlers_.find(handler.name);
    if (before != handlers_.end() && is_nvidia_runtime_binary(before->second.binary) &&
        !is_nvidia_runtime_binary(handler.binary)) {
      note({to_text({"crio", "runtime", "runtimes", handler.name}), handler.file, before->second.file,
            "runtime_path of runtime " + to_text({handler.name})});
    }
    std::string name = handler.name;
    handlers_.insert_or_assign(std::move(name), std::move(handler));
  }

  void note(ConfigConflict conflict) {
    if (runtime_.conflicts.size() < ContainerRuntime::kMaxItems) {
      runtime_.conflicts.push_back(std::move(conflict));
    }
  }

  ContainerRuntime& runtime_;
  std::string default_file_;
  std::map<std::string, RuntimeHandler> handlers_;
};

void add_hooks(const HostRoot& root, SeenFiles& seen, ContainerRuntime& runtime) {
  for (const char* directory : kHookDirectories) {
    const auto entries = seen.list(root, directory, kMaxDropIns);
    for (const DirectoryEntry& entry : entries ? *entries : std::vector<DirectoryEntry>()) {
      if (entry.name.find("nvidia") != std::string::npos && entry.name.ends_with(".json") &&
          runtime.handlers.size() < ContainerRuntime::kMaxItems) {
        runtime.handlers.push_back({"oci-hook", "", std::string(directory) + "/" + entry.name});
      }
    }
  }
}

}  // namespace

Result<void> read_crio_config(const HostRoot& root, const std::string& main_file, const std::string& drop_ins,
                              SeenFiles& seen, ContainerRuntime& runtime) {
  std::vector<std::string> files{main_file};
  if (auto walked = walk(root, drop_ins, 0, seen, files); !walked) {
    return walked;
  }
  runtime.cdi_enabled = true;
  CrioMerger merger(runtime);
  for (const std::string& file : files) {
    const auto text = seen.read(root, file, kMaxTomlBytes);
    if (!text && text.error().code == ErrorCode::NotFound && file == main_file) {
      continue;
    }
    const auto settings =
        text ? parse_toml(file, *text) : Result<std::vector<TomlSetting>>(tl::unexpected(text.error()));
    if (!settings) {
      return tl::unexpected(settings.error());
    }
    const auto status = seen.known(file);
    if (merger.add(file, *settings) && status) {
      const Time changed{std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(status->modified_ns))};
      if (runtime.newest_file.empty() || changed > runtime.newest_change) {
        runtime.newest_file = file;
        runtime.newest_change = changed;
      }
    }
  }
  merger.finish();
  add_hooks(root, seen, runtime);
  return {};
}

}  // namespace gpuskew
