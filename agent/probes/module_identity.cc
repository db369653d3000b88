#include "agent/probes/module_identity.h"

#include <array>
#include <string_view>
#include <utility>

#include "agent/limited_child.h"
#include "agent/probes/decompress.h"

namespace gpuskew {
namespace {

// The child's answer: for each part one byte, 'v' or an error code's number as a letter from 'A', the text, and a NUL.
constexpr std::size_t kMaxAnswer = 1024;
constexpr ChildLimits kUnpacking{kDecompressDeadline, 10, 512u << 20, kMaxAnswer};
constexpr std::size_t kMaxAnswerText = 300;
constexpr char kValueAnswer = 'v';
constexpr char kFirstErrorAnswer = 'A';

template <class Value, class Text>
std::string part_answer(const Result<Value>& part, const Text& text) {
  std::string answer;
  if (part) {
    answer = kValueAnswer + std::string(text(*part));
  } else {
    answer = static_cast<char>(kFirstErrorAnswer + static_cast<char>(part.error().code)) +
             part.error().what.substr(0, kMaxAnswerText);
  }
  return answer + '\0';
}

std::string answer_of(int module, Compression kind) {
  ModinfoScanner scanner;
  const auto unpacked = decompress(module, kind, [&scanner](std::string_view block) { scanner.feed(block); });
  const ModuleIdentity identity = unpacked ? scanner.finish() : ModuleIdentity::unknown(unpacked.error());
  const auto text = [](const auto& value) { return value.text(); };
  const auto name = [](ModuleFlavour flavour) { return to_string(flavour); };
  return part_answer(identity.version, text) + part_answer(identity.built_for, text) +
         part_answer(identity.flavour, name);
}

Result<ModuleFlavour> flavour_from(std::string_view name) {
  for (const ModuleFlavour flavour : {ModuleFlavour::Proprietary, ModuleFlavour::Open}) {
    if (to_string(flavour) == name) {
      return flavour;
    }
  }
  return fail(ErrorCode::Internal, "the unpacking process gave no sensible answer");
}

// Takes one part off the answer.
template <class Parse>
auto take_part(std::string_view& answer, const Parse& parse) -> decltype(parse(std::string_view())) {
  const std::size_t end = answer.find('\0');
  if (answer.empty() || end == 0 || end == std::string_view::npos) {
    answer = {};
    return fail(ErrorCode::Internal, "the unpacking process ended without an answer");
  }
  const char kind = answer.front();
  const std::string_view text = answer.substr(1, end - 1);
  answer.remove_prefix(end + 1);
  if (kind == kValueAnswer) {
    return parse(text);
  }
  const int code = kind - kFirstErrorAnswer;
  if (code < 0 || code > static_cast<int>(ErrorCode::Internal)) {
    return fail(ErrorCode::Internal, "the unpacking process gave no sensible answer");
  }
  return fail(static_cast<ErrorCode>(code), std::string(text));
}

ModuleIdentity parse_answer(std::string_view answer) {
  auto version = take_part(answer, DriverVersion::parse);
  auto built_for = take_part(answer, KernelRelease::parse);
  auto flavour = take_part(answer, flavour_from);
  return ModuleIdentity{std::move(version), std::move(built_for), std::move(flavour)};
}

ModuleIdentity identity_in_compressed(const HostFile& module, Compression kind) {
  std::string answer;
  const auto unpacked = run_limited_child(
      "unpacking", kUnpacking,
      [descriptor = module.descriptor(), kind](const ChildAnswer& tell) {
        tell(answer_of(descriptor, kind).substr(0, kMaxAnswer));
      },
      [&answer](std::string_view piece) { answer += piece; });
  return unpacked ? parse_answer(answer) : ModuleIdentity::unknown(unpacked.error());
}

}  // namespace

ModuleIdentity read_module_identity(const HostFile& module) {
  constexpr std::size_t kMagic = 6;
  const auto first = module.read_at(0, kMagic);
  if (!first) {
    return ModuleIdentity::unknown(first.error());
  }
  if (const auto kind = compression_of(*first)) {
    return identity_in_compressed(module, *kind);
  }
  const auto modinfo =
      find_modinfo([&module](std::uint64_t offset, std::size_t size) { return module.read_at(offset, size); });
  return modinfo ? module_identity(*modinfo) : ModuleIdentity::unknown(modinfo.error());
}

}  // namespace gpuskew
