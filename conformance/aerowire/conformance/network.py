"""One direction of a bad network: datagrams go in, and come out late, in another order, twice, damaged or never.

Knows impairments, no sockets and no clock: times are arguments. The same seed and the same datagrams at the same times come out the same.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable
from typing import NamedTuple

from aerowire.codecs.flyweights.transport import FRAME_VERSION, DataHeaderDecoder, FrameHeaderDecoder
from aerowire.conformance.impairment import Impairment, kind_of
from aerowire.conformance.rules import Effect, Endpoint, KnownStream, effect_of, is_valid_frame

# What waits for others to be reordered with waits this long when none come.
HOLD_NS = 3_000_000
# Damage that the rules would not call invalid is drawn again; what resists for so long is lost instead.
TRIES_MAX = 1000
FLIPS_MAX = 3
# Share of the flipped bits that are in the first header, where they matter most.
HEADER_SHARE = 0.7

Reject = Callable[[bytes], bool]


class Passage(NamedTuple):
    """A datagram that comes out, and whether it is damaged."""

    payload: bytes
    is_damaged: bool


class Network:
    """One direction. `is_rejected` says of damaged bytes whether the driver must know them for invalid."""

    def __init__(self, impairment: Impairment, name: str) -> None:
        self._impairment = impairment
        self._random = random.Random(f"{impairment.seed}:{name}")
        self._burst_left = 0
        self._count = 0
        self._reversing: list[Passage] = []
        self._shuffling: list[Passage] = []
        self._swapped: Passage | None = None
        self._put_ns = 0
        self._due: list[tuple[int, int, Passage]] = []
        self._order = itertools.count()
        self.lost = 0
        self.damaged = 0

    def put(self, payload: bytes, now_ns: int, is_rejected: Reject) -> bool:
        """Take a datagram in; return whether it will come out whole."""
        impairment, chance = self._impairment, self._random.random
        if self._is_lost(payload):
            self.lost += 1
            return False
        passage = Passage(payload, is_damaged=False)
        is_truncated = chance() < impairment.truncate
        if is_truncated or chance() < impairment.flip:
            change = self._truncated if is_truncated else self._flipped
            damaged = next((rest for rest in (change(payload) for _ in range(TRIES_MAX)) if is_rejected(rest)), None)
            if damaged is None:
                self.lost += 1
                return False
            self.damaged += 1
            passage = Passage(damaged, is_damaged=True)
        self._put_ns = now_ns
        self._gather(passage, now_ns)
        if chance() < impairment.duplicate:
            self.damaged += passage.is_damaged
            self._gather(passage, now_ns)
        return not passage.is_damaged

    def take(self, now_ns: int) -> list[Passage]:
        """Return what comes out by now."""
        if now_ns - self._put_ns >= HOLD_NS:
            self.release(now_ns)
        found: list[Passage] = []
        while self._due and self._due[0][0] <= now_ns:
            found.append(heapq.heappop(self._due)[2])
        return found

    def release(self, now_ns: int) -> None:
        """Let go of everything that waits for others to be reordered with."""
        self._release_reversing(now_ns)
        self._release_shuffling(now_ns)
        if self._swapped is not None:
            held, self._swapped = self._swapped, None
            self._schedule(held, now_ns)

    def drain(self) -> list[Passage]:
        """Return everything that is still under way, at once."""
        self.release(self._put_ns)
        found = [passage for _, _, passage in sorted(self._due)]
        self._due.clear()
        return found

    def _is_lost(self, payload: bytes) -> bool:
        impairment = self._impairment
        if kind_of(payload) not in impairment.loss_of:
            return False
        self._count += 1
        begins = self._random.random() < impairment.loss or bool(impairment.loss_every and self._count % impairment.loss_every == 0)
        if begins and not self._burst_left:
            self._burst_left = impairment.loss_burst
        if not self._burst_left:
            return False
        self._burst_left -= 1
        return True

    def _gather(self, passage: Passage, now_ns: int) -> None:
        self._reversing.append(passage)
        if len(self._reversing) >= self._impairment.reverse:
            self._release_reversing(now_ns)

    def _release_reversing(self, now_ns: int) -> None:
        while self._reversing:
            self._shuffling.append(self._reversing.pop())
            if len(self._shuffling) >= self._impairment.shuffle:
                self._release_shuffling(now_ns)

    def _release_shuffling(self, now_ns: int) -> None:
        self._random.shuffle(self._shuffling)
        for passage in self._shuffling:
            self._swap(passage, now_ns)
        self._shuffling.clear()

    def _swap(self, passage: Passage, now_ns: int) -> None:
        if self._swapped is None and self._random.random() < self._impairment.swap:
            self._swapped = passage
            return
        self._schedule(passage, now_ns)
        if self._swapped is not None:
            held, self._swapped = self._swapped, None
            self._schedule(held, now_ns)

    def _schedule(self, passage: Passage, now_ns: int) -> None:
        is_late = self._random.random() < self._impairment.delay
        due_ns = now_ns + int(self._impairment.delay_ms * 1e6) if is_late else now_ns
        heapq.heappush(self._due, (due_ns, next(self._order), passage))

    def _truncated(self, payload: bytes) -> bytes:
        return payload[: self._random.randrange(1, len(payload))]

    def _flipped(self, payload: bytes) -> bytes:
        changed = bytearray(payload)
        for _ in range(self._random.randint(1, FLIPS_MAX)):
            is_header = self._random.random() < HEADER_SHARE
            length = min(len(payload), DataHeaderDecoder.ENCODED_LENGTH) if is_header else len(payload)
            bit = self._random.randrange(length * 8)
            changed[bit // 8] ^= 1 << bit % 8
        return bytes(changed)


def rejects(endpoint: Endpoint, known: KnownStream | None) -> Reject:
    """Return what tells bytes that a driver must count as invalid; without a live stream only the first layer counts."""
    if known is None:
        return lambda datagram: not is_valid_frame(datagram)
    return lambda datagram: effect_of(datagram, endpoint, known) is Effect.INVALID


def is_no_frame_of_old(datagram: bytes) -> bool:
    """Say whether drivers older than the two layers of acceptance know a datagram for invalid: too short for a header, or of no version."""
    return len(datagram) < FrameHeaderDecoder.ENCODED_LENGTH or FrameHeaderDecoder(datagram).version != FRAME_VERSION
