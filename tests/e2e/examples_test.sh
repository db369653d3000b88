#!/usr/bin/env bash
# The example configurations hold every key and pass --check-config once their certificates exist.
set -euo pipefail
programs=$1
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 1 -subj /CN=example \
  -addext "subjectAltName=DNS:example,DNS:$(uname -n)" -keyout "$work/a.key" -out "$work/a.pem" 2>/dev/null
printf 'a-token-of-more-than-sixteen-characters\n' >"$work/api.token"
chmod 600 "$work/api.token"
for kind in agent aggregator; do
  # The commented keys count, too: each is taken in, but for the agent's token, which stands for its certificate.
  sed -E "/^  # token_file: .*instead of/d; s#^( *)\# ([a-z_]+: .*)#\1\2#; s#^\# ([a-z]+:)\$#\1#; s#^\#   (file: )#  \1#" \
    "$tree/packaging/examples/$kind.yaml" |
    sed -E "s#/etc/gpuskew/[a-z]+\.pem#$work/a.pem#; s#/etc/gpuskew/[a-z]+\.key#$work/a.key#
      s#/etc/gpuskew/api.token#$work/api.token#; s#/etc/gpuskew/support-matrix.csv#$tree/packaging/examples/support-matrix.csv#
      s#/var/lib/gpuskew(-agent)?#$work#" >"$work/$kind.yaml"
  "$programs/gpuskew-$kind" --config "$work/$kind.yaml" --check-config || {
    echo "FAILED: packaging/examples/$kind.yaml, with every key in use:" >&2
    cat -n "$work/$kind.yaml" >&2
    exit 1
  }
done
