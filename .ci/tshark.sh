#!/bin/sh
# Have tshark for the tests of the Wireshark dissectors: install it when root on a Debian-like system, elsewhere say what is missing.
# Always succeeds; without tshark those tests are skipped.
set -eu
if ! command -v tshark >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "setup: installing tshark" >&2
        export DEBIAN_FRONTEND=noninteractive
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends tshark; } >/dev/null </dev/null || true
    fi
    command -v tshark >/dev/null || echo "setup: no tshark: tests of the Wireshark dissectors will be skipped (sudo apt-get install -y tshark)" >&2
fi
