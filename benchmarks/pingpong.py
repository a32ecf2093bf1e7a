#!/usr/bin/env python3
"""Round trips of a message: p50_us, p90_us, p99_us, max_us.

    python benchmarks/pingpong.py --length 32 --json
    python benchmarks/pingpong.py --channel 'aeron:udp?endpoint=127.0.0.1:20121' --one-thread
    python benchmarks/pingpong.py --peer pyzmq

The code is that of `aerowire ping`.
"""

from __future__ import annotations

import sys

from aerowire.tools.measure import ping
from aerowire.tools.measure.benchmark import main

if __name__ == "__main__":
    sys.exit(main(ping.add_arguments, ping.run, __doc__))
