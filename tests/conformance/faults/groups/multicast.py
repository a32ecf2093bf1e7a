"""Faults of group I.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

import socket
from collections.abc import Iterable

from aerowire.codecs.tables.counters import CounterType
from aerowire.conformance.cases.multicast import EVEN_GROUP, OTHER_GROUP, STRANGE_NETWORK
from aerowire.conformance.harness.bench import GROUP
from tests.conformance.faults.channels import with_param
from tests.conformance.faults.congestion import is_rttm, reply_of
from tests.conformance.faults.flow import capped
from tests.conformance.injector import Fault, Link, Passage, answer, delay, drop, edit, every_other, repeat
from tests.conformance.misbehaviour import NEVER, elicit_of, is_data, is_nak, is_plain, is_setup, more

AT_ONCE = with_param("interface=127.0.0.1", "interface=127.0.0.1|group=false")
VARIED = "NAKs after waits that differ"


def cross(link: Link, datagram: bytes) -> Iterable[Passage]:
    """Hear in one group what was sent to the other."""
    socket.socket.sendto(link, datagram, (OTHER_GROUP, link._driver[1]))
    return [(0.0, datagram)]


FAULTS: tuple[Fault, ...] = (
    Fault("I01", "answers the sender", "no answer at the sender's own socket", "SM[", hears=answer(is_data, elicit_of)),
    Fault("I01", "reports nothing", "a NAK", NEVER, says=drop(is_nak)),
    Fault("I01", "says nothing", "the first status message", "it did not happen", says=drop(is_plain)),
    Fault("I02", "takes it", "a subscription to an even group refused", "accepted", asks=with_param(EVEN_GROUP, GROUP)),
    Fault("I02", "takes none", "to be accepted", "error", asks=with_param(GROUP, EVEN_GROUP)),
    Fault("I03", "does not wait", VARIED, " ms", asks=AT_ONCE),
    Fault("I03", "waits too long", "a NAK within 30 ms", "it came after", says=delay(is_nak, 60)),
    Fault("I03", "reports nothing", "a NAK within 30 ms", NEVER, says=drop(is_nak)),
    Fault("I04", "does not wait", VARIED, " ms", asks=AT_ONCE),
    Fault("I04", "says it once", "6 NAKs or more", "1", says=drop(is_nak, after=1)),
    Fault("I04", "does not stop", "no NAK when the gap is filled", "NAK[", says=repeat(is_nak, 70)),
    Fault("I05", "does not wait", "no NAK for 6 of 10 gaps", "NAKs for", asks=AT_ONCE),
    Fault("I05", "reports nothing", "a NAK within 30 ms", NEVER, says=drop(is_nak)),
    Fault("I06", "waits all the same", "most NAKs within 4.5 ms", "in the median", asks=with_param("|group=false", "")),
    Fault("I06", "does not wait", VARIED, " ms", asks=with_param("|group=true", "")),
    Fault("I07", "does not wait", VARIED, " ms", hears=edit(is_setup, flags=0)),
    Fault("I07", "reports nothing", "a NAK within 30 ms", NEVER, says=drop(is_nak)),
    Fault("I08", "counts one only", "counter FC_RECEIVERS at 2", "it is at 1", counts=capped(CounterType.FC_RECEIVERS, 1)),
    Fault("I08", "counts each message", "fc-receivers = 2", "= 3", hears=edit(is_plain, after=2, receiver_id=more(5))),
    Fault("I09", "takes the system's", "ttl in the SETUP = 4", "= 0", asks=with_param("|ttl=4", "")),
    Fault("I09", "says another", "ttl in the SETUP = 4", "= 0", says=edit(is_setup, ttl=0)),
    Fault("I09", "sends farther", "time to live of the datagram = 4", "= 5", asks=with_param("ttl=4", "ttl=5"), says=edit(is_setup, ttl=4)),
    Fault("I10", "takes any", "a network of nobody refused", "accepted", asks=with_param(STRANGE_NETWORK, "127.0.0.0/8")),
    Fault("I10", "sends elsewhere", "a SETUP on the loopback interface", NEVER, says=drop(is_setup)),
    Fault("I11", "mixes them", "images of group 2 of another session = 0", "= 1", hears=cross),
    Fault("I11", "joins one only", "an available image", "no image", asks=with_param(OTHER_GROUP, GROUP)),
    Fault("I12", "says nothing", "an RTT reply", NEVER, hears=drop(is_rttm)),
    Fault("I12", "says it twice", "replies = 1", "= 2", says=repeat(is_rttm, 0)),
    Fault("I12", "answers the sender", "no reply at the sender's own socket", "RTTM[", hears=answer(is_rttm, reply_of)),
    Fault("I13", "answers one only", "status messages of a stream", "", says=every_other(is_plain)),
    Fault("I13", "doubles the rate", "status messages of a stream", "", says=repeat(is_plain, 100)),
)
