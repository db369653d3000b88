#include "tests/unit/agent/compressed.h"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <vector>

namespace gpuskew {
namespace {

void require(bool done, const char* what) {
  if (!done) {
    throw std::runtime_error(what);
  }
}

}  // namespace

std::string gzipped(std::string_view text) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  constexpr int kDefaultMemory = 8;
  require(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, kDefaultMemory, Z_DEFAULT_STRATEGY) == Z_OK, "zlib");
  std::string input(text);
  std::string packed(deflateBound(&stream, input.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  require(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib");
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string xzipped(std::string_view text, std::uint32_t dictionary) {
  lzma_options_lzma options{};
  require(!lzma_lzma_preset(&options, 1), "xz");
  options.dict_size = dictionary;
  const std::array<lzma_filter, 2> filters{{{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, nullptr}}};
  std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  require(lzma_stream_buffer_encode(const_cast<lzma_filter*>(filters.data()), LZMA_CHECK_CRC32, nullptr,
                                    reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                                    reinterpret_cast<std::uint8_t*>(packed.data()), &size, packed.size()) == LZMA_OK,
          "xz");
  packed.resize(size);
  return packed;
}

std::string zstandard(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1);
  require(ZSTD_isError(size) == 0, "zstd");
  packed.resize(size);
  return packed;
}

std::string zstandard_zeros(std::size_t size) {
  const std::unique_ptr<ZSTD_CCtx, std::size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  const std::vector<char> zeros(1U << 20);
  std::string packed;
  std::vector<char> space(1U << 16);
  for (std::size_t done = 0; done < size; done += zeros.size()) {
    const bool last = done + zeros.size() >= size;
    ZSTD_inBuffer in{zeros.data(), zeros.size(), 0};
    std::size_t left = 1;
    while (in.pos < in.size || (last && left != 0)) {
      ZSTD_outBuffer out{space.data(), space.size(), 0};
      left = ZSTD_compressStream2(context.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
      require(ZSTD_isError(left) == 0, "zstd");
      packed.append(space.data(), out.pos);
    }
  }
  return packed;
}

}  // namespace gpuskew
