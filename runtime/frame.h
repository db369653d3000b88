#pragma once

// The stream's framing: a 4-byte big-endian length, then that many bytes. An empty frame is allowed.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace gpuskew {

inline constexpr std::size_t kFrameHeaderBytes = 4;
/// A snapshot is a few KiB; a longer announcement is a mistake or an attack.
inline constexpr std::size_t kMaxFrameBytes = std::size_t{1} << 20;

/// Appends one frame to `out`. TooLarge past kMaxFrameBytes, `out` is then unchanged.
Result<void> append_frame(std::string& out, std::string_view payload);

/// Cuts received bytes into frames. Whole frames are views into the caller's bytes (no copy); only a frame split over
/// two reads is copied. Between frames it holds no heap memory, and never more than about twice what the peer really
/// sent: a length is checked from its four bytes, and memory grows only with what arrives.
///
///   reader.feed(bytes);
///   for (;;) { auto frame = reader.next(); if (!frame) -> drop the peer; if (!*frame) break; use(**frame); }
class FrameReader {
 public:
  explicit FrameReader(std::size_t max_frame_bytes = kMaxFrameBytes) : max_frame_bytes_(max_frame_bytes) {}

  /// `bytes` must stay valid and unchanged until next() returned nothing or an error, which must come before the next
  /// feed().
  void feed(std::string_view bytes);

  /// The payload of the next frame, valid until the next call of next() or feed(); nothing when more bytes are needed.
  /// TooLarge for an announcement past the limit: the stream can not be used after that, and every later call fails
  /// too.
  Result<std::optional<std::string_view>> next();

  /// Whether the peer is in the middle of a frame: an end of stream here cuts one short.
  bool is_partial() const { return !partial_.empty() && !partial_delivered_; }
  /// Heap bytes held now.
  std::size_t held_bytes() const;

 private:
  Result<std::size_t> announced(std::string_view header);
  /// Moves up to `wanted - partial_.size()` bytes from the input to partial_; whether it then has `wanted`.
  bool fill_partial(std::size_t wanted);

  std::size_t max_frame_bytes_;
  std::string_view input_;
  std::string partial_;
  bool partial_delivered_ = false;
  std::size_t refused_length_ = 0;  ///< 0: none was refused so far
};

}  // namespace gpuskew
