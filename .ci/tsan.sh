#!/usr/bin/env bash
# Build the native modules with the thread sanitizer, in a copy of the tree, and run the tests that are marked `threads`.
#
#     .ci/tsan.sh [PYTEST ARGUMENT ...]     run these tests
#     .ci/tsan.sh --run MODULE [...]        run `python -m MODULE ...` on that build
#
# Python itself is not instrumented: what the sanitizer reports is about the native modules and what they call, and nothing is suppressed.
# It compares addresses: driver and client map the same file twice, so it sees the threads of each of them, not one against the other.
set -eu
cd "$(dirname "$0")/.."
. .ci/sanitized.sh
.ci/venv.sh
runtime=$(sanitizer_library libtsan.so)
enter_copy tsan
export AEROWIRE_SANITIZE=thread
"$python" hatch_build.py --sanitize "$AEROWIRE_SANITIZE"
export TSAN_OPTIONS="exitcode=66 halt_on_error=0 history_size=7 ${TSAN_OPTIONS:-}"
if [ "${1:-}" = --run ]; then
    shift
    without_randomisation env LD_PRELOAD="$runtime" "$python" -m "$@"
fi
# Importing every test takes a minute under the sanitizer.
mapfile -t files < <(grep -rl --include='test_*.py' 'pytest.mark.threads' tests)
without_randomisation env LD_PRELOAD="$runtime" \
    "$python" -m pytest -m threads -p no:cacheprovider -o timeout=600 -s "${files[@]}" "$@"
