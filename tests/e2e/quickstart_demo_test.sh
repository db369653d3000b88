#!/usr/bin/env bash
# packaging/quickstart --once --demo: each captured tree is judged as its name says.
set -euo pipefail
programs=$1
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

output=$("$tree/packaging/quickstart" --bin "$programs" --directory "$work/quickstart" --once --demo 2>&1) || {
  printf 'FAILED: exit %s\n%s\n' "$?" "$output" >&2
  exit 1
}
for part in gpu-gone-after-kernel-bump driver-library-mismatch image-missing wrong-driver-bound not-judged no-gpu \
  5.15.0-119-generic 5.15.0-122-generic 550.90.07 "gpu-node-1" "gpu-node-6" "gpu-node-7" module-missing-next-kernel; do
  [[ $output == *"$part"* ]] || {
    printf "FAILED: no '%s' in the output\n%s\n" "$part" "$output" >&2
    exit 1
  }
done
