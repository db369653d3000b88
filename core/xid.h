#pragma once

// What the numbers of the nvidia driver's error reports (Xid) mean, after NVIDIA's Xid catalog
// (docs.nvidia.com/deploy/xid-errors), as far as a verdict on the node needs it.

#include <cstdint>
#include <string_view>

namespace gpuskew {

inline constexpr std::uint32_t kFellOffBusXid = 79;
/// "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)": the driver's own word on what is needed,
/// since branch 565.
inline constexpr std::uint32_t kRecoveryXid = 154;

enum class XidWeight : std::uint8_t {
  Application,  ///< the driver ended the program that caused it and goes on: a fact, never a finding
  Noted,        ///< of the GPU, which works on all the same; or nothing certain is known of this number
  Fatal,        ///< the GPU does no more work until what `helps` says is done
};

struct XidMeaning {
  std::uint32_t number = 0;
  XidWeight weight = XidWeight::Noted;
  std::string_view meaning{};  ///< "uncorrectable memory error"
  std::string_view helps{};    ///< "a reset of the GPU"; "" unless Fatal
};

/// Noted, without a meaning, for a number that is not in the table.
XidMeaning xid_meaning(std::uint32_t number);

/// What an Xid 154 says is needed now: "GPU Reset Required", "Node Reboot Required", "OS Reboot", "PF FLR",
/// "Drain and Reset", "Drain P2P", "None"; "" when the text does not say.
std::string_view recovery_action(std::string_view text);

}  // namespace gpuskew
