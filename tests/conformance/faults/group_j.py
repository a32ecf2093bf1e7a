"""Faults of group J.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import CounterType
from aerowire.conformance.cases.group_j import BAD_PARAMS
from tests.conformance.faults.channels import with_another_id, with_destination, with_param
from tests.conformance.faults.flow import capped, for_first, for_later, worn
from tests.conformance.faults.status import be_deaf_to_later_receivers, starve_later_receivers
from tests.conformance.injector import Fault, delay, drop, edit, repeat
from tests.conformance.misbehaviour import NEVER, is_data, is_elicit, is_plain, is_setup, is_status, keep_receiver, more, shifted

DESTINATIONS = CounterType.MDC_NUM_DEST
FAULTS: tuple[Fault, ...] = (
    Fault("J01", "sends all the same", "no datagram before a status message", "SETUP[", asks=with_param("|control-mode=dynamic", "")),
    Fault("J01", "counts one", "destinations before a status message = 0", "= 1", counts=shifted(DESTINATIONS, 1)),
    Fault("J01", "hears nobody", "counter MDC_NUM_DEST at 1", "it is at 0", hears=drop(is_elicit)),
    Fault("J01", "keeps its SETUP", "a SETUP", NEVER, says=drop(is_setup)),
    Fault("J02", "sends to the first only", "the data at destination 2 of 2", NEVER, says=starve_later_receivers),
    Fault("J02", "takes no request", "counter MDC_NUM_DEST at 1", "it is at 0", hears=drop(is_elicit)),
    Fault("J02", "takes requests only", "counter MDC_NUM_DEST at 2", "it is at 1", hears=drop(is_plain)),
    Fault("J02", "sends it twice", "datagrams at destination 1 of 2 = 1", "= 2", says=repeat(is_data, 0)),
    Fault("J03", "keeps it", "counter MDC_NUM_DEST at 1 within", "it is at 2", hears=for_later(keep_receiver)),
    Fault("J03", "drops it early", "2 destinations for 5000 ms", "1 after", counts=worn(DESTINATIONS, 10)),
    Fault("J03", "knows one only", "counter MDC_NUM_DEST at 2", "it is at 1", counts=capped(DESTINATIONS, 1)),
    Fault("J03", "drops both", "counter MDC_NUM_DEST at 1 within", "it is at 0", counts=shifted(DESTINATIONS, -1, below=2)),
    Fault("J04", "takes it for the same", "counter MDC_NUM_DEST at 2", "it is at 1", hears=be_deaf_to_later_receivers),
    Fault("J04", "sends to the first only", "the data at destination 2 of 2", NEVER, says=starve_later_receivers),
    Fault("J05", "takes it for another", "destinations = 1", "= 2", hears=for_later(edit(is_plain, receiver_id=more(1)))),
    Fault("J05", "does not hear it", "STATUS_MESSAGES_RECEIVED", "it is at", hears=be_deaf_to_later_receivers),
    Fault("J05", "leaves the first", "the data at destination 1 of 1", NEVER, says=for_first(drop(is_data))),
    Fault("J06", "adds it", "no datagram to who was not added", "[", asks=with_param("control-mode=manual", "control-mode=dynamic")),
    Fault("J06", "counts it", "destinations = 0", "= 1", counts=shifted(DESTINATIONS, 1)),
    Fault("J06", "hears nobody", "the publication to be connected", "it did not happen", hears=drop(is_status)),
    Fault("J06", "keeps its data", "the data at destination 1 of 1", NEVER, says=drop(is_data)),
    Fault("J07", "adds another", "a SETUP", NEVER, asks=with_destination("127.0.0.1", "127.0.0.3")),
    Fault(
        "J07",
        "removes nothing",
        "counter MDC_NUM_DEST at 1",
        "it is at 2",
        asks=with_destination("127.0.0.1", "127.0.0.3", CommandType.REMOVE_DESTINATION),
    ),
    Fault("J07", "knows no ids", "counter MDC_NUM_DEST at 1", "it is at 2", asks=with_another_id),
    Fault("J07", "counts one only", "counter MDC_NUM_DEST at 2", "it is at 1", counts=capped(DESTINATIONS, 1)),
    Fault("J07", "sends it twice", "datagrams at destination 1 of 1 = 1", "= 2", says=repeat(is_data, 0)),
    *(
        Fault(
            "J08",
            f"takes {param}",
            f"a destination with {param} refused",
            "accepted",
            asks=with_destination(f"|{param}", "", CommandType.ADD_DESTINATION),
        )
        for param in BAD_PARAMS
    ),
    Fault(
        "J08",
        "takes port 0",
        "destination aeron:udp?en refused",
        "accepted",
        asks=with_destination(":0", ":40123", CommandType.ADD_DESTINATION),
    ),
    Fault("J08", "takes a spy", "destination aeron-spy:ae refused", "accepted", asks=with_destination("aeron-spy:", "")),
    *(
        Fault(
            "J08",
            f"takes {param} of a subscription",
            f"a destination of a subscription with {param} refused",
            "accepted",
            asks=with_destination(f"|{param}", "", CommandType.ADD_RCV_DESTINATION),
        )
        for param in BAD_PARAMS
    ),
    Fault("J08", "takes none", "to be accepted", "error", asks=with_destination("?", "?mtu=1408|", CommandType.ADD_DESTINATION)),
    Fault(
        "J09",
        "begins with the same",
        "each destination first in 10 of 40 rounds at least",
        "one of them in",
        says=for_first(delay(is_data, 1)),
    ),
)
