"""Faults of group N: wrong ids, out of the window.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from collections.abc import Iterable

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import CounterType
from tests.conformance.faults.congestion import is_rttm
from tests.conformance.faults.news import refuse_otherwise
from tests.conformance.faults.strangers import (
    adopt,
    at_image,
    counted_and_taken,
    counted_twice,
    drop_foreign,
    find_foreign_invalid,
    not_heard,
    of_other_terms,
    taken,
)
from tests.conformance.injector import Announce, Fault, answer, drop, edit, once
from tests.conformance.misbehaviour import (
    HALF_TERM,
    NEVER,
    announce_twice,
    elicit_of,
    is_data,
    is_error,
    is_nak,
    is_plain,
    is_setup,
    is_status,
    more,
    shifted,
    withdraw,
)


def add_what_clashes() -> Announce:
    """Confirm a publication that was refused, as if it were the one before."""
    ready: list[bytes] = []

    def announce(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
        if type_id == CommandType.ON_EXCLUSIVE_PUBLICATION_READY:
            ready[:] = [body]
        elif type_id == CommandType.ON_ERROR and ready:
            forged = bytearray(ready[0])
            commands.PublicationReadyEncoder(forged).correlation_id = commands.ErrorResponseDecoder(body).offending_correlation_id
            type_id, body = CommandType.ON_EXCLUSIVE_PUBLICATION_READY, bytes(forged)
        yield type_id, body

    return announce


def refuse_after_refusal() -> Announce:
    """Refuse the publication behind one that was refused."""
    refused: list[bytes] = []

    def announce(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
        if type_id == CommandType.ON_ERROR:
            refused[:] = [body]
        elif type_id == CommandType.ON_EXCLUSIVE_PUBLICATION_READY and refused:
            forged = bytearray(refused.pop())
            commands.ErrorResponseEncoder(forged).offending_correlation_id = commands.PublicationReadyDecoder(body).correlation_id
            type_id, body = CommandType.ON_ERROR, bytes(forged)
        yield type_id, body

    return announce


FAULTS: tuple[Fault, ...] = (
    *(
        fault
        for case_id in ("N01", "N02")
        for fault in (
            Fault(case_id, "takes its NAK", "RETRANSMITS_SENT unchanged", "it is at", hears=adopt(is_nak)),
            Fault(case_id, "takes its status", "snd-lmt after a stranger's status message = 32768", "= 4", hears=adopt(is_plain)),
            Fault(case_id, "answers its RTTM", "no answer to a stranger", "RTTM[", hears=adopt(is_rttm)),
            Fault(case_id, "takes its ERR", "errors announced for a stranger's ERR = 0", "= 1", hears=adopt(is_error)),
            Fault(case_id, "finds it invalid", "INVALID_PACKETS unchanged", "it is at", hears=find_foreign_invalid(is_nak)),
            Fault(case_id, "counts none", "_RECEIVED", "it is at", hears=drop_foreign),
            Fault(case_id, "answers its RTTM at the image", "no answer to a stranger's RTTM", "RTTM[", hears=at_image(adopt(is_rttm))),
            Fault(case_id, "answers no RTTM", "an answer to the stream's own RTTM within 200 ms", NEVER, hears=drop(is_rttm)),
            Fault(case_id, "answers no RTTM at the image", "an answer to the image's own RTTM", NEVER, hears=at_image(drop(is_rttm))),
            Fault(case_id, "is deaf to NAK", "a retransmission within 200 ms", NEVER, hears=drop(is_nak)),
            Fault(case_id, "is deaf to its ERR", "its own ERR announced", "it did not happen", hears=drop(is_error, after=1)),
        )
    ),
    Fault("N01", "answers for another session", "session_id of the answer", "= ", says=at_image(edit(is_rttm, session_id=more(1)))),
    Fault("N02", "answers for another stream", "stream_id of the answer", "= ", says=at_image(edit(is_rttm, stream_id=more(1)))),
    *(
        Fault("N03", name, expected, actual, hears=of_other_terms(is_plain, "consumption_term_id", become))
        for name, expected, actual, become in (
            ("takes it", "STATUS_MESSAGES_REJECTED (44) at", "it is at", taken),
            ("counts it twice", "STATUS_MESSAGES_REJECTED (44) at", "it is at", counted_twice),
            ("counts and takes it", "is_connected after the rejected status messages = False", "= True", counted_and_taken),
        )
    ),
    Fault(
        "N03",
        "moves its limit",
        "snd-lmt after the rejected status messages = 0",
        "= 32",
        counts=shifted(CounterType.SND_LMT, 32, below=1),
    ),
    Fault("N03", "hears no other either", "the publication to be connected", "it did not happen", hears=drop(is_status, after=5)),
    Fault("N04", "takes them", "no data for a NAK of another term", "DATA[", hears=of_other_terms(is_nak, "term_id", taken)),
    Fault("N04", "counts none", "NAK_MESSAGES_RECEIVED (6) at", "it is at", hears=of_other_terms(is_nak, "term_id", not_heard)),
    Fault("N04", "hears no other either", "a retransmission within 200 ms", NEVER, hears=drop(is_nak, after=2)),
    *(
        Fault("N05", name, expected, actual, hears=of_other_terms(is_data, "term_id", become))
        for name, expected, actual, become in (
            ("takes it", "FLOW_CONTROL_OVER_RUNS (13) at", "it is at", taken),
            ("counts it twice", "FLOW_CONTROL_OVER_RUNS (13) at", "it is at", counted_twice),
            ("counts and takes it", "rcv-hwm after the refused packet = 0", "= 64", counted_and_taken),
        )
    ),
    Fault("N05", "hears no other either", "1 payloads delivered in order", "0 came", hears=drop(is_data, after=4)),
    *(
        fault
        for case_id in ("N06", "N07")
        for fault in (
            Fault(case_id, "makes a second image", "images of the session = 1", "= 2", announces=announce_twice),
            Fault(case_id, "ends the image", "images that went = 0", "= 1", announces=withdraw),
            Fault(case_id, "asks for a SETUP", "no request for a SETUP", "SM[", hears=answer(is_setup, elicit_of, after=1)),
            Fault(
                case_id,
                "follows it",
                "consumption_term_id after the other SETUP",
                "= ",
                says=once(is_data, edit(is_plain, consumption_term_id=more(1))),
            ),
            Fault(
                case_id,
                "opens another window",
                "receiver_window after the other SETUP = 32768",
                "= 65536",
                says=once(is_data, edit(is_plain, receiver_window=2 * HALF_TERM)),
            ),
            Fault(case_id, "finds it invalid", "INVALID_PACKETS unchanged", "it is at", hears=edit(is_setup, after=1, version=1)),
            Fault(case_id, "falls silent", "a status message of the live image", NEVER, says=once(is_data, drop(is_plain))),
            Fault(case_id, "loses the stream", "1 payloads delivered in order", "0 came", hears=drop(is_data, after=1)),
        )
    ),
    Fault("N08", "adds it", "to be refused with error 1", "it was added", announces=add_what_clashes()),
    Fault("N08", "refuses it otherwise", "to be refused with error 1", "error 11", announces=refuse_otherwise()),
    Fault("N08", "refuses the third", "to be accepted", "error 1", announces=refuse_after_refusal()),
    Fault("N08", "ends the first", "the publication to be connected", "it did not happen", hears=drop(is_status)),
)
