#include "agent/probes/go_build_info.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace gpuskew {
namespace {

// k3s with its hundreds of modules has about 60 KB.
constexpr std::size_t kMaxBuildInfo = 256u << 10;
constexpr std::string_view kMagic = "\xff Go buildinf:";
constexpr std::size_t kFlags = 15;
constexpr std::size_t kHeader = 32;
constexpr unsigned char kInlineStrings = 2;
constexpr std::size_t kSentinel = 16;  // around the module information

constexpr std::string_view kModule = "github.com/containerd/containerd";

// A string behind its length as a varint. Takes both off the front; nullopt when they do not fit.
std::optional<std::string_view> take_string(std::string_view& bytes) {
  constexpr unsigned kBits = 7;
  constexpr unsigned kMore = 0x80;
  std::size_t length = 0;
  for (unsigned shift = 0; shift < 4 * kBits && !bytes.empty(); shift += kBits) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    length |= static_cast<std::size_t>(byte & (kMore - 1)) << shift;
    if ((byte & kMore) == 0) {
      if (length > bytes.size()) {
        return std::nullopt;
      }
      const std::string_view text = bytes.substr(0, length);
      bytes.remove_prefix(length);
      return text;
    }
  }
  return std::nullopt;
}

std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(std::min(at + 1, text.size()));
  return taken;
}

// Of "github.com/containerd/containerd[/v2][/...]"; 0 for another module ("github.com/containerd/containerd-shim").
std::uint32_t major_of_path(std::string_view path) {
  // Forks keep the path's end: github.com/k3s-io/containerd/v2.
  std::string_view rest;
  if (path.starts_with(kModule)) {
    rest = path.substr(kModule.size());
  } else if (path.starts_with("github.com/k3s-io/containerd")) {
    rest = path.substr(std::string_view("github.com/k3s-io/containerd").size());
  } else {
    return 0;
  }
  if (!rest.empty() && rest.front() != '/') {
    return 0;
  }
  return rest == "/v2" || rest.starts_with("/v2/") ? 2 : 1;
}

// The version.Version that the linker was told, in "-ldflags=..." of a build line.
std::string_view linked_version(std::string_view flags) {
  constexpr std::string_view kKey = "/version.Version=";
  const std::size_t at = flags.find(kKey);
  if (at == std::string_view::npos || flags.substr(0, at).find("containerd/containerd") == std::string_view::npos) {
    return {};
  }
  const std::string_view rest = flags.substr(at + kKey.size());
  return rest.substr(0, rest.find_first_of(" \"'\\"));
}

}  // namespace

Result<std::string> read_go_build_info(const ReadAt& read_at) {
  const auto section = find_elf_section(read_at, ".go.buildinfo", kMaxBuildInfo);
  if (!section) {
    return section;
  }
  if (section->size() < kHeader || !section->starts_with(kMagic)) {
    return fail(ErrorCode::Malformed, "no Go build information in .go.buildinfo");
  }
  if ((static_cast<unsigned char>((*section)[kFlags]) & kInlineStrings) == 0) {
    return fail(ErrorCode::Malformed, "built by a Go older than 1.18, which keeps its build information elsewhere");
  }
  std::string_view rest = std::string_view(*section).substr(kHeader);
  const auto compiler = take_string(rest);
  const auto modules = compiler ? take_string(rest) : std::nullopt;
  if (!modules) {
    return fail(ErrorCode::Malformed, "cut off inside its Go build information");
  }
  if (modules->size() < 2 * kSentinel) {
    return fail(ErrorCode::Malformed, "its Go build information names no module");
  }
  return std::string(modules->substr(kSentinel, modules->size() - 2 * kSentinel));
}

ContainerdVersion parse_containerd_version(std::string_view text) {
  text.remove_prefix(text.starts_with('v') ? 1 : 0);
  ContainerdVersion version;
  std::uint32_t patch = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::uint32_t* part : {&version.major, &version.minor, &patch}) {
    if (part != &version.major) {
      if (at == end || *at != '.') {
        return {};
      }
      ++at;
    }
    const auto [next, error] = std::from_chars(at, end, *part);
    if (error != std::errc()) {
      return {};
    }
    at = next;
  }
  if (version.major == 0) {
    return {};
  }
  version.text = text.substr(0, static_cast<std::size_t>(at - text.data()));
  return version;
}

ContainerdVersion containerd_version_in(std::string_view build_info) {
  ContainerdVersion told;
  bool replaceable = false;  // the line before was containerd's, and a "=>" line takes its place
  while (!build_info.empty()) {
    std::string_view line = take_until(build_info, '\n');
    const std::string_view kind = take_until(line, '\t');
    if (kind == "build" && line.starts_with("-ldflags")) {
      const ContainerdVersion linked = parse_containerd_version(linked_version(line));
      told = linked.major != 0 ? linked : told;
      continue;
    }
    const std::string_view path = take_until(line, '\t');
    const std::uint32_t major = major_of_path(path);
    const bool names_it = (kind == "path" || kind == "mod" || kind == "dep") && major != 0;
    const bool replaces_it = kind == "=>" && replaceable;
    replaceable = names_it && kind != "path";
    if (!names_it && !replaces_it) {
      continue;
    }
    // Of the modules below it (api, ...) only the program itself matters.
    if (kind == "dep" && path != kModule && path != std::string(kModule) + "/v2") {
      replaceable = false;
      continue;
    }
    told.major = told.major == 0 ? major : told.major;
    const ContainerdVersion version = parse_containerd_version(take_until(line, '\t'));
    told = version.major != 0 ? version : told;
  }
  return told;
}

}  // namespace gpuskew
