"""Faults of group D: reordering.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from aerowire.codecs.tables.counters import CounterType, SystemCounter
from tests.conformance.faults.data import drop_overtaken, in_order_of_arrival, is_at_start, keep_early_data, nak_of
from tests.conformance.injector import Fault, answer, drop, edit, edited, once, replace
from tests.conformance.misbehaviour import (
    NEVER,
    doubled,
    flipped,
    is_data,
    is_elicit,
    is_end,
    is_eos_status,
    is_middle_fragment,
    is_nak,
    is_open_data,
    is_setup,
    more,
    same,
    say_end_without_recording,
    stuck,
    withdraw,
)


def is_stale(datagram: bytes) -> bool:
    return is_data(datagram) and b"stale" in datagram


def is_second_stale(datagram: bytes) -> bool:
    return is_stale(datagram) and not is_at_start(datagram)


def late_by_three_terms(datagram: bytes) -> bytes:
    return edited(datagram, term_id=more(3))


FAULTS: tuple[Fault, ...] = (
    Fault("D01", "keeps the order of arrival", "8 payloads delivered in order", "8 came, the first 0 of them", hears=in_order_of_arrival),
    Fault("D01", "drops what was overtaken", "8 payloads delivered in order", "0 came", hears=drop_overtaken),
    Fault("D01", "keeps its position", "RCV_POS at 1280", "0", counts=stuck(CounterType.RCV_POS)),
    Fault("D02", "keeps the order of arrival", "RCV_HWM at 65696", "65536", hears=in_order_of_arrival),
    Fault("D02", "drops what was overtaken", "2 payloads delivered in order", "0 came", hears=drop_overtaken),
    Fault("D02", "delivers other bytes", "2 payloads delivered in order", "the first 0 of them", hears=replace(is_data, flipped)),
    Fault("D03", "keeps the order of arrival", "64 payloads delivered in order", "64 came, the first 0 of them", hears=in_order_of_arrival),
    Fault("D03", "drops what was overtaken", "64 payloads delivered in order", "0 came", hears=drop_overtaken),
    Fault("D04", "keeps the order of arrival", "a message of 8192 bytes", "another one", hears=in_order_of_arrival),
    Fault("D04", "drops what was overtaken", "RCV_POS at", "", hears=drop_overtaken),
    Fault("D04", "delivers other bytes", "a message of 8192 bytes", "another one", hears=replace(is_middle_fragment, flipped)),
    Fault("D05", "keeps what came early", "rcv-hwm before the data is sent again = 0", "= 160", hears=keep_early_data),
    Fault("D05", "does not ask for the SETUP", "an eliciting status message", NEVER, says=drop(is_elicit)),
    Fault("D05", "takes none of it", "3 payloads delivered in order", "0 came", hears=once(is_setup, drop(is_data))),
    Fault("D05", "joins elsewhere", "join position = 0", "= 32", hears=edit(is_setup, term_offset=32)),
    Fault("D06", "takes it for new", "counter FLOW_CONTROL_UNDER_RUNS", "it is at", hears=replace(is_stale, late_by_three_terms)),
    Fault(
        "D06",
        "counts and stores it",
        "bytes of an old term's frame in the log = 0",
        "= 1",
        hears=replace(is_second_stale, same, late_by_three_terms),
    ),
    Fault("D06", "ignores it", "counter FLOW_CONTROL_UNDER_RUNS", "it is at", hears=drop(is_stale)),
    Fault("D06", "counts it twice", "counter FLOW_CONTROL_UNDER_RUNS", "it is at", counts=doubled(SystemCounter.FLOW_CONTROL_UNDER_RUNS)),
    Fault("D07", "asks at once", "no NAK for frames that change places", "NAK[", hears=answer(is_data, nak_of, after=1)),
    Fault("D07", "never asks", "a NAK for a frame that stays away", NEVER, says=drop(is_nak)),
    Fault("D08", "drains at once", "no status message with flag 0x40 before the data", "SM[", hears=say_end_without_recording),
    Fault("D08", "withdraws the image", "images gone before the data = []", "= [", announces=withdraw),
    Fault("D08", "takes no data behind the end", "3 payloads delivered in order", "1 came", hears=once(is_end, drop(is_open_data))),
    Fault("D08", "never drains", "a status message with flag 0x40 within 220 ms", NEVER, says=edit(is_eos_status, flags=0)),
)
