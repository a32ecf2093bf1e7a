"""Faults of group E: loss.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from tests.conformance.injector import Fault, delay, drop, edit, repeat, replace
from tests.conformance.misbehaviour import (
    NEVER,
    is_fill,
    is_nak,
    longer,
    more,
    thin_naks,
)

FAULTS: tuple[Fault, ...] = (
    Fault("E01", "names less", "length = 768", "length = 736", says=edit(is_nak, length=more(-32))),
    Fault("E01", "names another place", "term_offset = 512", "= 544", says=edit(is_nak, term_offset=more(32))),
    Fault("E01", "names another term", "term_id = ", "term_id = ", says=edit(is_nak, term_id=more(-1))),
    Fault("E01", "names another session", "session_id = ", "session_id = ", says=edit(is_nak, session_id=more(1))),
    Fault("E01", "names it at length", "length of the datagram = 28", "= 60", says=replace(is_nak, longer)),
    Fault("E01", "sets a flag", "flags = 0", "flags = 128", says=edit(is_nak, flags=128)),
    Fault("E01", "says nothing", "a NAK within 200 ms", NEVER, says=drop(is_nak)),
    Fault("E01", "does not take the fill", "10 payloads delivered in order", "came", hears=drop(is_fill)),
    Fault("E02", "says it late", "a NAK within 5 ms", "it came after", says=delay(is_nak, 30)),
    Fault("E02", "says nothing", "a NAK within 5 ms", NEVER, says=drop(is_nak)),
    Fault("E03", "says it once", "at least 20 NAKs in 100 ms", "one, never repeated", says=drop(is_nak, after=1)),
    Fault("E03", "says it seldom", "at least 20 NAKs in 100 ms", "ms apart", says=thin_naks),
    Fault("E03", "says it too often", "NAKs no closer than 0.1 ms", "of them in", says=repeat(is_nak, *[0.0] * 40)),
    Fault("E03", "names less later", "length = 768", "= 32", says=edit(is_nak, after=3, length=32)),
    Fault("E04", "goes on", "no NAK after the fill", "NAK[", says=repeat(is_nak, 60)),
    Fault("E04", "does not take the fill", "10 payloads delivered in order", "came", hears=drop(is_fill)),
)
