#!/usr/bin/env bash
# systemd itself reads our units without a word. Exit 77: no systemd-analyze here.
set -euo pipefail
programs=$1
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
command -v systemd-analyze >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp "$tree/packaging/examples/gates/gpuskew-reboot.timer" "$work"
for unit in gpuskew-agent gpuskew-aggregator gpuskew-gate gpuskew-reboot; do
  template="$tree/packaging/systemd/$unit.service.in"
  [[ -f $template ]] || template="$tree/packaging/examples/gates/$unit.service"
  sed "s#@CMAKE_INSTALL_FULL_BINDIR@#$programs#; s#@CMAKE_INSTALL_FULL_DOCDIR@#/usr/share/doc/gpuskew#
    s#/usr/local/bin/gpuskew#$programs/gpuskew#" "$template" >"$work/$unit.service"
  if grep -n '@' "$work/$unit.service" | grep -v '@system-service\|@privileged'; then
    echo "FAILED: $unit.service.in has a placeholder nobody fills" >&2
    exit 1
  fi
  said=$(systemd-analyze verify --man=no "$work/$unit.service" 2>&1) || {
    printf 'FAILED: systemd-analyze verify %s\n%s\n' "$unit" "$said" >&2
    exit 1
  }
  if [[ -n $said ]]; then
    printf 'FAILED: systemd-analyze verify %s said\n%s\n' "$unit" "$said" >&2
    exit 1
  fi
  # For people: how far the sandbox goes. An old systemd can not look at a file.
  systemd-analyze security --offline=true "$work/$unit.service" 2>/dev/null | tail -n 1 || true
done
