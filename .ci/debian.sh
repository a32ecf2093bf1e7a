#!/bin/sh
# Have the programs that some tests need: tshark for the Wireshark dissectors, Chromium for the page of the conformance report.
# Installs them when root on a Debian-like system, elsewhere says what is missing.  Always succeeds; without them those tests are skipped.
set -eu
missing=
command -v tshark >/dev/null || missing="$missing tshark"
command -v chromedriver >/dev/null || missing="$missing chromium chromium-driver"
if [ -n "$missing" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "setup: installing$missing" >&2
        export DEBIAN_FRONTEND=noninteractive
        # shellcheck disable=SC2086  # the packages are words
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } >/dev/null </dev/null || true
    fi
    command -v tshark >/dev/null || echo "setup: no tshark: tests of the Wireshark dissectors will be skipped (sudo apt-get install -y tshark)" >&2
    command -v chromedriver >/dev/null ||
        echo "setup: no Chromium: the test of the report's page will be skipped (sudo apt-get install -y chromium chromium-driver)" >&2
fi
