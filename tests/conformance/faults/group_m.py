"""Faults of group M: malformed datagrams.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from tests.conformance.injector import Fault, answer, drop, replace
from tests.conformance.misbehaviour import (
    NEVER,
    is_negative,
    is_status,
    is_unaligned,
    same,
)

FAULTS: tuple[Fault, ...] = tuple(
    fault
    for case_id, match, words in (("M04", is_negative, "a frame of negative length"), ("M15", is_unaligned, "an unaligned DATA datagram"))
    for fault in (
        Fault(case_id, "does not count", "INVALID_PACKETS (14) at", "it is at", hears=drop(match)),
        Fault(case_id, "counts twice", "INVALID_PACKETS (14) at", "it is at", hears=replace(match, same, same)),
        Fault(case_id, "answers", f"no reply to {words}", "DATA[", hears=answer(match, same)),
        Fault(case_id, "answers nonsense", f"no reply to {words}", "3 bytes that are no frame", hears=answer(match, lambda _: b"huh")),
        Fault(case_id, "no longer receives", "an eliciting status message", NEVER, hears=drop(lambda d: b"well-formed" in d)),
        Fault(case_id, "no longer sends", "the publication to be connected", "it did not happen", hears=drop(is_status)),
    )
)
