#!/usr/bin/env bash
# packaging/quickstart on whatever machine this is: what it prints must be true here.
set -euo pipefail
programs=$1
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
quickstart() { "$tree/packaging/quickstart" --bin "$programs" --directory "$work/quickstart" "$@" 2>&1; }
trap 'quickstart --stop >/dev/null || true; rm -rf "$work"' EXIT

fail() {
  printf 'FAILED: %s\n--- output\n%s\n' "$1" "${2:-}" >&2
  exit 1
}
expect() { # output, part
  [[ $1 == *"$2"* ]] || fail "no '$2' in the output" "$1"
}
processes() { pgrep --full --count "$work/quickstart" || true; }

output=$(quickstart --once) || fail "--once exited with $?" "$output"
expect "$output" "$(uname -r)"
# Vendor 10de with class 0300 or 0302 is an NVIDIA GPU.
has_gpu=no
for device in /sys/bus/pci/devices/*; do
  [[ -e $device/vendor ]] || continue
  if [[ $(<"$device/vendor") == 0x10de && $(<"$device/class") == 0x030[02]?? ]]; then has_gpu=yes; fi
done
if [[ $has_gpu == no && ! -e /sys/module/nvidia ]]; then
  expect "$output" "no-gpu"
  expect "$output" "no NVIDIA GPU"
  [[ $output != *critical* ]] || [[ $output == *"0 critical"* ]] || fail "an alarm on a machine without a GPU" "$output"
fi
[[ $(processes) == 0 ]] || fail "--once left processes running"
[[ $(stat --format %a "$work/quickstart") == 700 ]] || fail "the directory is open to others"
for key in "$work"/quickstart/*.key; do
  [[ $(stat --format %a "$key") == 600 ]] || fail "$key is open to others"
done

output=$(quickstart) || fail "the start exited with $?" "$output"
expect "$output" "--stop"
# What it tells to type works.
(
  # shellcheck disable=SC1091
  . "$work/quickstart/env"
  gpuskew status >/dev/null || [[ $? -eq 1 ]]
) || fail "gpuskew status does not work with the env file"
output=$(quickstart) || fail "a second start exited with $?" "$output"
expect "$output" "running already"
if output=$(quickstart --once); then fail "--once took over a running quickstart" "$output"; fi
output=$(quickstart --stop) || fail "--stop exited with $?" "$output"
[[ $(processes) == 0 ]] || fail "--stop left processes running"
output=$(quickstart --stop) || fail "--stop with nothing running exited with $?" "$output"
