"""Faults of group K: round trips and congestion control.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import RttmFlags
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from tests.conformance.faults.channels import with_param
from tests.conformance.faults.congestion import PACKET, is_floor, is_rttm, is_shrunk, reply_of, status_of
from tests.conformance.faults.loss import first_only
from tests.conformance.injector import Fault, answer, delay, drop, edit, repeat, replace
from tests.conformance.misbehaviour import NEVER, elicit_of, frozen, is_data, is_plain, is_setup, longer, more, shifted, stuck

FAULTS: tuple[Fault, ...] = (
    Fault("K01", "says nothing", "an RTT reply within 5 ms", NEVER, hears=drop(is_rttm)),
    Fault("K01", "says it late", "an RTT reply within 5 ms", "it came after", says=delay(is_rttm, 30)),
    Fault("K01", "echoes another time", "echo_timestamp_ns = ", "echo_timestamp_ns = ", says=edit(is_rttm, echo_timestamp_ns=more(-1))),
    Fault("K01", "asks back", "flags = 0", "= 128", says=edit(is_rttm, flags=RttmFlags.REPLY)),
    Fault("K01", "names nobody", "receiver_id = ", "= 0", says=edit(is_rttm, receiver_id=0)),
    Fault("K01", "names a time of its own", "reception_delta_ns = 0", "= 1", says=edit(is_rttm, reception_delta_ns=1)),
    Fault("K01", "says it twice", "replies to one request = 1", "= 2", says=repeat(is_rttm, 0)),
    Fault("K01", "says it at length", "length of the datagram = 40", "= 72", says=replace(is_rttm, longer)),
    Fault("K01", "answers to its name alone", "an RTT reply within 5 ms", NEVER, hears=drop(is_rttm, after=1)),
    Fault(
        "K02",
        "answers for another",
        "no reply to a request for another receiver",
        "RTTM[",
        hears=first_only(is_rttm, edit(is_rttm, receiver_id=more(-1))),
    ),
    Fault("K02", "is deaf", "an RTT reply within 200 ms", NEVER, hears=drop(is_rttm)),
    Fault("K02", "answers the first after all", "echo_timestamp_ns = 2", "= 1", says=edit(is_rttm, echo_timestamp_ns=1)),
    Fault("K03", "answers without an image", "no reply without an image", "RTTM[", hears=first_only(is_rttm, answer(is_rttm, reply_of))),
    Fault("K03", "asks for a SETUP", "no reply without an image", "SM[", hears=first_only(is_rttm, answer(is_rttm, elicit_of))),
    Fault("K03", "is deaf", "an RTT reply within 200 ms", NEVER, hears=drop(is_rttm)),
    Fault("K04", "says nothing", "an RTT reply within 5 ms", NEVER, hears=drop(is_rttm)),
    Fault("K04", "says it late", "an RTT reply within 5 ms", "it came after", says=delay(is_rttm, 30)),
    Fault("K04", "names nobody", "receiver_id = ", "= 0", says=edit(is_rttm, receiver_id=0)),
    Fault("K04", "echoes another time", "echo_timestamp_ns = ", "echo_timestamp_ns = ", says=edit(is_rttm, echo_timestamp_ns=more(-1))),
    Fault("K04", "says it twice", "replies to one request = 1", "= 2", says=repeat(is_rttm, 0)),
    Fault(
        "K04",
        "answers for another session",
        "no reply for another session",
        "RTTM[",
        hears=edit(is_rttm, after=4, session_id=lambda session_id: session_id ^ 1),
    ),
    Fault("K05", "begins with the largest", "first window with room for 12", "= {16896}", asks=with_param("cc=cubic", "cc=static")),
    Fault("K05", "begins with ten always", "room for 4 packets = {5632}", "= {14080}", says=edit(is_plain, receiver_window=10 * PACKET)),
    Fault("K05", "begins with one", "room for 12 packets = {14080}", "= {1408}", says=edit(is_plain, receiver_window=PACKET)),
    Fault(
        "K06",
        "keeps silent about it",
        "a status message for the loss within 5 ms",
        "it came after",
        asks=with_param("cc=cubic", "cc=static"),
    ),
    Fault("K06", "keeps its window", "after loss 1 = 8.0", "= 10.0", says=edit(is_plain, receiver_window=10 * PACKET)),
    Fault("K06", "closes its window", "after loss 6 = 1.0", "= 0.0", says=edit(is_floor, receiver_window=0)),
    Fault("K06", "waits for its timer", "a status message for the loss within 5 ms", "it came after", says=delay(is_plain, 30, after=1)),
    Fault("K07", "never grows", "packets of window in the end = 10.0", "= 8.0", says=edit(is_plain, receiver_window=8 * PACKET)),
    Fault("K07", "grows at once", "a window of 8 to 9 packets", "10 packets", says=edit(is_plain, after=2, receiver_window=10 * PACKET)),
    Fault(
        "K07", "grows beyond", "packets of window in the end = 10.0", "= 11.0", says=edit(is_plain, after=4, receiver_window=11 * PACKET)
    ),
    Fault("K07", "shrinks further", "windows of 8 to 10 packets", "7 packets", says=edit(is_shrunk, after=1, receiver_window=7 * PACKET)),
    Fault("K07", "does not shrink", "after the loss = 8.0", "= 10.0", says=edit(is_plain, receiver_window=10 * PACKET)),
    Fault("K08", "does not ask", "an RTT request within 5 ms", NEVER, asks=with_param("cc=cubic", "cc=static")),
    Fault("K08", "asks for nothing", "an RTT request within 5 ms", NEVER, says=edit(is_rttm, flags=0)),
    Fault("K08", "names no receiver", "receiver_id = ", "= 0", says=edit(is_rttm, receiver_id=0)),
    Fault("K08", "forgets the answer", "a counter rcv-cc-cubic-rtt: ", "0", counts=stuck(CounterType.PER_IMAGE)),
    Fault("K08", "forgets the delta", "a round trip of ", "", hears=edit(is_rttm, reception_delta_ns=0)),
    Fault("K08", "shows too little", "a round trip of ", "", counts=shifted(CounterType.PER_IMAGE, -5_000_000, above=5_000_001)),
    Fault("K08", "asks again too soon", "the next RTT request 1200 ms behind the reply", "after ", says=repeat(is_rttm, 500)),
    Fault("K08", "never asks again", "the next RTT request within 1220 ms", NEVER, says=drop(is_rttm, after=2)),
    Fault("K09", "makes an image", "images with cc=bogus = 0", "= 1", asks=with_param("cc=bogus", "cc=static")),
    Fault("K09", "does not say why", "counter ERRORS above", "it did not happen", counts=frozen(SystemCounter.ERRORS)),
    Fault("K09", "reports consumption", "no status message with cc=bogus", "SM[", hears=answer(is_setup, status_of)),
    Fault("K10", "shrinks its window", "windows of the status messages = {32768}", "= ", asks=with_param("cc=static", "cc=cubic")),
    Fault("K10", "opens it later", "windows of the status messages = {32768}", "= ", says=edit(is_plain, after=1, receiver_window=65536)),
    Fault("K10", "falls silent", "a status message at position 10560", NEVER, says=drop(is_plain, after=1)),
    Fault("K11", "says nothing", "a reply with echo timestamp -1", NEVER, hears=drop(is_rttm)),
    Fault("K11", "takes no negative time", "a reply with echo timestamp -1", NEVER, says=edit(is_rttm, echo_timestamp_ns=abs)),
    Fault("K11", "stops its stream", "1 payloads delivered in order", "0 came", hears=drop(is_data)),
)
