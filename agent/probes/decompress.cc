#include "agent/probes/decompress.h"

#include <lzma.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace gpuskew {
namespace {

constexpr std::size_t kInputBlock = 64u << 10;
constexpr std::size_t kOutputBlock = 256u << 10;
// Kernel builds use dictionaries of 1 to 8 MiB; `xz -8` and `zstd -19` still fit.
constexpr std::uint64_t kXzMemory = 36u << 20;
constexpr int kZstdWindowLog = 25;

using Block = std::function<void(std::string_view)>;

class Input {
 public:
  explicit Input(int descriptor) : descriptor_(descriptor), block_(kInputBlock) {}

  /// Empty at the end of the file.
  Result<std::string_view> next() {
    for (;;) {
      const ssize_t got = ::read(descriptor_, block_.data(), block_.size());
      if (got >= 0) {
        return std::string_view(block_.data(), static_cast<std::size_t>(got));
      }
      if (errno != EINTR) {
        return fail(ErrorCode::Internal, "reading: " + std::generic_category().message(errno));
      }
    }
  }

 private:
  int descriptor_;
  std::vector<char> block_;
};

class Output {
 public:
  explicit Output(const Block& block) : block_(block), space_(kOutputBlock) {}

  char* data() { return space_.data(); }
  std::size_t size() const { return space_.size(); }
  /// Hands on the first `length` bytes; false past kMaxUnpackedBytes.
  bool hand_on(std::size_t length) {
    total_ += length;
    if (length > 0 && total_ <= kMaxUnpackedBytes) {
      block_(std::string_view(space_.data(), length));
    }
    return total_ <= kMaxUnpackedBytes;
  }

 private:
  const Block& block_;
  std::vector<char> space_;
  std::uint64_t total_ = 0;
};

tl::unexpected<Error> cut_off() {
  return fail(ErrorCode::Malformed, "the compressed data is cut off");
}
tl::unexpected<Error> unpacked_too_large() {
  return fail(ErrorCode::TooLarge, "more than " + std::to_string(kMaxUnpackedBytes) + " bytes unpacked");
}

Result<void> gunzip(Input input, Output output) {
  z_stream stream{};
  constexpr int kGzipOnly = 15 + 16;  // zlib's way to ask for the gzip format
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) {
    return fail(ErrorCode::Internal, "zlib would not start");
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, &inflateEnd);
  for (;;) {
    auto packed = input.next();
    if (!packed) {
      return tl::unexpected(packed.error());
    }
    if (packed->empty()) {
      return cut_off();
    }
    std::string bytes(*packed);  // zlib wants it writable
    stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
    stream.avail_in = static_cast<uInt>(bytes.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(output.data());
      stream.avail_out = static_cast<uInt>(output.size());
      const int state = inflate(&stream, Z_NO_FLUSH);
      if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR) {
        return fail(ErrorCode::Malformed, "broken gzip data");
      }
      if (!output.hand_on(output.size() - stream.avail_out)) {
        return unpacked_too_large();
      }
      if (state == Z_STREAM_END) {
        return {};
      }
    } while (stream.avail_out == 0);
  }
}

// nullopt: go on.
std::optional<Error> xz_error(lzma_ret state, lzma_action action) {
  switch (state) {
    case LZMA_OK:
      return std::nullopt;
    case LZMA_BUF_ERROR:
      return action == LZMA_FINISH ? std::optional(cut_off().value()) : std::nullopt;
    case LZMA_MEMLIMIT_ERROR:
      return Error{ErrorCode::TooLarge, "an xz dictionary of more than " + std::to_string(kXzMemory) + " bytes"};
    default:
      return Error{ErrorCode::Malformed, "broken xz data"};
  }
}

Result<void> unxz(Input input, Output output) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kXzMemory, LZMA_CONCATENATED) != LZMA_OK) {
    return fail(ErrorCode::Internal, "liblzma would not start");
  }
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> owner(&stream, &lzma_end);
  lzma_action action = LZMA_RUN;
  for (;;) {
    auto packed = input.next();
    if (!packed) {
      return tl::unexpected(packed.error());
    }
    action = packed->empty() ? LZMA_FINISH : LZMA_RUN;
    stream.next_in = reinterpret_cast<const std::uint8_t*>(packed->data());
    stream.avail_in = packed->size();
    do {
      stream.next_out = reinterpret_cast<std::uint8_t*>(output.data());
      stream.avail_out = output.size();
      const lzma_ret state = lzma_code(&stream, action);
      if (!output.hand_on(output.size() - stream.avail_out)) {
        return unpacked_too_large();
      }
      if (state == LZMA_STREAM_END) {
        return {};
      }
      if (auto error = xz_error(state, action)) {
        return tl::unexpected(std::move(*error));
      }
    } while (stream.avail_in > 0 || stream.avail_out == 0 || action == LZMA_FINISH);
  }
}

Result<void> unzstd(Input input, Output output) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> stream(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (!stream || ZSTD_isError(ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, kZstdWindowLog)) != 0) {
    return fail(ErrorCode::Internal, "zstd would not start");
  }
  std::size_t wanted = 1;  // 0 between two frames: only there may the file end
  for (;;) {
    auto packed = input.next();
    if (!packed) {
      return tl::unexpected(packed.error());
    }
    if (packed->empty()) {
      return wanted == 0 ? Result<void>() : Result<void>(cut_off());
    }
    ZSTD_inBuffer in{packed->data(), packed->size(), 0};
    bool more = true;
    while (more) {
      ZSTD_outBuffer out{output.data(), output.size(), 0};
      wanted = ZSTD_decompressStream(stream.get(), &out, &in);
      if (ZSTD_isError(wanted) != 0) {
        return fail(ErrorCode::Malformed, std::string("zstd: ") + ZSTD_getErrorName(wanted));
      }
      if (!output.hand_on(out.pos)) {
        return unpacked_too_large();
      }
      more = in.pos < in.size || out.pos == out.size;
    }
  }
}

}  // namespace

std::optional<Compression> compression_of(std::string_view first_bytes) {
  if (first_bytes.starts_with("\x1f\x8b")) {
    return Compression::Gzip;
  }
  if (first_bytes.starts_with(std::string_view("\xfd"
                                               "7zXZ\0",
                                               6))) {
    return Compression::Xz;
  }
  if (first_bytes.starts_with("\x28\xb5\x2f\xfd")) {
    return Compression::Zstd;
  }
  return std::nullopt;
}

Result<void> decompress(int descriptor, Compression kind, const std::function<void(std::string_view)>& block) {
  Input input(descriptor);
  Output output(block);
  switch (kind) {
    case Compression::Gzip:
      return gunzip(std::move(input), std::move(output));
    case Compression::Xz:
      return unxz(std::move(input), std::move(output));
    case Compression::Zstd:
      return unzstd(std::move(input), std::move(output));
  }
  return fail(ErrorCode::Internal, "no such compression");
}

}  // namespace gpuskew
