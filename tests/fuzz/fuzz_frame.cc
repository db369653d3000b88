// Any bytes, cut anywhere, give the same frames as uncut; memory stays within twice what was fed.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/frame.h"

namespace {

constexpr std::size_t kFuzzFrameLimit = 4096;

struct Outcome {
  std::vector<std::string> frames;
  bool refused = false;

  bool operator==(const Outcome&) const = default;
};

Outcome read_in_pieces(std::string_view bytes, std::size_t piece_length) {
  gpuskew::FrameReader reader(kFuzzFrameLimit);
  Outcome outcome;
  std::size_t fed = 0;
  while (!bytes.empty() && !outcome.refused) {
    const std::string piece(bytes.substr(0, piece_length));
    bytes.remove_prefix(piece.size());
    fed += piece.size();
    reader.feed(piece);
    for (auto frame = reader.next();; frame = reader.next()) {
      outcome.refused = !frame;
      if (!frame || !*frame) {
        break;
      }
      outcome.frames.emplace_back(**frame);
    }
    // 32: a string's first allocation is not smaller.
    if (reader.held_bytes() > 2 * fed + 32) {
      std::abort();
    }
  }
  return outcome;
}

}  // namespace

/// The first byte is the length of the pieces.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t piece_length = std::max<std::size_t>(1, data[0]);
  if (read_in_pieces(bytes, piece_length) != read_in_pieces(bytes, bytes.size())) {
    std::abort();
  }
  return 0;
}
