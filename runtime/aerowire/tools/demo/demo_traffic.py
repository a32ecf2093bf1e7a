"""The two clients of `aerowire demo`: python -m aerowire.tools.demo.demo_traffic publish|subscribe DIR CHANNEL MESSAGES SEED.

Both draw the same messages from the seed: lengths of 32 to 2,000 bytes, a head of send time and sequence number, and a
piece of a pool of random bytes behind it. The subscriber checks every byte and times every message; both tell their
progress on standard output, one JSON object a line. The publisher stays until its standard input ends, so that what
was lost can still be sent again.
"""

from __future__ import annotations

import argparse
import json
import struct
import sys
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from aerowire.base.errors import AerowireError

if TYPE_CHECKING:
    from aerowire.client import ExclusivePublication, Header, Subscription

LENGTH_MIN = 32
LENGTH_MAX = 2_000
STREAM_ID = 1001
HEAD = struct.Struct("<qq")
POOL_LENGTH = 1 << 16
CHUNK = 10_000
FRAGMENT_LIMIT = 256
SLEEP_S = 20e-6
CONNECT_LIMIT_S = 20.0
STALL_LIMIT_S = 30.0
REPORT_INTERVAL_S = 0.25


class Piece(NamedTuple):
    """Where a message's content lies in the pool."""

    start: int
    stop: int


class TrafficError(AerowireError):
    """A message that is not the one that was sent, or traffic that has stopped."""


def draw(messages: int, seed: int) -> tuple[memoryview, Iterator[Piece]]:
    """Return the pool of random bytes and, for each message, the piece of it that follows the head."""
    import numpy

    generator = numpy.random.default_rng(seed)
    pool = memoryview(generator.bytes(POOL_LENGTH + LENGTH_MAX))

    def pieces() -> Iterator[Piece]:
        for first in range(0, messages, CHUNK):
            count = min(CHUNK, messages - first)
            starts = generator.integers(0, POOL_LENGTH, count).tolist()
            lengths = generator.integers(LENGTH_MIN - HEAD.size, LENGTH_MAX - HEAD.size + 1, count).tolist()
            yield from (Piece(start, start + length) for start, length in zip(starts, lengths, strict=True))

    return pool, pieces()


class Reporter:
    """Tells progress a few times a second; the newest line replaces the older ones."""

    def __init__(self, role: str) -> None:
        self._role = role
        self._next = 0.0

    def progress(self, count: int) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + REPORT_INTERVAL_S
            self.tell(progress=count)

    def tell(self, **fields: object) -> None:
        print(json.dumps({"role": self._role, **fields}), flush=True)


def wait_until(condition: Callable[[], bool], what: str, limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            raise TrafficError(what, expected=f"within {limit_s:.0f} s", actual="nothing")
        time.sleep(1e-3)


def publish(publication: ExclusivePublication, messages: int, seed: int) -> None:
    """Send every message, retrying under back pressure, and tell how long it took."""
    from aerowire.client import ADMIN_ACTION, BACK_PRESSURED

    reporter = Reporter("publisher")
    pool, pieces = draw(messages, seed)
    retry = (BACK_PRESSURED, ADMIN_ACTION)
    clock, offer_parts, pack = time.monotonic_ns, publication.offer_parts, HEAD.pack
    wait_until(lambda: publication.is_connected, "no subscriber", CONNECT_LIMIT_S)
    started = clock()
    total = 0
    for sequence, (start, stop) in enumerate(pieces):
        piece = pool[start:stop]
        if (result := offer_parts(pack(clock(), sequence), piece)) < 0:
            stalled = time.monotonic()
            while (result := offer_parts(pack(clock(), sequence), piece)) < 0:
                if result not in retry or time.monotonic() - stalled > STALL_LIMIT_S:
                    raise TrafficError("publisher cannot go on", where=f"message {sequence}", expected="a position", actual=result)
                reporter.progress(sequence)
                time.sleep(SLEEP_S)
        total += HEAD.size + stop - start
    reporter.tell(messages=messages, bytes=total, seconds=(clock() - started) / 1e9, position=publication.position)
    sys.stdin.buffer.read()


def subscribe(subscription: Subscription, messages: int, seed: int) -> None:
    """Take every message, compare it with what must have been sent, and tell the latencies."""
    from aerowire.client import FragmentAssembler

    reporter = Reporter("subscriber")
    pool, pieces = draw(messages, seed)
    latencies = array("q")
    clock, unpack_from, head_length, expect = time.monotonic_ns, HEAD.unpack_from, HEAD.size, pieces.__next__
    bytes_received = 0

    def on_message(buffer: memoryview, offset: int, length: int, header: Header) -> None:
        nonlocal bytes_received
        now = clock()
        sent, sequence = unpack_from(buffer, offset)
        start, stop = expect()
        if sequence != len(latencies) or buffer[offset + head_length : offset + length] != pool[start:stop]:
            raise TrafficError("message differs", where=f"position {header.position}", expected=len(latencies), actual=sequence)
        latencies.append(now - sent)
        bytes_received += length

    handler = FragmentAssembler(on_message)
    reporter.tell(ready=True)
    heard = time.monotonic()
    while len(latencies) < messages:
        if subscription.poll(handler, FRAGMENT_LIMIT):
            heard = time.monotonic()
        else:
            if time.monotonic() - heard > STALL_LIMIT_S:
                raise TrafficError("nothing arrives", expected=f"{messages} messages", actual=len(latencies))
            time.sleep(SLEEP_S)
        reporter.progress(len(latencies))
    ordered = sorted(latencies)
    quantiles = {name: ordered[min(int(len(ordered) * part), len(ordered) - 1)] / 1e3 for name, part in QUANTILES.items()}
    reporter.tell(messages=len(latencies), bytes=bytes_received, **quantiles)


QUANTILES = {"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99, "max_us": 1.0}


def main(argv: Sequence[str] | None = None) -> int:
    from aerowire.client import Aeron

    parser = argparse.ArgumentParser(description="One client of `aerowire demo`.")
    parser.add_argument("role", choices=["publish", "subscribe"])
    parser.add_argument("dir")
    parser.add_argument("channel")
    parser.add_argument("messages", type=int)
    parser.add_argument("seed", type=int)
    given = parser.parse_args(argv)
    try:
        with Aeron.connect(aeron_dir=given.dir) as aeron:
            if given.role == "publish":
                with aeron.add_exclusive_publication(given.channel, STREAM_ID) as publication:
                    publish(publication, given.messages, given.seed)
            else:
                with aeron.add_subscription(given.channel, STREAM_ID) as subscription:
                    subscribe(subscription, given.messages, given.seed)
    except AerowireError as error:
        print(f"demo {given.role}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
