#include "core/version.h"

#include <array>
#include <charconv>
#include <utility>

namespace gpuskew {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/// Takes the digits `text` begins with off it. nullopt when there are none, or more than five.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  constexpr std::size_t kMaxDigits = 5;
  std::size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) {
    ++digits;
  }
  if (digits == 0 || digits > kMaxDigits) {
    return std::nullopt;
  }
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + digits, number);
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

void skip_blanks(std::string_view& text) {
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
}

/// A word of a line, and whether a blank or the line's end proves that it is whole.
struct Word {
  std::string_view text;
  bool whole = false;
};

/// `line_ends`: the line has its newline, so what it holds was not cut.
Word take_word(std::string_view& line, bool line_ends) {
  std::size_t length = 0;
  while (length < line.size() && !is_blank(line[length])) {
    ++length;
  }
  const Word word{line.substr(0, length), length < line.size() || line_ends};
  line.remove_prefix(length);
  return word;
}

/// "git describe" writes 'g' and the commit; no flavour is called that.
bool is_commit(std::string_view part) {
  constexpr std::size_t kShortestCommit = 7;
  if (part.size() <= kShortestCommit || part.front() != 'g') {
    return false;
  }
  return part.find_first_not_of("0123456789abcdef", 1) == std::string_view::npos;
}

}  // namespace

std::optional<std::vector<std::uint32_t>> parse_dotted_numbers(std::string_view text, std::size_t min_parts,
                                                               std::size_t max_parts) {
  std::vector<std::uint32_t> parts;
  parts.reserve(max_parts);
  while (parts.size() < max_parts) {
    const auto number = take_number(text);
    if (!number) {
      return std::nullopt;
    }
    parts.push_back(*number);
    if (text.empty()) {
      break;
    }
    if (!take(text, ".")) {
      return std::nullopt;
    }
    if (text.empty()) {
      return std::nullopt;
    }
  }
  if (!text.empty() || parts.size() < min_parts) {
    return std::nullopt;
  }
  return parts;
}

Result<DriverVersion> DriverVersion::parse(std::string_view text) {
  auto parts = parse_dotted_numbers(text, 2, 3);
  if (!parts) {
    return fail(ErrorCode::Malformed, in_quotes(text) + " is not a driver version (X.Y or X.Y.Z)");
  }
  DriverVersion version;
  version.text_ = text;
  version.parts_ = std::move(*parts);
  return version;
}

std::string_view DriverVersion::part_text(std::size_t index) const {
  std::string_view rest = text_;
  for (; index > 0; --index) {
    const auto dot = rest.find('.');
    if (dot == std::string_view::npos) {
      return {};
    }
    rest.remove_prefix(dot + 1);
  }
  return rest.substr(0, rest.find('.'));
}

const DriverVersion& fuller_spelling(const DriverVersion& a, const DriverVersion& b) {
  return b.text().size() > a.text().size() ? b : a;
}

Result<CudaVersion> CudaVersion::parse(std::string_view text) {
  auto parts = parse_dotted_numbers(text, 2, 3);
  if (!parts) {
    return fail(ErrorCode::Malformed, in_quotes(text) + " is not a CUDA version (X.Y or X.Y.Z)");
  }
  CudaVersion version;
  version.text_ = text;
  version.parts_ = std::move(*parts);
  return version;
}

Result<KernelRelease> KernelRelease::parse(std::string_view text) {
  if (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  if (text.empty()) {
    return fail(ErrorCode::Malformed, "the kernel release is empty");
  }
  if (text.size() > kMaxLength) {
    return fail(ErrorCode::TooLarge, "a kernel release of " + std::to_string(text.size()) + " characters (at most " +
                                         std::to_string(kMaxLength) + "): " + in_quotes(text));
  }
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr unsigned char kDelete = 0x7f;
    if (byte <= ' ' || byte == kDelete) {
      return fail(ErrorCode::Malformed,
                  in_quotes(text) + " is not a kernel release: it holds a blank or control character");
    }
  }
  KernelRelease release;
  release.text_ = text;
  constexpr std::size_t kNumbers = 3;
  release.numbers_.reserve(kNumbers);
  do {
    const auto number = take_number(text);
    if (!number) {
      break;
    }
    release.numbers_.push_back(*number);
  } while (release.numbers_.size() < kNumbers && take(text, "."));
  return release;
}

std::string_view KernelRelease::flavour() const {
  std::string_view rest = text_;
  const std::string_view dotted = rest.substr(0, rest.find('-'));
  if (!parse_dotted_numbers(dotted, 3, 3)) {
    return {};
  }
  rest.remove_prefix(dotted.size());
  if (!take(rest, "-")) {
    return {};
  }
  const std::string_view abi = rest.substr(0, rest.find('-'));
  const bool padded = abi.size() > 1 && abi.front() == '0';
  if (padded || !parse_dotted_numbers(abi, 1, 1)) {
    return {};
  }
  rest.remove_prefix(abi.size());
  if (!take(rest, "-") || rest.empty() || is_digit(rest.front()) || is_commit(rest.substr(0, rest.find('-')))) {
    return {};
  }
  return rest;
}

std::string_view to_string(ModuleFlavour flavour) {
  switch (flavour) {
    case ModuleFlavour::Proprietary:
      return "proprietary";
    case ModuleFlavour::Open:
      return "open";
  }
  return "unknown";
}

namespace {

struct NvrmLine {
  std::string_view text;  ///< what follows "NVRM version:"
  bool ends = false;      ///< it has its newline
};

std::optional<NvrmLine> find_nvrm_line(std::string_view text) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    const bool ends = end != std::string_view::npos;
    if (take(line, "NVRM version:")) {
      return NvrmLine{line, ends};
    }
    text.remove_prefix(ends ? end + 1 : text.size());
  }
  return std::nullopt;
}

/// Jetson's modules are built by "buildbrain@mobile-..."; older L4T releases count below 100, as no other
/// arm64 driver ever did (x86 had 71.86 and 96.43).
bool is_tegra_build(const DriverVersion& version, std::string_view architecture, std::string_view rest) {
  constexpr std::uint32_t kFirstArmBranch = 100;
  const bool old_l4t = version.branch_number() < kFirstArmBranch && architecture == "aarch64";
  return old_l4t || rest.find("(buildbrain@mobile-") != std::string_view::npos;
}

void read_version(std::string_view line, bool line_ends, NvrmVersion& nvrm) {
  skip_blanks(line);
  const Word word = take_word(line, line_ends);
  if (word.text.empty()) {
    return;
  }
  if (!word.whole) {
    nvrm.version = fail(ErrorCode::Malformed, "the NVRM line is cut inside the version, at " + in_quotes(word.text));
    return;
  }
  nvrm.version = DriverVersion::parse(word.text);
  if (!nvrm.version || !is_tegra_build(*nvrm.version, nvrm.architecture, line)) {
    return;
  }
  constexpr std::uint32_t kFirstOwnNumber = 100;
  if (nvrm.version->branch_number() < kFirstOwnNumber) {
    nvrm.l4t_release = nvrm.version->text();
  }
  nvrm.version =
      fail(ErrorCode::Unsupported, in_quotes(word.text) + " is a Jetson (Tegra) number, not a driver version");
}

}  // namespace

Result<NvrmVersion> parse_nvrm_version(std::string_view text) {
  const auto found = find_nvrm_line(text);
  if (!found) {
    return fail(ErrorCode::Malformed, "no line begins with 'NVRM version:'");
  }
  std::string_view line = found->text;
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  skip_blanks(line);
  const std::string_view whole = line;
  if (!take(line, "NVIDIA UNIX ")) {
    return fail(ErrorCode::Malformed, "the NVRM line names no NVIDIA UNIX module: " + in_quotes(whole));
  }

  NvrmVersion nvrm{fail(ErrorCode::Malformed, "the NVRM line ends before the version"), ModuleFlavour::Proprietary, "",
                   std::nullopt};
  if (take(line, "Open ")) {
    nvrm.flavour = ModuleFlavour::Open;
  }
  // Two wordings: "<arch> Kernel Module" and "Kernel Module for <arch>".
  constexpr std::string_view kModule = "Kernel Module";
  const bool arch_last = take(line, "Kernel Module for ");
  const Word architecture = take_word(line, found->ends);
  if (!arch_last) {
    skip_blanks(line);
    if (!take(line, kModule)) {
      return fail(ErrorCode::Malformed, "the NVRM line does not say which module this is: " + in_quotes(whole));
    }
  }
  if (architecture.whole) {
    nvrm.architecture = architecture.text;
    read_version(line, found->ends, nvrm);
  }
  return nvrm;
}

}  // namespace gpuskew
