#!/usr/bin/env bash
# ruff, mypy --strict, the native modules against their stubs, import rules.  Prints each tool's own closing line;
# runs them all and exits 1 when one of them failed.
set -u
cd "$(dirname "$0")/.."
bin=.venv/bin
folders=(hatch_build.py runtime codegen conformance pcap tests benchmarks examples)
paths=()
for folder in "${folders[@]}"; do [ -n "$(find "$folder" -name '*.py' 2>/dev/null | head -n 1)" ] && paths+=("$folder"); done
failed=0

step() {
    echo "== $1"
    shift
    "$@" </dev/null || failed=1
}

step "ruff check" $bin/ruff check "${paths[@]}"
step "ruff format" $bin/ruff format --check "${paths[@]}"
step "mypy" $bin/mypy --strict "${paths[@]}" generated
step "stubtest" $bin/python -m tests.house.stubtest
step "import rules" $bin/lint-imports --no-cache
exit $failed
