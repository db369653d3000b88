#!/usr/bin/env bash
# Every script passes shellcheck. Exit 77: no shellcheck here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v shellcheck >/dev/null || exit 77
mapfile -t scripts < <(find .ci packaging deploy tests -type f -not -path '*/fixtures/*' -exec grep -l -m1 -E '^#!.*\b(bash|sh)$' {} +)
shellcheck --external-sources "${scripts[@]}"
