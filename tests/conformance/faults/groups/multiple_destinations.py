"""Faults of group J.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.transport import DataFlags
from aerowire.codecs.tables.counters import CounterType
from aerowire.conformance.cases.multiple_destinations import BAD_PARAMS
from tests.conformance.faults.channels import with_another_id, with_destination, with_param
from tests.conformance.faults.data import is_at_start, is_data_at
from tests.conformance.faults.flow import KIB, capped, for_first, for_later, keep_sender, on_all_paths, on_path, withhold, worn
from tests.conformance.faults.status import be_deaf_to_later_receivers, starve_later_receivers
from tests.conformance.injector import Fault, delay, drop, edit, repeat, replace
from tests.conformance.misbehaviour import (
    NEVER,
    flipped,
    is_data,
    is_elicit,
    is_end,
    is_eos_status,
    is_nak,
    is_plain,
    is_setup,
    is_status,
    keep_receiver,
    more,
    shifted,
    withdraw,
)

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
    Fault("J10", "loses what both send", "10 payloads delivered in order", "2 came", hears=drop(is_data_at(2 * KIB))),
    Fault("J10", "hears the first only", "10 payloads delivered in order", "2 came", hears=on_path(1, drop(is_data))),
    Fault("J10", "delivers it twice", "fragments behind the last = 0", "= 1", hears=edit(is_at_start, after=1, term_offset=10 * KIB)),
    Fault("J10", "delivers other bytes", "10 payloads delivered in order", "the first 0 of them", hears=replace(is_data, flipped)),
    Fault("J11", "answers the first only", "a status message on path 1", NEVER, says=on_path(1, drop(is_plain))),
    Fault("J11", "asks the first only", "a NAK on path 1", NEVER, says=on_path(1, drop(is_nak))),
    Fault("J11", "falls silent", "status messages on the path that goes on", "the last came after", says=drop(is_plain, after=3)),
    Fault("J11", "goes on for ever", "status messages on the silent path for 5000 ms", "the last came after", hears=keep_sender),
    Fault(
        "J11", "gives up early", "status messages on the silent path for", "the last came after", says=on_path(1, drop(is_plain, after=3))
    ),
    Fault("J12", "ends with the first", "after one of two ends = 9223372036854775807", "= 2048", hears=on_all_paths(is_end)),
    Fault("J12", "never ends", "end-of-stream position 2048", "9223372036854775807", hears=edit(is_end, flags=DataFlags.UNFRAGMENTED)),
    Fault("J12", "ends at the last", "end-of-stream position 2048", "1024", hears=edit(is_end, term_offset=KIB)),
    Fault("J12", "does not say so", "a status message with flag 0x40", NEVER, says=edit(is_eos_status, flags=0)),
    Fault(
        "J13", "keeps it", "active transports 1", "2", asks=with_destination("127.0.0.1", "127.0.0.3", CommandType.REMOVE_RCV_DESTINATION)
    ),
    Fault("J13", "hears it still", "fragments from the place that is gone = 0", "= 1", hears=on_all_paths(is_data_at(KIB))),
    Fault("J13", "gives up both", "1 payloads delivered in order", "0 came", hears=on_path(0, drop(is_data_at(KIB)))),
    Fault(
        "J14",
        "takes in no IPC",
        "an image of the IPC publication",
        "it did not happen",
        asks=with_destination("aeron:ipc", "aeron:udp?endpoint=127.0.0.1:0", CommandType.ADD_RCV_DESTINATION),
    ),
    Fault(
        "J14",
        "does not spy",
        "an image of the network publication",
        "it did not happen",
        asks=with_destination("aeron-spy:aeron:udp?endpoint=127.0.0.1", "aeron-spy:aeron:udp?endpoint=127.0.0.3"),
    ),
    Fault(
        "J14",
        "keeps the image",
        "the image of the IPC publication unavailable",
        "it did not happen",
        announces=withhold(CommandType.ON_UNAVAILABLE_IMAGE),
    ),
    Fault("J14", "takes both away", "unavailable images = 0", "= 1", announces=withdraw),
    Fault("J15", "sends to no group", "a SETUP at the group", NEVER, asks=with_destination("224.20.30.41", "224.20.30.43")),
    Fault("J15", "sends to groups only", "a SETUP at the unicast address", NEVER, asks=with_destination("127.0.0.1:", "127.0.0.3:")),
    Fault("J15", "sends it twice", "datagrams at destination 1 of 2 = 1", "= 2", says=repeat(is_data, 0)),
    Fault("J15", "counts one only", "counter MDC_NUM_DEST at 2", "it is at 1", counts=capped(DESTINATIONS, 1)),
)
