#!/usr/bin/env python3
"""Messages a second from one process to another: msgs_per_s.

    python benchmarks/throughput.py --mode batch --messages 50000000 --json
    python benchmarks/throughput.py --channel "aeron:udp?endpoint=127.0.0.1:20121" --length 1024 --messages 1000000
    python benchmarks/throughput.py --peer pyzmq

The code is that of `aerowire throughput`.
"""

from __future__ import annotations

import sys

from aerowire.tools.measure import throughput
from aerowire.tools.measure.benchmark import main

if __name__ == "__main__":
    sys.exit(main(throughput.add_arguments, throughput.run, __doc__))
