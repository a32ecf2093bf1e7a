"""Faults of group C: data and term rebuild.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataFlags
from aerowire.codecs.tables.counters import CounterType
from tests.conformance.injector import Fault, drop, edit, edited, replace
from tests.conformance.misbehaviour import (
    HALF_TERM,
    HEADER,
    first_frame,
    flipped,
    invalid,
    is_batch,
    is_broken_chain,
    is_data,
    is_first_fragment,
    is_lying,
    is_middle_fragment,
    is_over_run,
    is_pad,
    mended_chain,
    same,
    shifted,
    stuck,
)

FAULTS: tuple[Fault, ...] = (
    Fault("C01", "delivers other bytes", "6 payloads delivered in order", "the first 1 of them", hears=replace(is_data, flipped)),
    Fault("C01", "keeps its mark", "RCV_HWM at 32", "0", counts=stuck(CounterType.RCV_HWM)),
    Fault("C01", "keeps its position", "RCV_POS at 32", "0", counts=stuck(CounterType.RCV_POS)),
    Fault("C01", "counts without padding", "RCV_HWM at 96", "65", counts=shifted(CounterType.RCV_HWM, -31, above=32)),
    Fault("C02", "takes the first frame only", "5 payloads delivered in order", "1 came", hears=replace(is_batch, first_frame)),
    Fault("C02", "delivers other bytes", "5 payloads delivered in order", "the first 0 of them", hears=replace(is_batch, flipped)),
    Fault("C02", "keeps its mark", "RCV_HWM at 640", "0", counts=stuck(CounterType.RCV_HWM)),
    Fault("C03", "loses a flag", "flags of the fragments = [128", "= [192", hears=edit(is_first_fragment, flags=DataFlags.UNFRAGMENTED)),
    Fault("C03", "delivers other bytes", "a message of 8192 bytes", "another one", hears=replace(is_middle_fragment, flipped)),
    Fault("C03", "loses a fragment", "RCV_POS at", "0", hears=drop(is_first_fragment)),
    Fault("C05", "takes the header alone", "RCV_HWM at 1024", "32", hears=edit(is_pad, frame_length=HEADER)),
    Fault("C05", "ignores it", "RCV_HWM at 1024", "0", hears=drop(is_pad)),
    Fault("C05", "does not pass it", "RCV_POS at 1024", "0", counts=stuck(CounterType.RCV_POS)),
    Fault("C05", "loses what follows", "1 payloads delivered", "0 came", hears=drop(lambda d: b"behind" in d)),
    Fault("C06", "takes it", "INVALID_PACKETS (14) at", "it is at", hears=replace(is_lying, lambda d: edited(d, frame_length=len(d)))),
    Fault("C06", "ignores it", "INVALID_PACKETS (14) at", "it is at", hears=drop(is_lying)),
    Fault("C06", "counts it twice", "INVALID_PACKETS (14) at", "it is at", hears=replace(is_lying, same, same)),
    Fault(
        "C06",
        "counts and takes it",
        "rcv-hwm after the refused packet = 0",
        "= 64",
        hears=replace(is_lying, same, lambda d: edited(d, frame_length=len(d))),
    ),
    Fault(
        "C06",
        "counts it elsewhere too",
        "FLOW_CONTROL_OVER_RUNS unchanged",
        "it is at",
        hears=replace(is_lying, same, lambda d: edited(d, frame_length=len(d), term_offset=HALF_TERM)),
    ),
    Fault("C06", "is deaf afterwards", "1 payloads delivered", "0 came", hears=drop(lambda d: b"good data" in d)),
    Fault(
        "C08", "takes the first frame", "rcv-hwm after the refused packet = 0", "= 64", hears=replace(is_broken_chain, same, first_frame)
    ),
    Fault("C08", "mends it", "INVALID_PACKETS (14) at", "it is at", hears=replace(is_broken_chain, mended_chain)),
    Fault("C08", "ignores it", "INVALID_PACKETS (14) at", "it is at", hears=drop(is_broken_chain)),
    Fault("C08", "is deaf afterwards", "1 payloads delivered", "0 came", hears=drop(lambda d: b"good data" in d)),
    Fault("C17", "ignores it", "FLOW_CONTROL_OVER_RUNS (13) at", "it is at", hears=drop(is_over_run)),
    Fault("C17", "counts it twice", "FLOW_CONTROL_OVER_RUNS (13) at", "it is at", hears=replace(is_over_run, same, same)),
    Fault("C17", "calls it invalid", "FLOW_CONTROL_OVER_RUNS (13) at", "it is at", hears=replace(is_over_run, invalid)),
    Fault(
        "C17",
        "counts and takes it",
        "rcv-hwm after the refused packet = 0",
        "= 32768",
        hears=replace(is_over_run, same, lambda d: edited(d, term_offset=HALF_TERM - 2 * FRAME_ALIGNMENT)),
    ),
    Fault("C17", "is deaf afterwards", "1 payloads delivered", "0 came", hears=drop(lambda d: b"good data" in d)),
)
