"""What the faults act on: kinds of datagrams, what they can become, and misbehaviour that takes more than one of them."""

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
from tests.conformance.injector import Announce, Count, Hook, Link, Match, Passage, edited, passed, read, type_of

HALF_TERM = TERM_LENGTH_MIN // 2
# What a verdict says of a reaction that stayed away.
NEVER = "it did not come"
HEADER = DataHeaderDecoder.ENCODED_LENGTH
EOS_HEARTBEAT = int(DataFlags.UNFRAGMENTED | DataFlags.EOS)
# What the cases of the groups E and F send: frames of 200 and of 1000 bytes.
LOST_FRAME, PUBLISHED_FRAME = (align(HEADER + length, FRAME_ALIGNMENT) for length in (200, 1000))

# -- what a datagram is -----------------------------------------------------------------------------------------------


def is_setup(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.SETUP


def is_nak(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.NAK


def is_error(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.ERR


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


def to_one(match: Match) -> Hook:
    """Say what matches to the first only of those that it is said to."""
    first: list[Link] = []

    def hook(link: Link, datagram: bytes) -> Iterable[Passage]:
        if match(datagram):
            first.append(link)
            if link is not first[0]:
                return []
        return [(0.0, datagram)]

    return hook


def elsewhere(type_id: int, body: bytes) -> bytes:
    """Listen at another address than a destination of a subscription says."""
    return body.replace(b"127.0.0.1", b"127.0.0.2") if type_id == CommandType.ADD_RCV_DESTINATION else body


def announce_to_one() -> Announce:
    """Announce every image to the first of its subscriptions only."""
    first: dict[int, int] = {}

    def announce(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
        if type_id == CommandType.ON_AVAILABLE_IMAGE:
            image = commands.AvailableImageDecoder(body)
            if first.setdefault(image.correlation_id, image.subscription_registration_id) != image.subscription_registration_id:
                return
        yield type_id, body

    return announce


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
