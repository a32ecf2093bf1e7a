"""Every case of the catalogue, the faults that it must find, and the words that show it failed for the right reason.

The first fault of a case is the plainest way to break its requirement.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.transport import (
    FRAME_ALIGNMENT,
    TERM_LENGTH_MIN,
    DataFlags,
    DataHeaderDecoder,
    DataHeaderEncoder,
    FrameHeaderEncoder,
    FrameType,
    SmFlags,
    StatusMessageEncoder,
)
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.conformance.harness.ring import align
from aerowire.conformance.rules import is_valid_frame
from tests.conformance.injector import (
    Count,
    Fault,
    Link,
    Passage,
    answer,
    delay,
    drop,
    edit,
    edited,
    every_other,
    once,
    passed,
    read,
    repeat,
    replace,
    type_of,
)

HALF_TERM = TERM_LENGTH_MIN // 2
HEADER = DataHeaderDecoder.ENCODED_LENGTH
EOS_HEARTBEAT = int(DataFlags.UNFRAGMENTED | DataFlags.EOS)
# What the cases of the groups E and F send: frames of 200 and of 1000 bytes.
LOST_FRAME, PUBLISHED_FRAME = (align(HEADER + length, FRAME_ALIGNMENT) for length in (200, 1000))
NEVER = "it did not come"

# -- what a datagram is -----------------------------------------------------------------------------------------------


def is_setup(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.SETUP


def is_nak(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.NAK


def is_status(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.SM


def is_elicit(datagram: bytes) -> bool:
    return is_status(datagram) and bool(read(datagram).flags & SmFlags.SEND_SETUP)


def is_plain(datagram: bytes) -> bool:
    return is_status(datagram) and not is_elicit(datagram)


def is_moved(datagram: bytes) -> bool:
    return is_plain(datagram) and read(datagram).consumption_term_offset != 0


def is_eos_status(datagram: bytes) -> bool:
    return is_plain(datagram) and bool(read(datagram).flags & SmFlags.EOS)


def is_far_status(datagram: bytes) -> bool:
    return is_plain(datagram) and read(datagram).consumption_term_offset > HALF_TERM


def is_farthest_status(datagram: bytes) -> bool:
    return is_plain(datagram) and read(datagram).consumption_term_offset == HALF_TERM


def is_wide_status(datagram: bytes) -> bool:
    return is_plain(datagram) and read(datagram).receiver_window > HALF_TERM


def is_widest_status(datagram: bytes) -> bool:
    return is_plain(datagram) and read(datagram).receiver_window == HALF_TERM


def is_heartbeat(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.DATA and len(datagram) == HEADER and read(datagram).frame_length == 0


def is_end(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.DATA and bool(read(datagram).flags & DataFlags.EOS)


def is_pad(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.PAD


def is_data(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.DATA and not is_heartbeat(datagram)


def is_open_data(datagram: bytes) -> bool:
    return is_data(datagram) and not is_end(datagram)


def is_batch(datagram: bytes) -> bool:
    return is_data(datagram) and len(datagram) > align(read(datagram).frame_length, FRAME_ALIGNMENT)


def is_broken_chain(datagram: bytes) -> bool:
    return is_batch(datagram) and read(datagram).term_offset == 0


def is_first_fragment(datagram: bytes) -> bool:
    return is_data(datagram) and read(datagram).flags == DataFlags.BEGIN


def is_middle_fragment(datagram: bytes) -> bool:
    return is_data(datagram) and read(datagram).flags == 0


def is_lying(datagram: bytes) -> bool:
    return is_data(datagram) and read(datagram).frame_length > len(datagram)


def is_over_run(datagram: bytes) -> bool:
    return is_data(datagram) and read(datagram).term_offset == HALF_TERM - FRAME_ALIGNMENT


def is_fill(datagram: bytes) -> bool:
    return is_data(datagram) and read(datagram).term_offset == 3 * LOST_FRAME


def is_early_nak(datagram: bytes) -> bool:
    return is_nak(datagram) and read(datagram).term_offset == 10 * PUBLISHED_FRAME


def is_no_frame(datagram: bytes) -> bool:
    return not is_valid_frame(datagram)


def is_negative(datagram: bytes) -> bool:
    return is_data(datagram) and read(datagram).frame_length < 0


def is_unaligned(datagram: bytes) -> bool:
    return is_data(datagram) and len(datagram) % FRAME_ALIGNMENT != 0


# -- what it becomes --------------------------------------------------------------------------------------------------


def same(datagram: bytes) -> bytes:
    return datagram


def longer(datagram: bytes) -> bytes:
    return datagram + bytes(FRAME_ALIGNMENT)


def flipped(datagram: bytes) -> bytes:
    """The first byte of the payload changed."""
    changed = bytearray(datagram)
    if len(changed) > HEADER:
        changed[HEADER] ^= 0xFF
    return bytes(changed)


def first_frame(datagram: bytes) -> bytes:
    return datagram[: align(read(datagram).frame_length, FRAME_ALIGNMENT)]


def mended_chain(datagram: bytes) -> bytes:
    changed = bytearray(datagram)
    length = len(first_frame(datagram))
    DataHeaderEncoder(changed, length).term_offset = length
    return bytes(changed)


def invalid(datagram: bytes) -> bytes:
    """A frame of a version that does not exist."""
    changed = bytearray(datagram)
    FrameHeaderEncoder(changed).version = 1
    return bytes(changed)


def elicit_of(datagram: bytes) -> bytes:
    data = read(datagram)
    return StatusMessageEncoder.encode(flags=SmFlags.SEND_SETUP, session_id=data.session_id, stream_id=data.stream_id)


def heartbeat_of(setup: bytes) -> bytes:
    ids = {"session_id": read(setup).session_id, "stream_id": read(setup).stream_id, "term_id": read(setup).active_term_id}
    return DataHeaderEncoder.encode(frame_length=0, flags=DataFlags.UNFRAGMENTED, **ids)


def more(amount: int) -> Any:
    """A change that adds to the old value."""
    return lambda value: value + amount


# -- faults that need more than one datagram --------------------------------------------------------------------------


def repeat_last_setup(link: Link, datagram: bytes) -> Iterable[Passage]:
    """Answer each request with a SETUP at once."""
    if is_elicit(datagram):
        link.say(next(said for said in reversed(link.said) if is_setup(said)))
    return [(0.0, datagram)]


def keep_receiver(link: Link, datagram: bytes) -> Iterable[Passage]:
    """Behave as if the receiver still spoke for two seconds."""
    for after_ms in range(300, 2100, 300):
        link.tell_later(datagram, after_ms)
    return [(0.0, datagram)]


def lose_receiver(link: Link, datagram: bytes) -> Iterable[Passage]:
    """Behave as if the receiver had taken its leave early."""
    link.tell_later(edited(datagram, flags=SmFlags.EOS), 400)
    return [(0.0, datagram)]


def linger_on(link: Link, datagram: bytes) -> Iterable[Passage]:
    """Go on with the heartbeats of a finished stream for another while."""
    count = passed(link, is_end) if is_end(datagram) else 0
    if count > 4:
        return []
    return [(100.0 * index, datagram) for index in range(10 if count == 4 else 1)]


def connect_by_itself(link: Link, datagram: bytes) -> Iterable[Passage]:
    """Behave as if a receiver had answered before the SETUP was seen."""
    if not is_setup(datagram):
        return [(0.0, datagram)]
    setup = read(datagram)
    ids = {"session_id": setup.session_id, "stream_id": setup.stream_id, "consumption_term_id": setup.active_term_id}
    link.tell(StatusMessageEncoder.encode(receiver_window=HALF_TERM, receiver_id=1, **ids))
    return [(50.0, datagram)]


def say_end_without_recording(link: Link, datagram: bytes) -> Iterable[Passage]:
    """Confirm the end of the stream and forget about it."""
    if not is_end(datagram):
        return [(0.0, datagram)]
    link.say(edited(next(said for said in reversed(link.said) if is_plain(said)), flags=int(SmFlags.EOS)))
    return []


def thin_naks(link: Link, datagram: bytes) -> Iterable[Passage]:
    """Let no more than three of the NAKs out, 30 ms apart."""
    return [(30.0 * passed(link, is_nak), datagram)] if passed(link, is_nak) < 3 or not is_nak(datagram) else []


def announce_twice(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
    """Announce every image again under another id."""
    yield type_id, body
    if type_id == CommandType.ON_AVAILABLE_IMAGE:
        second = bytearray(body)
        encoder = commands.AvailableImageEncoder(second)
        encoder.correlation_id = encoder.correlation_id + 1
        yield type_id, bytes(second)


def withdraw(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
    """Announce every image as gone again."""
    yield type_id, body
    if type_id == CommandType.ON_AVAILABLE_IMAGE:
        image = commands.AvailableImageDecoder(body)
        ids = {"correlation_id": image.correlation_id, "subscription_registration_id": image.subscription_registration_id}
        gone = commands.UnavailableImageEncoder.encode(**ids, stream_id=image.stream_id, channel="aeron:udp")
        yield CommandType.ON_UNAVAILABLE_IMAGE, gone


def stuck(counter: CounterType) -> Count:
    """A counter that never leaves 0."""
    return lambda kind, value, _: 0 if kind is counter else value


def frozen(counter: SystemCounter) -> Count:
    """A counter that stays where it was first seen."""
    return lambda kind, value, first: first if kind is counter else value


def doubled(counter: SystemCounter) -> Count:
    """A counter that moves twice as far."""
    return lambda kind, value, first: 2 * value - first if kind is counter else value


def shifted(counter: CounterType, amount: int, *, above: int = -1, below: int = 2**63) -> Count:
    """A counter off by `amount` while it stands between the bounds."""
    return lambda kind, value, _: value + amount if kind is counter and above < value < below else value


RECEIVER_SETUP = (
    Fault("A01", "never asks", "an eliciting status message within 5 ms", NEVER, says=drop(is_elicit)),
    Fault("A01", "asks twice", "status messages for one DATA frame = 1", "= 2", says=repeat(is_elicit, 0)),
    Fault("A01", "asks late", "an eliciting status message within 5 ms", "it came after", says=delay(is_elicit, 30)),
    Fault("A01", "asks without the flag", "an eliciting status message", "SM[", says=edit(is_elicit, flags=0)),
    Fault("A01", "asks with a second flag", "flags = 128", "flags = 192", says=edit(is_elicit, flags=more(SmFlags.EOS))),
    Fault("A01", "asks with a window", "receiver_window = 0", "= 128", says=edit(is_elicit, receiver_window=128)),
    Fault("A01", "asks with an offset", "term_offset = 0", "= 32", says=edit(is_elicit, consumption_term_offset=32)),
    Fault("A01", "asks with a term", "term_id = 0", "= 7", says=edit(is_elicit, consumption_term_id=7)),
    Fault("A01", "asks another stream", "stream_id = ", "stream_id = ", says=edit(is_elicit, stream_id=more(1))),
    Fault("A01", "asks another session", "an eliciting status message", "SM[", says=edit(is_elicit, session_id=more(1))),
    Fault("A01", "asks at length", "length of the datagram = 36", "= 68", says=replace(is_elicit, longer)),
    Fault("A02", "asks for every frame", "no second status message", "SM[", hears=answer(is_data, elicit_of, after=1)),
    Fault("A02", "asks again by itself", "no second status message", "SM[", says=repeat(is_elicit, 500)),
    Fault("A03", "never asks again", "an eliciting status message within 5 ms", NEVER, says=drop(is_elicit, after=1)),
    Fault("A03", "asks again late", "an eliciting status message within 5 ms", "it came after", says=delay(is_elicit, 30, after=1)),
    Fault("A03", "asks again twice", "messages for the second DATA = 1", "= 2", says=repeat(is_elicit, 0)),
    Fault("A04", "asks at the end", "no status message for end-of-stream DATA", "SM[", hears=edit(is_end, flags=DataFlags.UNFRAGMENTED)),
    Fault("A04", "is deaf", "an eliciting status message within 200 ms", NEVER, hears=drop(is_open_data)),
    Fault("A04", "asks late for the end", "messages for the DATA without the flag = 1", "= 2", says=repeat(is_elicit, 0)),
    Fault("A05", "asks without interest", "no reply to an unsubscribed", "SM[", hears=answer(lambda d: b"nobody" in d, elicit_of)),
    Fault("A05", "counts what it ignores", "INVALID_PACKETS unchanged", "it is at", hears=replace(lambda d: b"nobody" in d, same, invalid)),
    Fault("A05", "is deaf", "an eliciting status message", NEVER, says=drop(is_elicit)),
    Fault("A07", "makes no image", "an available image within 200 ms", "no image", hears=drop(is_setup)),
    Fault("A07", "joins elsewhere", "join position = 0", "join position = 32", hears=edit(is_setup, term_offset=32)),
    Fault("A07", "sends no status", "a status message within 5 ms", NEVER, says=drop(is_plain)),
    Fault("A07", "sends its status late", "a status message within 5 ms", "it came after", says=delay(is_plain, 60)),
    Fault("A07", "sets a flag", "flags = 0", "flags = 64", says=edit(is_plain, flags=SmFlags.EOS)),
    Fault("A07", "opens too wide", "receiver_window = 32768", "= 65536", says=edit(is_plain, receiver_window=2 * HALF_TERM)),
    Fault("A07", "consumes too much", "term_offset = 0", "= 32", says=edit(is_plain, consumption_term_offset=32)),
    Fault("A07", "names another term", "term_id = ", "term_id = ", says=edit(is_plain, consumption_term_id=more(-1))),
    Fault("A07", "names another session", "session_id = ", "session_id = ", says=edit(is_plain, session_id=more(1))),
    Fault("A07", "adds a tag", "length of the datagram = 36", "= 68", says=replace(is_plain, longer)),
    Fault("A08", "joins at the term's start", "join position = 200704", "= 196608", hears=edit(is_setup, term_offset=0)),
    Fault("A08", "names another offset", "SM term and offset = ", ", 4128)", says=edit(is_plain, consumption_term_offset=more(32))),
    Fault("A08", "counts its position from 0", "rcv-pos = 200704", "= 4096", counts=shifted(CounterType.RCV_POS, -3 * 2 * HALF_TERM)),
    Fault("A08", "counts its mark from 0", "rcv-hwm = 200704", "= 4096", counts=shifted(CounterType.RCV_HWM, -3 * 2 * HALF_TERM)),
    Fault("A08", "delivers other bytes", "1 payloads delivered", "the first 0 of them", hears=replace(is_data, flipped)),
    Fault("A09", "makes two images", "one image for the session", "2 images", announces=announce_twice),
    Fault("A09", "withdraws the image", "images withdrawn = 0", "= 2", announces=withdraw),
    Fault("A10", "falls silent", "idle status messages every 198 to 220 ms", "0 intervals", says=drop(is_plain, after=1)),
    Fault("A10", "halves the rate", "idle status messages", "40", says=every_other(is_plain)),
    Fault("A10", "doubles the rate", "idle status messages every 198 to 220 ms", "ms", says=repeat(is_plain, 100)),
    Fault("A10", "changes its mind", "distinct contents of idle", "= 2", says=edit(is_plain, after=3, receiver_window=4096)),
    Fault("A11", "waits for the timer", "a status message at position 9216 within 50 ms", "it came after", says=delay(is_moved, 120)),
    Fault("A11", "says nothing", "a status message at position 9216", NEVER, says=drop(is_moved)),
    Fault("A11", "names less", "a status message at position 9216", "SM[", says=edit(is_moved, consumption_term_offset=more(-32))),
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
SENDER_SETUP = (
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

DATA = (
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

LOSS = (
    Fault("E01", "names less", "length = 768", "length = 736", says=edit(is_nak, length=more(-32))),
    Fault("E01", "names another place", "term_offset = 512", "= 544", says=edit(is_nak, term_offset=more(32))),
    Fault("E01", "names another term", "term_id = ", "term_id = ", says=edit(is_nak, term_id=more(-1))),
    Fault("E01", "names another session", "session_id = ", "session_id = ", says=edit(is_nak, session_id=more(1))),
    Fault("E01", "names it at length", "length of the datagram = 28", "= 60", says=replace(is_nak, longer)),
    Fault("E01", "sets a flag", "flags = 0", "flags = 128", says=edit(is_nak, flags=128)),
    Fault("E01", "says nothing", "a NAK within 200 ms", NEVER, says=drop(is_nak)),
    Fault("E01", "does not take the fill", "10 payloads delivered in order", "came", hears=drop(is_fill)),
    Fault("E02", "says it late", "a NAK within 5 ms", "it came after", says=delay(is_nak, 30)),
    Fault("E02", "says nothing", "a NAK within 5 ms", NEVER, says=drop(is_nak)),
    Fault("E03", "says it once", "at least 20 NAKs in 100 ms", "one, never repeated", says=drop(is_nak, after=1)),
    Fault("E03", "says it seldom", "at least 20 NAKs in 100 ms", "ms apart", says=thin_naks),
    Fault("E03", "says it too often", "NAKs no closer than 0.1 ms", "of them in", says=repeat(is_nak, *[0.0] * 40)),
    Fault("E03", "names less later", "length = 768", "= 32", says=edit(is_nak, after=3, length=32)),
    Fault("E04", "goes on", "no NAK after the fill", "NAK[", says=repeat(is_nak, 60)),
    Fault("E04", "does not take the fill", "10 payloads delivered in order", "came", hears=drop(is_fill)),
)

RETRANSMISSION = (
    Fault("F01", "resends more", "frames 4 to 6 again", "DATA[", hears=edit(is_nak, length=4 * PUBLISHED_FRAME)),
    Fault("F01", "resends less", "frames 4 to 6 again", "DATA[", hears=edit(is_nak, length=2 * PUBLISHED_FRAME)),
    Fault("F01", "resends other bytes", "frames 4 to 6 again", "DATA[", says=once(is_nak, replace(is_data, flipped))),
    Fault("F01", "resends late", "a retransmission within 5 ms", "it came after", says=once(is_nak, delay(is_data, 30))),
    Fault("F01", "resends nothing", "a retransmission within 5 ms", NEVER, hears=drop(is_nak)),
    Fault("F01", "does not count", "RETRANSMITS_SENT (", "it is at", counts=frozen(SystemCounter.RETRANSMITS_SENT)),
    Fault("F01", "counts twice", "RETRANSMITS_SENT (", "it is at", counts=doubled(SystemCounter.RETRANSMITS_SENT)),
    Fault("F01", "does not count the bytes", "RETRANSMITTED_BYTES (", "it is at", counts=frozen(SystemCounter.RETRANSMITTED_BYTES)),
    Fault("F02", "resends twice", "one retransmission", "2, ", says=once(is_nak, repeat(is_data, 0))),
    Fault("F02", "resends nothing", "one retransmission", "none", says=once(is_nak, drop(is_data))),
    Fault("F02", "hears one only", "NAK_MESSAGES_RECEIVED (", "it is at", hears=drop(is_nak, after=1)),
    Fault("F02", "resends other bytes", "bytes resent = ", "bytes resent = ", says=once(is_nak, replace(is_data, flipped))),
    Fault("F03", "lingers for ever", "a retransmission within 5 ms", NEVER, hears=drop(is_nak, after=1)),
    Fault("F03", "resends late", "a retransmission within 5 ms", "it came after", says=once(is_nak, delay(is_data, 30, after=11))),
    Fault("F07", "resends the past", "no data for a NAK at the sender's position", "DATA[", hears=edit(is_early_nak, term_offset=0)),
    Fault("F07", "calls it invalid", "INVALID_PACKETS (14) at", "it is at", hears=replace(is_early_nak, same, invalid)),
    Fault("F07", "is deaf", "NAK_MESSAGES_RECEIVED (", "it is at", hears=drop(is_nak)),
    Fault("F07", "is deaf afterwards", "a retransmission within 200 ms", NEVER, hears=drop(is_nak, after=1)),
)

LIVENESS = (
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

MALFORMED = tuple(
    fault
    for case_id, match, words in (("M04", is_negative, "a frame of negative length"), ("M15", is_unaligned, "an unaligned DATA datagram"))
    for fault in (
        Fault(case_id, "does not count", "INVALID_PACKETS (14) at", "it is at", hears=drop(match)),
        Fault(case_id, "counts twice", "INVALID_PACKETS (14) at", "it is at", hears=replace(match, same, same)),
        Fault(case_id, "answers", f"no reply to {words}", "DATA[", hears=answer(match, same)),
        Fault(case_id, "answers nonsense", f"no reply to {words}", "3 bytes that are no frame", hears=answer(match, lambda _: b"huh")),
        Fault(case_id, "no longer receives", "an eliciting status message", NEVER, hears=drop(lambda d: b"well-formed" in d)),
        Fault(case_id, "no longer sends", "the publication to be connected", "it did not happen", hears=drop(is_status)),
    )
)

FAULTS: tuple[Fault, ...] = (*RECEIVER_SETUP, *SENDER_SETUP, *DATA, *LOSS, *RETRANSMISSION, *LIVENESS, *MALFORMED)
