#!/usr/bin/env python3
"""aerowire beside pyzmq in one run: the median of five for each, and how many times better.

    python benchmarks/compare.py
    python benchmarks/compare.py --runs 3 --length 128

Latency and throughput over IPC of 32-byte messages, the driver in its own process; UDP through one client thread beside them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from aerowire.base.errors import AerowireError
from aerowire.tools.arguments import add_directory_arguments
from aerowire.tools.measure import measuring, ping, throughput
from aerowire.tools.measure.measure import measure_latency, measure_throughput

RUNS = 5
PYZMQ_MESSAGES = {"ping": 10_000, "throughput": 1_000_000}


def settings(add_arguments: Callable[[argparse.ArgumentParser], None], *texts: str) -> argparse.Namespace:
    """Return the arguments of a measurement as its command would parse them."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    add_directory_arguments(parser)
    return parser.parse_args(texts)


def median_latency(runs: int, *texts: str) -> dict[str, float]:
    """Return the medians of a ping-pong's percentiles."""
    arguments = settings(ping.add_arguments, "--runs", str(runs), *texts)
    plan = measuring.plan_of(arguments, reply_channel=arguments.reply_channel, one_thread=arguments.one_thread)
    return measuring.measure(arguments, plan, measure_latency)[0]


def median_rate(runs: int, *texts: str) -> float:
    """Return the median of messages a second."""
    arguments = settings(throughput.add_arguments, "--runs", str(runs), *texts)
    return measuring.measure(arguments, measuring.plan_of(arguments), measure_throughput)[0]["msgs_per_s"]


def main() -> int:
    """Measure everything, in turn, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=RUNS, help=f"runs of which the median is taken (default: {RUNS})")
    parser.add_argument("--length", default="32", help="bytes of payload (default: 32)")
    chosen = parser.parse_args()
    length = ("--length", chosen.length)
    udp = ("--channel", measuring.UDP_CHANNEL)
    few = ("--messages", "20000", "--warmup", "2000")  # on two cores driver and ends give way to each other
    try:
        ipc_us = median_latency(chosen.runs, *length)
        udp_us = median_latency(chosen.runs, *length, *udp, "--one-thread", "--messages", "50000")
        udp_apart_us = median_latency(chosen.runs, *length, *udp, *few)
        zmq_us = median_latency(chosen.runs, *length, "--peer", "pyzmq", "--messages", str(PYZMQ_MESSAGES["ping"]), "--warmup", "1000")
        single = median_rate(chosen.runs, *length)
        batch = median_rate(chosen.runs, *length, "--mode", "batch", "--messages", "50000000")
        zmq = median_rate(chosen.runs, *length, "--peer", "pyzmq", "--messages", str(PYZMQ_MESSAGES["throughput"]))
    except AerowireError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("compare.py: interrupted", file=sys.stderr)
        return 1
    for name, latency in (("ipc", ipc_us), ("udp, one thread", udp_us), ("udp, two processes", udp_apart_us), ("pyzmq ipc", zmq_us)):
        ratio = zmq_us["p50_us"] / latency["p50_us"]
        print(f"{name:>20}  p50 {latency['p50_us']:8.2f} us  p99 {latency['p99_us']:8.2f} us  {ratio:6.1f} x")
    for name, rate in (("ipc, single", single), ("ipc, batch", batch), ("pyzmq ipc", zmq)):
        print(f"{name:>20}  {rate / 1e6:8.2f} M/s  {rate / zmq:6.1f} x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
