#include "agent/kernel_log/kernel_entry_count.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace gpuskew {
namespace {

constexpr std::string_view kField = "_TRANSPORT=kernel";

// Offsets in the file's header, in an item of its hash table and in a data object; all numbers are little-endian.
constexpr std::string_view kSignature = "LPKSHHRH";
constexpr std::size_t kHeaderBytes = 120;
constexpr std::size_t kIncompatibleFlags = 12;
constexpr std::size_t kFileId = 24;
constexpr std::size_t kHashTable = 104;
constexpr std::size_t kHashTableBytes = 112;
constexpr std::uint32_t kKeyedHash = 1u << 2;
constexpr std::uint32_t kCompact = 1u << 4;
constexpr std::size_t kItemBytes = 16;
constexpr std::size_t kObjectBytes = 72;
constexpr std::size_t kObjectHash = 16;
constexpr std::size_t kObjectNext = 24;
constexpr std::size_t kObjectEntries = 56;
constexpr std::size_t kPayload = 64;
constexpr std::size_t kCompactPayload = 72;
constexpr unsigned char kDataObject = 1;
constexpr int kMaxChain = 64;

template <class Number>
Number number_at(std::string_view bytes, std::size_t offset) {
  Number number = 0;
  for (std::size_t i = sizeof(Number); i-- > 0;) {
    number = static_cast<Number>(number << 8) | static_cast<unsigned char>(bytes[offset + i]);
  }
  return number;
}

constexpr std::uint64_t rotated(std::uint64_t value, unsigned bits) {
  return (value << bits) | (value >> (64 - bits));
}

// SipHash-2-4 (Aumasson and Bernstein), which keyed journals hash their data with.
class SipHash {
 public:
  SipHash(std::uint64_t k0, std::uint64_t k1)
      : v_{k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u, k1 ^ 0x7465646279746573u} {}

  std::uint64_t of(std::string_view bytes) {
    std::string padded(bytes);
    padded.resize(bytes.size() / 8 * 8 + 8, '\0');
    padded.back() = static_cast<char>(bytes.size());
    for (std::size_t at = 0; at < padded.size(); at += 8) {
      const auto word = number_at<std::uint64_t>(padded, at);
      v_[3] ^= word;
      rounds(2);
      v_[0] ^= word;
    }
    v_[2] ^= 0xff;
    rounds(4);
    return v_[0] ^ v_[1] ^ v_[2] ^ v_[3];
  }

 private:
  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v_[0] += v_[1];
      v_[2] += v_[3];
      v_[1] = rotated(v_[1], 13) ^ v_[0];
      v_[3] = rotated(v_[3], 16) ^ v_[2];
      v_[0] = rotated(v_[0], 32);
      v_[2] += v_[1];
      v_[0] += v_[3];
      v_[1] = rotated(v_[1], 17) ^ v_[2];
      v_[3] = rotated(v_[3], 21) ^ v_[0];
      v_[2] = rotated(v_[2], 32);
    }
  }

  std::array<std::uint64_t, 4> v_;
};

std::optional<std::string> read_exactly(const HostFile& file, std::uint64_t offset, std::size_t size) {
  auto bytes = file.read_at(offset, size);
  if (!bytes || bytes->size() != size) {
    return std::nullopt;
  }
  return std::move(*bytes);
}

}  // namespace

std::optional<std::uint64_t> kernel_entry_count(const HostFile& journal) {
  const auto header = read_exactly(journal, 0, kHeaderBytes);
  if (!header || !header->starts_with(kSignature)) {
    return std::nullopt;
  }
  const auto flags = number_at<std::uint32_t>(*header, kIncompatibleFlags);
  const std::uint64_t items = number_at<std::uint64_t>(*header, kHashTableBytes) / kItemBytes;
  if ((flags & kKeyedHash) == 0 || items == 0) {
    return std::nullopt;
  }
  SipHash hash(number_at<std::uint64_t>(*header, kFileId), number_at<std::uint64_t>(*header, kFileId + 8));
  const std::uint64_t wanted = hash.of(kField);
  const auto item =
      read_exactly(journal, number_at<std::uint64_t>(*header, kHashTable) + wanted % items * kItemBytes, kItemBytes);
  std::uint64_t place = item ? number_at<std::uint64_t>(*item, 0) : 0;
  const std::size_t payload = (flags & kCompact) != 0 ? kCompactPayload : kPayload;
  for (int i = 0; item && i < kMaxChain && place != 0; ++i) {
    const auto object = read_exactly(journal, place, kObjectBytes);
    if (!object || static_cast<unsigned char>(object->front()) != kDataObject) {
      return std::nullopt;
    }
    const bool may_be_it = number_at<std::uint64_t>(*object, kObjectHash) == wanted;
    if (may_be_it && read_exactly(journal, place + payload, kField.size()) == kField) {
      return number_at<std::uint64_t>(*object, kObjectEntries);
    }
    place = number_at<std::uint64_t>(*object, kObjectNext);
  }
  return item && place == 0 ? std::optional<std::uint64_t>(0) : std::nullopt;
}

}  // namespace gpuskew
