// Replays a corpus through a fuzz target without libFuzzer, so that what a fuzzer once found stays a test with
// every compiler: `fuzz_x FILE|DIRECTORY...`. Exit 2: nothing was replayed.

#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::size_t replay_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  // An empty file leaves failbit on `text`, and is an input like any other.
  text << in.rdbuf();
  if (!in.is_open()) {
    throw std::runtime_error("can not open " + path.string());
  }
  const std::string input = text.str();
  // A copy without room behind it, so that AddressSanitizer sees a read past the end.
  const std::vector<std::uint8_t> bytes(input.begin(), input.end());
  // The name stands last on the screen when the input kills the process.
  std::cout << path.string() << std::endl;
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  return 1;
}

std::size_t replay(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    return replay_file(path);
  }
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    count += entry.is_regular_file() ? replay_file(entry.path()) : 0;
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 0;
  try {
    for (int i = 1; i < argc; ++i) {
      count += replay(argv[i]);
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  std::cout << count << " inputs replayed\n";
  return count > 0 ? 0 : 2;
}
