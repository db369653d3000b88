#pragma once

// Journal files as tests need them, written by systemd-journal-remote: the real format.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gpuskew {

struct JournalEntry {
  std::string boot_id;  ///< with or without dashes
  std::uint64_t since_boot_us = 0;
  std::string message;
  std::string transport = "kernel";
  std::string identifier = "kernel";
};

/// Adds entries to a journal file, which is made with its directory where it is not there. What fails throws.
void append_to_journal(const std::filesystem::path& file, const std::vector<JournalEntry>& entries);

}  // namespace gpuskew
