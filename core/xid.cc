#include "core/xid.h"

#include <algorithm>
#include <array>

namespace gpuskew {
namespace {

constexpr std::string_view kReset = "a reset of the GPU";
constexpr std::string_view kReboot = "a reboot, or a power cycle when the GPU stays away";
constexpr XidWeight kApplication = XidWeight::Application;
constexpr XidWeight kNoted = XidWeight::Noted;
constexpr XidWeight kFatal = XidWeight::Fatal;

// By number. Not among the fatal: 74 (an NVLink error may be a link's that retrained; since branch 565 an Xid 154
// tells), 109 (a hang that a program can cause), 155 (said of links that go to sleep, too).
constexpr std::array<XidMeaning, 44> kMeanings{{
    {8, kApplication, "a program's work did not end"},
    {11, kApplication, "invalid push buffer"},
    {13, kApplication, "graphics engine exception"},
    {24, kApplication, "GPU semaphore timeout"},
    {31, kApplication, "GPU memory page fault"},
    {32, kApplication, "invalid push buffer"},
    {36, kApplication, "copy engine error"},
    {37, kApplication, "graphics engine error"},
    {39, kApplication, "copy engine 0 error"},
    {40, kApplication, "copy engine 1 error"},
    {41, kApplication, "copy engine 2 error"},
    {42, kApplication, "video processor error"},
    {43, kApplication, "a program's channel was reset"},
    {44, kApplication, "a program's channel was reset"},
    {45, kApplication, "clean-up after a program"},
    {46, kNoted, "a GPU timeout"},
    {48, kFatal, "an uncorrectable memory error (double-bit ECC)", kReset},
    {58, kApplication, "unstable video memory interface"},
    {61, kNoted, "a breakpoint of an internal micro-controller"},
    {62, kFatal, "an internal micro-controller halted", kReset},
    {63, kNoted, "a bad memory row was replaced"},
    {64, kFatal, "a bad memory row could not be replaced", "a reset of the GPU, and its replacement if it comes again"},
    {68, kApplication, "video decoder exception"},
    {69, kApplication, "graphics engine class error"},
    {74, kNoted, "an NVLink error"},
    {79, kFatal, "the GPU has fallen off the bus", kReboot},
    {80, kApplication, "push buffer checksum mismatch"},
    {82, kApplication, "JPEG decoder error"},
    {92, kNoted, "many single-bit memory errors"},
    {94, kApplication, "a memory error, contained to one program"},
    {95, kFatal, "a memory error that could not be contained", kReset},
    {109, kNoted, "a context switch timeout"},
    {110, kFatal, "a security fault", kReset},
    {119, kFatal, "the GPU System Processor (GSP) does not answer", kReset},
    {120, kFatal, "the GPU System Processor (GSP) failed", kReset},
    {121, kNoted, "a corrected error of the link to the CPU"},
    {136, kFatal, "an NVLink could not be trained", kReset},
    {137, kApplication, "an NVLink access without permission"},
    {140, kFatal, "an uncorrectable memory error", kReset},
    {143, kFatal, "the GPU did not initialise", kReset},
    {154, kNoted, "the recovery that the driver asks for changed"},
    {155, kNoted, "an NVLink went down"},
    {156, kNoted, "a part of the GPU was retired"},
    {158, kFatal, "a fatal timeout of the GPU", kReset},
}};

}  // namespace

XidMeaning xid_meaning(std::uint32_t number) {
  const auto found = std::find_if(kMeanings.begin(), kMeanings.end(),
                                  [number](const XidMeaning& each) { return each.number == number; });
  return found == kMeanings.end() ? XidMeaning{number} : *found;
}

std::string_view recovery_action(std::string_view text) {
  constexpr std::string_view kNow = " to 0x";
  const std::size_t now = text.find(kNow);
  const std::size_t open = text.find('(', std::min(now, text.size()));
  const std::size_t close = text.find(')', std::min(open, text.size()));
  if (close == std::string_view::npos) {
    return {};
  }
  return text.substr(open + 1, close - open - 1);
}

}  // namespace gpuskew
