#!/usr/bin/env bash
# Build the native modules with the thread sanitizer, in a copy of the tree, and run the tests that are marked `threads`.
#
# Python itself is not instrumented: what the sanitizer reports is about the native modules and what they call, and nothing is suppressed.
# It compares addresses: driver and client map the same file twice, so it sees the threads of each of them, not one against the other.
set -eu
cd "$(dirname "$0")/.."
.ci/venv.sh
python=$PWD/.venv/bin/python
tree=$PWD/build/tsan
runtime=$(cc -print-file-name=libtsan.so)
[ -e "$runtime" ] || { echo "no libtsan.so: install gcc's sanitizer library" >&2; exit 2; }

roots=(generated runtime codegen conformance pcap)
for folder in "${roots[@]}" spec tests benchmarks; do
    mkdir -p "$tree/$folder"
    # Sources only, and none that are gone; the instrumented extensions of the last run stay and are built again when stale.
    find "$tree/$folder" -type f ! -name '*.so' -delete
    tar -c --exclude='*.so' --exclude='__pycache__' "$folder" | tar -x -C "$tree"
done
cp hatch_build.py pyproject.toml "$tree"
cd "$tree"
PYTHONPATH=$(printf "$tree/%s:" "${roots[@]}")$tree
export PYTHONPATH
"$python" hatch_build.py --sanitize thread
export AEROWIRE_SANITIZE=thread
export TSAN_OPTIONS="exitcode=66 halt_on_error=0 history_size=7 ${TSAN_OPTIONS:-}"
# Importing every test takes a minute under the sanitizer.
mapfile -t files < <(grep -rl --include='test_*.py' 'pytest.mark.threads' tests)
# Address space randomisation of newer kernels is more than the sanitizer's shadow memory can bear.
exec setarch "$(uname -m)" -R env LD_PRELOAD="$runtime" "$python" -m pytest -m threads -p no:cacheprovider -o timeout=600 -s "${files[@]}" "$@"
