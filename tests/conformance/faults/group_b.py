"""Faults of group B: SETUP of senders.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT
from aerowire.codecs.tables.counters import CounterType
from tests.conformance.injector import Fault, delay, drop, edit, edited, every_other, once, repeat, replace
from tests.conformance.misbehaviour import (
    HALF_TERM,
    NEVER,
    connect_by_itself,
    flipped,
    heartbeat_of,
    is_data,
    is_elicit,
    is_far_status,
    is_farthest_status,
    is_setup,
    is_status,
    is_wide_status,
    is_widest_status,
    keep_receiver,
    longer,
    lose_receiver,
    more,
    repeat_last_setup,
    same,
    shifted,
)

SETUP_FIELDS = (
    ("mtu", FRAME_ALIGNMENT),
    ("term_offset", FRAME_ALIGNMENT),
    ("ttl", 5),
    ("session_id", 1),
    ("stream_id", 1),
    ("initial_term_id", 1),
    ("active_term_id", 1),
    ("term_length", 1),
    ("flags", 64),
    ("frame_length", 4),
)
FAULTS: tuple[Fault, ...] = (
    Fault("B01", "says SETUP once", "SETUP every 98 to 120 ms", "0 intervals", says=drop(is_setup, after=1)),
    Fault("B01", "begins late", "the first SETUP within 200 ms", "it came after", says=delay(is_setup, 250)),
    Fault("B01", "doubles the rate", "SETUP every 98 to 120 ms", "ms", says=repeat(is_setup, 50)),
    Fault("B01", "halves the rate", "SETUP", "20", says=every_other(is_setup)),
    Fault("B01", "sends heartbeats", "SETUP frames only", "DATA[", says=replace(is_setup, same, heartbeat_of)),
    *(
        Fault("B02", f"gives another {name}", f"{name} = ", f"{name} = ", says=edit(is_setup, **{name: more(amount)}))
        for name, amount in SETUP_FIELDS
    ),
    Fault("B02", "says no SETUP", "a SETUP within 200 ms", NEVER, says=drop(is_setup)),
    Fault("B02", "says it at length", "length of the datagram = 40", "= 72", says=replace(is_setup, longer)),
    Fault("B05", "sends heartbeats", "SETUP frames only before", "DATA[", says=replace(is_setup, same, heartbeat_of)),
    Fault("B05", "keeps its data", "the data within 200 ms", NEVER, hears=drop(is_status)),
    Fault("B05", "sends other bytes", "payload = ", "payload = ", says=replace(is_data, flipped)),
    Fault("B05", "says no SETUP", "SETUP frames", "nothing on the wire", says=drop(is_setup)),
    Fault("B06", "never connects", "the publication to be connected within 200 ms", "it did not happen", hears=drop(is_status)),
    Fault("B06", "connects by itself", "is_connected before any status message = False", "= True", says=connect_by_itself),
    Fault("B06", "opens less", "pub-lmt = 32768", "= 32736", counts=shifted(CounterType.PUB_LMT, -32, above=0)),
    Fault("B06", "lets its sender less", "snd-lmt = 32768", "= 32736", counts=shifted(CounterType.SND_LMT, -32, above=0)),
    Fault("B06", "goes on with SETUP", "no SETUP after the status message", "SETUP[", says=repeat(is_setup, 100, 200, 300)),
    Fault("B07", "says no SETUP", "an elicited SETUP within 120 ms", NEVER, hears=drop(is_elicit)),
    Fault("B07", "says SETUP late", "an elicited SETUP within 120 ms", "it came after", says=once(is_elicit, delay(is_setup, 200))),
    Fault("B07", "says SETUP twice", "SETUP frames for one request = 1", "= 2", says=once(is_elicit, repeat(is_setup, 100))),
    Fault("B07", "says SETUP unasked", "no SETUP while connected", "SETUP[", says=repeat(is_setup, 100, 200)),
    Fault("B08", "answers every request", "SETUP frames at least 100 ms apart", "the closest", hears=repeat_last_setup),
    Fault("B08", "answers none", "at least one SETUP", "none", hears=drop(is_elicit)),
    Fault("B12", "takes it", "STATUS_MESSAGES_REJECTED", "it is at", hears=edit(is_far_status, consumption_term_offset=HALF_TERM)),
    Fault("B12", "counts it twice", "STATUS_MESSAGES_REJECTED", "it is at", hears=replace(is_far_status, same, same)),
    Fault(
        "B12",
        "counts and takes it",
        "is_connected after the rejected status message = False",
        "= True",
        hears=replace(is_far_status, same, lambda d: edited(d, consumption_term_offset=0)),
    ),
    Fault(
        "B12",
        "refuses the farthest",
        "the publication to be connected",
        "it did not happen",
        hears=edit(is_farthest_status, consumption_term_offset=HALF_TERM + FRAME_ALIGNMENT),
    ),
    Fault("B14", "clips it", "INVALID_PACKETS (14) at", "it is at", hears=edit(is_wide_status, receiver_window=HALF_TERM)),
    Fault("B14", "counts it twice", "INVALID_PACKETS (14) at", "it is at", hears=replace(is_wide_status, same, same)),
    Fault(
        "B14",
        "counts and takes it",
        "is_connected after the invalid status message = False",
        "= True",
        hears=replace(is_wide_status, same, lambda d: edited(d, receiver_window=HALF_TERM)),
    ),
    Fault(
        "B14",
        "counts it as received",
        "status messages counted as received = ",
        "received = ",
        hears=replace(is_wide_status, same, lambda d: edited(d, receiver_window=0, session_id=1)),
    ),
    Fault(
        "B14",
        "refuses the widest",
        "the publication to be connected",
        "it did not happen",
        hears=edit(is_widest_status, receiver_window=HALF_TERM + 1),
    ),
    Fault("B18", "stays connected", "the connection to end within", "it did not happen", hears=keep_receiver),
    Fault("B18", "gives up early", "a connection for 1000 ms", "it ended within", hears=lose_receiver),
    Fault("B18", "keeps its limit", "pub-lmt at snd-pos 160", "= 192", counts=shifted(CounterType.PUB_LMT, 32, above=0, below=HALF_TERM)),
    Fault("B18", "loses its position", "snd-pos = 160", "= 128", counts=shifted(CounterType.SND_POS, -32, above=0)),
)
