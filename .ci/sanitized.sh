# What .ci/tsan.sh and .ci/asan.sh share; sourced by them in the root of the checkout.

# Copy the sources to build/NAME, enter it and make Python import from there. Sets `python`, `tree` and `roots`.
enter_copy() {
    local folder
    python=$PWD/.venv/bin/python
    tree=$PWD/build/$1
    roots=(generated runtime codegen conformance pcap)
    for folder in "${roots[@]}" spec tests benchmarks; do
        mkdir -p "$tree/$folder"
        # Sources only, and none that are gone; the instrumented extensions of the last run stay and are built again when stale.
        find "$tree/$folder" -type f ! -name '*.so' -delete
        tar -c --exclude='*.so' --exclude='__pycache__' "$folder" | tar -x -C "$tree"
    done
    cp hatch_build.py pyproject.toml README.md LICENSE "$tree"
    cd "$tree"
    PYTHONPATH=$(printf "$tree/%s:" "${roots[@]}")$tree
    export PYTHONPATH
}

# Print the path of one of gcc's sanitizer libraries, or say that it is missing.
sanitizer_library() {
    local found
    found=$(cc -print-file-name="$1")
    [ -e "$found" ] || { echo "no $1: install gcc's sanitizer library" >&2; return 2; }
    echo "$found"
}

# Run a command without address space randomisation, which newer kernels make larger than the sanitizers' shadow memory allows.
without_randomisation() {
    exec setarch "$(uname -m)" -R "$@"
}
