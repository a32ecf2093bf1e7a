"""A million messages over UDP while data, status and NAK frames are lost, doubled and overtaken: all arrive once, in order, byte-equal."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.options import OPTIONS
from tests.soak.bars import Part, Size
from tests.support.counters import read_system_counters
from tests.support.processes import free_port, open_workshop

RATE = "0.05"
SEEDS = {Size.FULL: (1, 2, 3, 4, 5), Size.SMALL: (6,)}
MESSAGES = {Size.FULL: 1_000_000, Size.SMALL: 20_000}
LENGTH_MAX = 400
LIMIT_S = {Size.FULL: 900.0, Size.SMALL: 60.0}


def impairments(seed: int) -> dict[str, str]:
    """Return the options that impair whatever a driver sends: data from its send endpoints, control frames from its receive endpoints."""
    chosen = {}
    kinds = [f"{lane}_{how}" for lane in ("send_data", "receive_control") for how in ("loss", "duplicate", "reorder")]
    for number, kind in enumerate(kinds):
        chosen[OPTIONS[f"debug_{kind}_rate"].property] = RATE
        chosen[OPTIONS[f"debug_{kind}_seed"].property] = str(seed * 100 + number)
    return chosen


def run(size: Size, seed: int, scratch: Path) -> str:
    messages, limit_s = MESSAGES[size], LIMIT_S[size]
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    common = {"channel": channel, "stream": 1001, "messages": messages, "timeout": int(limit_s)}
    with open_workshop(scratch) as workshop:
        shared = {OPTIONS["threading_mode"].property: "SHARED"}
        sending, receiving = workshop.memory / "sending", workshop.memory / "receiving"
        workshop.driver(sending, {**shared, **impairments(seed)})
        workshop.driver(receiving, {**shared, **impairments(seed + 1000)})
        started = time.monotonic()
        subscriber = workshop.peer("subscriber", receiving, **common)
        assert subscriber.result(limit_s)["ready"]
        publisher = workshop.peer("publisher", sending, **common, seed=seed, length_max=LENGTH_MAX)
        sent = publisher.outcome("publisher", limit_s)
        got = subscriber.result(limit_s)
        seconds = time.monotonic() - started
        assert (sent["messages"], sent["bytes"], sent["sha256"]) == (got["messages"], got["bytes"], got["sha256"])
        assert got["messages"] == messages
        at_sender, at_receiver = read_system_counters(sending), read_system_counters(receiving)
    naks, retransmits = at_receiver[SystemCounter.NAK_MESSAGES_SENT], at_sender[SystemCounter.RETRANSMITS_SENT]
    assert naks > 0
    assert retransmits > 0
    assert at_sender[SystemCounter.NAK_MESSAGES_RECEIVED] > 0
    assert at_sender[SystemCounter.STATUS_MESSAGES_RECEIVED] > 0
    return f"{messages:,} messages, {got['bytes']:,} bytes in {seconds:.1f} s, {naks:,} NAKs, {retransmits:,} retransmits"


def parts(size: Size) -> list[Part]:
    return [Part(f"seed-{seed}", seed, partial(run, size, seed)) for seed in SEEDS[size]]
