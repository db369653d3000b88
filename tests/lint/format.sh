#!/usr/bin/env bash
# Every source file is laid out as .clang-format says. Exit 77: no clang-format here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v clang-format >/dev/null || exit 77
find core proto runtime agent aggregator tests \( -name '*.h' -o -name '*.cc' \) -print0 |
  xargs -0 clang-format --dry-run -Werror
