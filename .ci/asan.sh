#!/usr/bin/env bash
# Build the native modules with the address and undefined behaviour sanitizers, in a copy of the tree, and run the tests of native code.
#
#     .ci/asan.sh [PYTEST ARGUMENT ...]     run the tests below, or those that are named
#     .ci/asan.sh --build                   only build
#     .ci/asan.sh --run MODULE [...]        run `python -m MODULE ...` on that build (tests.fuzz: the same build guides the fuzzer)
#     .ci/asan.sh --patch FILE --run ...    the same on a copy with a patch applied
#
# Python itself is not instrumented and frees little at its end, so leaks are not looked for; nothing else is suppressed.
set -eu
cd "$(dirname "$0")/.."
. .ci/sanitized.sh
.ci/venv.sh
address=$(sanitizer_library libasan.so)
undefined=$(sanitizer_library libubsan.so)
patch=
if [ "${1:-}" = --patch ]; then
    patch=$(realpath "$2")
    shift 2
    # Begin with what is compiled: only what the patch touches is compiled again.
    [ -e build/asan-patched ] || cp -a build/asan build/asan-patched
    enter_copy asan-patched
    patch -s -p1 <"$patch"
else
    enter_copy asan
fi
export AEROWIRE_SANITIZE=address,undefined,coverage
"$python" hatch_build.py --sanitize "$AEROWIRE_SANITIZE"
engine=$("$python" -m tests.fuzz.engine)
if [ "${1:-}" = --build ]; then exit; fi
# With Python's own allocator the sanitizer would see one block where Python has many objects.
export PYTHONMALLOC=malloc
# The same for Arrow's.
export ARROW_DEFAULT_MEMORY_POOL=system
# A SIGBUS goes to the handler of the product, whose tests cut files short.
export ASAN_OPTIONS="detect_leaks=0 handle_sigbus=0 halt_on_error=1 handle_abort=1 verify_asan_link_order=0 quarantine_size_mb=64 ${ASAN_OPTIONS:-}"
export UBSAN_OPTIONS="handle_sigbus=0 halt_on_error=1 print_stacktrace=1 ${UBSAN_OPTIONS:-}"
# The engine goes first: the sanitizers have empty callbacks of the same names.
preload="$engine $address $undefined"
if [ "${1:-}" = --run ]; then
    shift
    without_randomisation env LD_PRELOAD="$preload" "$python" -m "$@"
fi
folders=(tests/{memory,logbuffer,ipc,protocol,system,agents,simulation,client,fuzz} tests/driver/{agents,media,queues,streams} tests/archive/{agents,files})
if [ $# -gt 0 ] && [ -e "${1%%::*}" ]; then folders=(); fi
without_randomisation env LD_PRELOAD="$preload" "$python" -m pytest -m "not interop and not soak and not threads" -p no:cacheprovider --capture=sys \
    -o timeout=300 "${folders[@]}" "$@"
