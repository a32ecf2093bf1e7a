"""Faults of group L: liveness.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, TERM_LENGTH_MIN, DataFlags, SmFlags, StatusMessageEncoder
from aerowire.codecs.tables.counters import SystemCounter
from tests.conformance.injector import Announce, Fault, answer, delay, drop, edit, edited, every_other, read, repeat, replace
from tests.conformance.misbehaviour import (
    EOS_HEARTBEAT,
    HEADER,
    NEVER,
    doubled,
    frozen,
    is_end,
    is_eos_status,
    is_heartbeat,
    is_nak,
    is_pad,
    is_plain,
    is_setup,
    linger_on,
    longer,
    more,
    same,
    say_end_without_recording,
    withdraw,
)

# Counters of publications and images that were revoked.
PUBLICATIONS, IMAGES = SystemCounter.PUBLICATIONS_REVOKED, SystemCounter.PUBLICATION_IMAGES_REVOKED


def is_edge(datagram: bytes) -> bool:
    """The heartbeat of L11 that is just near enough."""
    return is_heartbeat(datagram) and read(datagram).term_offset == 0


def is_far_back(datagram: bytes) -> bool:
    """The heartbeat of L11 that is not."""
    return is_heartbeat(datagram) and read(datagram).term_offset == TERM_LENGTH_MIN - FRAME_ALIGNMENT


def is_afterwards(datagram: bytes) -> bool:
    return b"good data" in datagram


def at_edge(heartbeat: bytes) -> bytes:
    return edited(heartbeat, term_offset=0, term_id=more(1))


def eos_status_of(heartbeat: bytes) -> bytes:
    """A status message of a finished stream."""
    frame = read(heartbeat)
    return StatusMessageEncoder.encode(flags=SmFlags.EOS, session_id=frame.session_id, stream_id=frame.stream_id)


def keep(event: CommandType) -> Announce:
    """Announce everything but one kind of news."""
    return lambda type_id, body: [] if type_id == event else [(type_id, body)]


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
    Fault("L04", "says the end", "flags = 192", "flags = 224", says=edit(is_heartbeat, flags=EOS_HEARTBEAT)),
    Fault("L04", "falls silent", "heartbeats while the publication lingers", "none", says=drop(is_heartbeat, after=2)),
    Fault("L05", "lingers", "silence 500 ms after the end", "a heartbeat after", says=repeat(is_heartbeat, 650)),
    Fault("L06", "says the end only", "a heartbeat with flags 0xF0", NEVER, says=edit(is_end, flags=EOS_HEARTBEAT)),
    Fault("L06", "does not count", "counter PUBLICATIONS_REVOKED", "it is at", counts=frozen(PUBLICATIONS)),
    Fault("L06", "keeps the image", "the revoked image unavailable", "it is still there", hears=drop(is_end)),
    Fault("L06", "drains the image", "the revoked image unavailable", "it is still there", hears=edit(is_end, flags=EOS_HEARTBEAT)),
    Fault("L06", "does not count the image", "counter PUBLICATION_IMAGES_REVOKED", "it is at", counts=frozen(IMAGES)),
    Fault("L07", "keeps it", "the silent image unavailable", "it is still there", announces=keep(CommandType.ON_UNAVAILABLE_IMAGE)),
    Fault("L07", "gives it up early", "an image that lives for 1000 ms", "it went after", announces=withdraw),
    Fault("L09", "asks for nothing", "a NAK within", NEVER, says=drop(is_nak)),
    Fault("L09", "asks for the first only", "range of the NAK = (160, 320)", "(160, 160)", says=edit(is_nak, length=160)),
    Fault("L09", "ends early", "no status message with flag 0x40 before", "SM[", hears=answer(is_end, eos_status_of)),
    Fault("L09", "says no end", "a status message with flag 0x40 within", NEVER, says=edit(is_eos_status, flags=0)),
    Fault("L10", "says so twice", "5 status messages with flag 0x40 before", "2", says=drop(is_eos_status, after=2)),
    Fault("L10", "keeps it", "the drained image unavailable", "it is still there", announces=keep(CommandType.ON_UNAVAILABLE_IMAGE)),
    Fault("L10", "goes at once", "5 status messages with flag 0x40 before", "0", announces=withdraw),
    Fault("L11", "ignores it", "FLOW_CONTROL_UNDER_RUNS (12) at", "it is at", hears=drop(is_far_back)),
    Fault("L11", "takes it too", "HEARTBEATS_RECEIVED (10) at", "it is at", hears=replace(is_far_back, same, at_edge)),
    Fault("L11", "draws the line earlier", "HEARTBEATS_RECEIVED (10) at", "it is at", hears=drop(is_edge)),
    Fault("L11", "is deaf afterwards", "1 payloads delivered", "0 came", hears=drop(is_afterwards)),
    Fault("L12", "counts none", "HEARTBEATS_RECEIVED (10) at", "it is at", counts=frozen(SystemCounter.HEARTBEATS_RECEIVED)),
    Fault("L12", "counts twice", "HEARTBEATS_RECEIVED (10) at", "it is at", counts=doubled(SystemCounter.HEARTBEATS_RECEIVED)),
    Fault("L12", "hears every other", "HEARTBEATS_RECEIVED (10) at", "it is at", hears=every_other(is_heartbeat)),
    Fault("L12", "is deaf afterwards", "1 payloads delivered", "0 came", hears=drop(is_afterwards)),
    Fault("L13", "lingers", "silence 500 ms after the end", "a heartbeat after", hears=drop(is_eos_status)),
    Fault("L13", "says no end", "a heartbeat with flag 0x20", NEVER, says=edit(is_end, flags=DataFlags.UNFRAGMENTED)),
    Fault("L17", "stops its heartbeats", "heartbeats every 98 to 120 ms", "0 intervals", says=drop(is_heartbeat)),
    Fault("L17", "halves the rate", "heartbeats", "20", says=every_other(is_heartbeat)),
    Fault("L17", "sends none", "SETUPs for those who ask", "none", says=drop(is_setup, after=1)),
    Fault("L14", "lets it live", "the silent client declared dead", "it is not", announces=keep(CommandType.ON_CLIENT_TIMEOUT)),
    Fault("L14", "does not count", "counter CLIENT_TIMEOUTS", "it is at", counts=frozen(SystemCounter.CLIENT_TIMEOUTS)),
    Fault("L14", "keeps its publication", "a heartbeat with flag 0x20", NEVER, says=edit(is_end, flags=DataFlags.UNFRAGMENTED)),
    Fault("L15", "keeps its publication", "a heartbeat with flag 0x20", NEVER, says=edit(is_end, flags=DataFlags.UNFRAGMENTED)),
    Fault("L15", "keeps its counter", "heartbeat counter unavailable", "it is not", announces=keep(CommandType.ON_UNAVAILABLE_COUNTER)),
    Fault("L16", "does not pad", "padding for the claimed frame", NEVER, says=drop(is_pad)),
    Fault("L16", "pads too much", "term offset and length = (64, 160)", "(64, 192)", says=edit(is_pad, frame_length=more(32))),
    Fault("L16", "does not count", "counter UNBLOCKED_PUBLICATIONS", "it is at", counts=frozen(SystemCounter.UNBLOCKED_PUBLICATIONS)),
    Fault("L18", "leaves its last sign of life", "last sign of life = -1", "= 1", beats=abs),
)
