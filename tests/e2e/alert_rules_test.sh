#!/usr/bin/env bash
# Prometheus' own tool runs the rules' unit tests. Exit 77: no promtool here (Debian: prometheus); metrics_test still
# checks that every metric the rules name exists.
set -euo pipefail
command -v promtool >/dev/null || exit 77
cd "$(dirname "${BASH_SOURCE[0]}")/../../deploy/prometheus"
promtool check rules gpuskew.rules.yaml
promtool test rules gpuskew.rules.test.yaml
