#pragma once

#include <array>

#include "core/judge.h"

namespace gpuskew {

/// Every state, in the order people are shown them.
inline constexpr std::array kNodeStates = {NodeState::Ok,       NodeState::NoGpu,    NodeState::NotJudged,
                                           NodeState::Starting, NodeState::Degraded, NodeState::Broken,
                                           NodeState::Unknown};

/// Every outcome of the next boot, in the order people are shown them.
inline constexpr std::array kNextBootOutcomes = {NextBootGpu::Keeps, NextBootGpu::Loses, NextBootGpu::CannotTell,
                                                 NextBootGpu::NotApplicable};

}  // namespace gpuskew
