#!/usr/bin/env bash
# usage: compatibility.sh VELERO KUBE_APISERVER
# Writes one run of the suite into its row of docs/install.md. gotestsum
# runs this after the last test and gives the counts in the environment.
set -euo pipefail
cd "$(dirname "$0")/.."
page=docs/install.md
failed=$((TESTS_FAILED + TESTS_ERRORS))
row="| $1 | $2 | whole suite | $((TESTS_TOTAL - TESTS_SKIPPED - failed)) | $TESTS_SKIPPED | $failed | $(date -u +%F) |"
awk -v row="$row" -v start="| ${1%.*}." '
  index($0, start) == 1 { $0 = row; found = 1 }
  { print }
  END { exit !found }' "$page" > "$page.new"
mv "$page.new" "$page"
