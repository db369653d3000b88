#include "runtime/frame.h"

#include <algorithm>
#include <cassert>

namespace gpuskew {
namespace {

constexpr int kBitsPerByte = 8;

std::size_t read_length(std::string_view header) {
  std::size_t length = 0;
  for (const char byte : header.substr(0, kFrameHeaderBytes)) {
    length = (length << kBitsPerByte) | static_cast<unsigned char>(byte);
  }
  return length;
}

Error too_large(std::size_t length, std::size_t limit) {
  return Error{ErrorCode::TooLarge,
               "a frame of " + std::to_string(length) + " bytes, the limit is " + std::to_string(limit)};
}

}  // namespace

Result<void> append_frame(std::string& out, std::string_view payload) {
  if (payload.size() > kMaxFrameBytes) {
    return tl::unexpected(too_large(payload.size(), kMaxFrameBytes));
  }
  for (std::size_t byte = kFrameHeaderBytes; byte-- > 0;) {
    out.push_back(static_cast<char>((payload.size() >> (byte * kBitsPerByte)) & 0xff));
  }
  out.append(payload);
  return {};
}

void FrameReader::feed(std::string_view bytes) {
  assert(input_.empty());
  input_ = bytes;
}

bool FrameReader::fill_partial(std::size_t wanted) {
  const std::size_t taken = std::min(wanted - std::min(wanted, partial_.size()), input_.size());
  partial_.append(input_.substr(0, taken));
  input_.remove_prefix(taken);
  return partial_.size() >= wanted;
}

Result<std::size_t> FrameReader::announced(std::string_view header) {
  const std::size_t length = read_length(header);
  if (length > max_frame_bytes_) {
    refused_length_ = length;
    input_ = {};
    return tl::unexpected(too_large(length, max_frame_bytes_));
  }
  return length;
}

Result<std::optional<std::string_view>> FrameReader::next() {
  if (refused_length_ != 0) {
    input_ = {};
    return tl::unexpected(too_large(refused_length_, max_frame_bytes_));
  }
  if (partial_delivered_) {
    std::string().swap(partial_);  // gives the memory back; clear() and an assignment keep it
    partial_delivered_ = false;
  }
  if (partial_.empty() && input_.size() >= kFrameHeaderBytes) {
    const auto length = announced(input_);
    if (!length) {
      return tl::unexpected(length.error());
    }
    if (input_.size() - kFrameHeaderBytes >= *length) {
      const std::string_view payload = input_.substr(kFrameHeaderBytes, *length);
      input_.remove_prefix(kFrameHeaderBytes + *length);
      return std::optional(payload);
    }
  }
  if (partial_.empty() && input_.empty()) {
    return std::optional<std::string_view>();
  }
  if (!fill_partial(kFrameHeaderBytes)) {
    return std::optional<std::string_view>();
  }
  const auto length = announced(partial_);
  if (!length) {
    return tl::unexpected(length.error());
  }
  if (!fill_partial(kFrameHeaderBytes + *length)) {
    return std::optional<std::string_view>();
  }
  partial_delivered_ = true;
  return std::optional(std::string_view(partial_).substr(kFrameHeaderBytes));
}

std::size_t FrameReader::held_bytes() const {
  // A short string lives inside the object.
  return partial_.capacity() > std::string().capacity() ? partial_.capacity() : 0;
}

}  // namespace gpuskew
