"""A million malformed datagrams: the driver lives, counts each one, answers none, grows by nothing, and keeps its streams."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from aerowire.conformance.fuzz import FuzzOutcome, fuzz
from aerowire.conformance.harness.cnc import CncFile
from aerowire.conformance.peers.base import Peer, started
from aerowire.conformance.peers.drivers import AerowirePeer, short_timers
from tests.soak.bars import Part, Size
from tests.soak.transport.footprint import anonymous_bytes

# Datagrams of a part, and how many parts there are, each with a driver and a seed of its own.
COUNT = {Size.FULL: 100_000, Size.SMALL: 1_000}
PARTS = {Size.FULL: 10, Size.SMALL: 1}
SEED = 14
# What Python's allocator may take for what it had given back: nothing that grows with the datagrams.
GROWTH_KIB = 1_024


def run(count: int, seed: int, scratch: Path) -> str:
    """Send half of the datagrams, look at the driver's memory, send the other half, and look again."""
    with started(AerowirePeer(short_timers(), scratch / "driver")) as peer:
        first = borne(peer, count // 2, seed)
        before = memory_of(peer)
        second = borne(peer, count - count // 2, seed + 1_000)
        growth = memory_of(peer) - before
    assert growth <= GROWTH_KIB, f"the driver grew by {growth} KiB while it was sent {second.sent} datagrams"
    counted = first.invalid_counted + second.invalid_counted
    delivered = first.messages_delivered + second.messages_delivered
    return f"{first.sent + second.sent} datagrams, {counted} counted as invalid, {delivered} messages delivered beside, {growth:+d} KiB"


def borne(peer: Peer, count: int, seed: int) -> FuzzOutcome:
    """Return what came of a bombardment that the driver bore."""
    outcome = fuzz(peer, count=count, seed=seed)
    assert outcome.is_pass, outcome.to_dict()
    assert outcome.sent == count
    return outcome


def memory_of(peer: Peer) -> int:
    """Return the driver's own memory in KiB."""
    cnc = CncFile(peer.directory, timeout_s=1.0)
    try:
        return anonymous_bytes(cnc.pid) >> 10
    finally:
        cnc.close()


def parts(size: Size) -> list[Part]:
    """Return the parts; together a million datagrams at full size."""
    return [Part(f"every-type-{SEED + at}", SEED + at, partial(run, COUNT[size], SEED + at)) for at in range(PARTS[size])]
