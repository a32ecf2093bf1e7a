"""Faults of group L: liveness.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import DataFlags, SmFlags
from aerowire.codecs.tables.counters import SystemCounter
from tests.conformance.injector import Fault, delay, drop, edit, every_other, repeat, replace
from tests.conformance.misbehaviour import (
    EOS_HEARTBEAT,
    HEADER,
    frozen,
    is_end,
    is_eos_status,
    is_heartbeat,
    is_plain,
    linger_on,
    longer,
    more,
    say_end_without_recording,
)

FAULTS: tuple[Fault, ...] = (
    Fault("L01", "falls silent", "heartbeats every 98 to 120 ms", "0 intervals", says=drop(is_heartbeat)),
    Fault("L01", "halves the rate", "heartbeats", "20", says=every_other(is_heartbeat)),
    Fault("L01", "doubles the rate", "heartbeats every 98 to 120 ms", "ms", says=repeat(is_heartbeat, 50)),
    Fault("L01", "does not count", "HEARTBEATS_SENT up by", "up by 0", counts=frozen(SystemCounter.HEARTBEATS_SENT)),
    Fault("L02", "names another place", "term and offset = ", "term and offset = ", says=edit(is_heartbeat, term_offset=more(-32))),
    Fault("L02", "sets a flag", "flags = 192", "flags = 224", says=edit(is_heartbeat, flags=EOS_HEARTBEAT)),
    Fault("L02", "gives it a length", "a heartbeat within 200 ms", "DATA[", says=edit(is_heartbeat, frame_length=HEADER)),
    Fault("L02", "says it at length", "length of the datagram = 32", "= 64", says=replace(is_heartbeat, longer)),
    Fault("L02", "names another session", "session_id = ", "session_id = ", says=edit(is_heartbeat, session_id=more(1))),
    Fault(
        "L03", "does not say so", "heartbeats with the end-of-stream flag", "without it", says=edit(is_end, flags=DataFlags.UNFRAGMENTED)
    ),
    Fault("L03", "gives up early", "end-of-stream heartbeats for 600 ms", "the last one came", says=drop(is_end, after=4)),
    Fault("L03", "goes on", "silence 1000 ms after the close", "a heartbeat after", says=linger_on),
    Fault("L03", "halves the rate", "end-of-stream heartbeats", "20", says=every_other(is_end)),
    Fault("L03", "sets a third flag", "flags = 224", "flags = 240", says=edit(is_end, flags=more(DataFlags.REVOKED))),
    Fault("L03", "ends elsewhere", "term and offset = ", "term and offset = ", says=edit(is_end, term_offset=more(32))),
    Fault("L08", "does not say so", "a status message with flag 0x40 within 220 ms", "SM[", says=edit(is_eos_status, flags=0)),
    Fault("L08", "says so late", "a status message with flag 0x40 within 220 ms", "it came after", says=delay(is_eos_status, 300)),
    Fault("L08", "always says so", "no status message with flag 0x40 before", "SM[", says=edit(is_plain, flags=SmFlags.EOS)),
    Fault("L08", "does not record it", "end-of-stream position 192", "9223372036854775807", hears=say_end_without_recording),
)
