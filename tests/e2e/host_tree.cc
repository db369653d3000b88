#include "tests/e2e/host_tree.h"

#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace gpuskew {
namespace {

namespace fs = std::filesystem;

fs::path fixture_path(std::string_view fixture) {
  return fs::path(GPUSKEW_SOURCE_DIR) / "tests/fixtures/hosts" / fixture / "root";
}

void copy_tree(const fs::path& from, const fs::path& to) {
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
}

}  // namespace

void write_file(const fs::path& path, std::string_view content) {
  fs::create_directories(path.parent_path());
  const fs::path unfinished = path.parent_path() / ("." + path.filename().string() + ".new");
  std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
  file << content;
  file.close();
  if (!file) {
    throw std::runtime_error("writing " + unfinished.string());
  }
  fs::rename(unfinished, path);
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("opening " + path.string());
  }
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

HostTree::HostTree(std::string_view fixture, fs::path path) : path_(std::move(path)) {
  copy_tree(fixture_path(fixture), path_);
}

void HostTree::write(std::string_view file, std::string_view content) const {
  write_file(path_ / fs::path(file).relative_path(), content);
}

void HostTree::remove(std::string_view file) const {
  fs::remove_all(path_ / fs::path(file).relative_path());
}

bool HostTree::has(std::string_view file) const {
  return fs::exists(path_ / file);
}

void HostTree::become(std::string_view fixture) {
  fs::remove_all(path_);
  copy_tree(fixture_path(fixture), path_);
}

void HostTree::unload_nvidia() const {
  remove("proc/driver/nvidia");
  for (const auto* module : {"nvidia", "nvidia_uvm", "nvidia_modeset", "nvidia_drm"}) {
    remove(std::string("sys/module/") + module);
  }
  std::istringstream modules(read_file(path_ / "proc/modules"));
  std::string left;
  for (std::string line; std::getline(modules, line);) {
    left += line.starts_with("nvidia") ? "" : line + "\n";
  }
  write("proc/modules", left);
  for (const auto& device : fs::directory_iterator(path_ / "sys/bus/pci/devices")) {
    const fs::path driver = device.path() / "driver";
    if (fs::is_symlink(driver) && fs::read_symlink(driver).filename() == "nvidia") {
      fs::remove(driver);
    }
  }
}

void HostTree::reboot(std::string_view boot_id, std::int64_t seconds_ago) const {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto booted = std::chrono::duration_cast<std::chrono::seconds>(now).count() - seconds_ago;
  write("proc/sys/kernel/random/boot_id", std::string(boot_id) + "\n");
  write("proc/stat", "cpu  1 0 1 1 0 0 0 0 0 0\nbtime " + std::to_string(booted) + "\nprocesses 1\n");
}

}  // namespace gpuskew
