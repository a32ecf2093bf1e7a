"""Faults of group F: retransmission.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from aerowire.codecs.tables.counters import SystemCounter
from tests.conformance.injector import Fault, delay, drop, edit, once, repeat, replace
from tests.conformance.misbehaviour import (
    NEVER,
    PUBLISHED_FRAME,
    doubled,
    flipped,
    frozen,
    invalid,
    is_data,
    is_early_nak,
    is_nak,
    same,
)

FAULTS: tuple[Fault, ...] = (
    Fault("F01", "resends more", "frames 4 to 6 again", "DATA[", hears=edit(is_nak, length=4 * PUBLISHED_FRAME)),
    Fault("F01", "resends less", "frames 4 to 6 again", "DATA[", hears=edit(is_nak, length=2 * PUBLISHED_FRAME)),
    Fault("F01", "resends other bytes", "frames 4 to 6 again", "DATA[", says=once(is_nak, replace(is_data, flipped))),
    Fault("F01", "resends late", "a retransmission within 5 ms", "it came after", says=once(is_nak, delay(is_data, 30))),
    Fault("F01", "resends nothing", "a retransmission within 5 ms", NEVER, hears=drop(is_nak)),
    Fault("F01", "does not count", "RETRANSMITS_SENT (", "it is at", counts=frozen(SystemCounter.RETRANSMITS_SENT)),
    Fault("F01", "counts twice", "RETRANSMITS_SENT (", "it is at", counts=doubled(SystemCounter.RETRANSMITS_SENT)),
    Fault("F01", "does not count the bytes", "RETRANSMITTED_BYTES (", "it is at", counts=frozen(SystemCounter.RETRANSMITTED_BYTES)),
    Fault("F02", "resends twice", "one retransmission", "2, ", says=once(is_nak, repeat(is_data, 0))),
    Fault("F02", "resends nothing", "one retransmission", "none", says=once(is_nak, drop(is_data))),
    Fault("F02", "hears one only", "NAK_MESSAGES_RECEIVED (", "it is at", hears=drop(is_nak, after=1)),
    Fault("F02", "resends other bytes", "bytes resent = ", "bytes resent = ", says=once(is_nak, replace(is_data, flipped))),
    Fault("F03", "lingers for ever", "a retransmission within 5 ms", NEVER, hears=drop(is_nak, after=1)),
    Fault("F03", "resends late", "a retransmission within 5 ms", "it came after", says=once(is_nak, delay(is_data, 30, after=11))),
    Fault("F07", "resends the past", "no data for a NAK at the sender's position", "DATA[", hears=edit(is_early_nak, term_offset=0)),
    Fault("F07", "calls it invalid", "INVALID_PACKETS (14) at", "it is at", hears=replace(is_early_nak, same, invalid)),
    Fault("F07", "is deaf", "NAK_MESSAGES_RECEIVED (", "it is at", hears=drop(is_nak)),
    Fault("F07", "is deaf afterwards", "a retransmission within 200 ms", NEVER, hears=drop(is_nak, after=1)),
)
