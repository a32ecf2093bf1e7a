"""Kinds of data on their way into an image, and what can become of them: for the faults of the groups C, D and G."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, TERM_LENGTH_MIN, NakEncoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.conformance.harness.log import wrap_i32
from aerowire.conformance.harness.ring import align
from tests.conformance.injector import Count, Hook, Link, Match, Passage, edited, read
from tests.conformance.misbehaviour import HALF_TERM, HEADER, is_data, is_setup

# What C13 and others send where a term shall take few frames.
LARGE_FRAME = 8192

# -- what a datagram is -----------------------------------------------------------------------------------------------


def is_data_at(term_offset: int) -> Match:
    """Data at an offset of whatever term."""
    return lambda datagram: is_data(datagram) and read(datagram).term_offset == term_offset


is_at_start = is_data_at(0)
is_between = is_data_at(FRAME_ALIGNMENT // 2)
is_last_of_window = is_data_at(HALF_TERM - LARGE_FRAME)
is_at_end = is_data_at(TERM_LENGTH_MIN - 2 * FRAME_ALIGNMENT)


def is_long_at_end(datagram: bytes) -> bool:
    return is_at_end(datagram) and len(datagram) > 2 * FRAME_ALIGNMENT


def is_hollow(datagram: bytes) -> bool:
    return is_data(datagram) and read(datagram).frame_length == 0


def is_empty(datagram: bytes) -> bool:
    return is_data(datagram) and read(datagram).frame_length == HEADER


def is_misplaced(datagram: bytes) -> bool:
    return is_data(datagram) and not (
        0 <= read(datagram).term_offset < TERM_LENGTH_MIN and read(datagram).term_offset % FRAME_ALIGNMENT == 0
    )


# -- what it becomes --------------------------------------------------------------------------------------------------


def header_of(datagram: bytes) -> bytes:
    return datagram[:HEADER]


def heartbeat_from(data: bytes) -> bytes:
    """A heartbeat where the data begins."""
    return edited(header_of(data), frame_length=0)


def short_of(datagram: bytes) -> bytes:
    """The frame cut off behind 64 bytes."""
    return edited(datagram[: 2 * FRAME_ALIGNMENT], frame_length=2 * FRAME_ALIGNMENT)


def halved(datagram: bytes) -> bytes:
    """The second half of the payload not there yet."""
    missing = (len(datagram) - HEADER) // 2
    return datagram[:-missing] + bytes(missing)


def emptied(datagram: bytes) -> bytes:
    """Nothing of the payload there yet."""
    return header_of(datagram) + bytes(len(datagram) - HEADER)


def edited_at(index: int, **changes: object) -> Callable[[bytes], bytes]:
    """Change fields of one of a datagram's frames."""

    def become(datagram: bytes) -> bytes:
        start = 0
        for _ in range(index):
            start += align(read(datagram[start:]).frame_length, FRAME_ALIGNMENT)
        return datagram[:start] + edited(datagram[start:], **changes)

    return become


def nak_of(data: bytes) -> bytes:
    """A NAK for a frame."""
    frame = read(data)
    ids = {"session_id": frame.session_id, "stream_id": frame.stream_id, "term_id": frame.term_id}
    return NakEncoder.encode(**ids, term_offset=frame.term_offset, length=align(frame.frame_length, FRAME_ALIGNMENT))


# -- faults that need more than one datagram --------------------------------------------------------------------------


def term_count(link: Link, datagram: bytes) -> int:
    """Return how many terms behind the stream's first one a frame stands, -1 before its SETUP."""
    setup = next(filter(is_setup, link.heard), None)
    return -1 if setup is None else wrap_i32(read(datagram).term_id - read(setup).initial_term_id)


def in_term(count: int, hook: Hook) -> Hook:
    """Apply a hook to the data of one term."""

    def term_hook(link: Link, datagram: bytes) -> Iterable[Passage]:
        return hook(link, datagram) if is_data(datagram) and term_count(link, datagram) == count else [(0.0, datagram)]

    return term_hook


def in_order_of_arrival(link: Link, datagram: bytes) -> list[Passage]:
    """Put each frame behind the one that came before it."""
    if not is_data(datagram) or not any(map(is_setup, link.heard)):
        return [(0.0, datagram)]
    setup = read(next(filter(is_setup, link.heard)))
    position = setup.term_offset + sum(len(heard) for heard in link.heard if is_data(heard))
    term_id = wrap_i32(setup.active_term_id + position // TERM_LENGTH_MIN)
    return [(0.0, edited(datagram, term_id=term_id, term_offset=position % TERM_LENGTH_MIN))]


def drop_overtaken(link: Link, datagram: bytes) -> list[Passage]:
    """Drop each frame that another one has overtaken."""
    if not is_data(datagram):
        return [(0.0, datagram)]
    place = term_count(link, datagram), read(datagram).term_offset
    is_late = any(place < (term_count(link, heard), read(heard).term_offset) for heard in link.heard if is_data(heard))
    return [] if is_late else [(0.0, datagram)]


def keep_early_data(link: Link, datagram: bytes) -> list[Passage]:
    """Behave as if data from before the SETUP had been kept for the image."""
    if is_setup(datagram):
        for after_ms in (20, 40):
            link.tell_later(next(filter(is_data, link.heard)), after_ms)
    return [(0.0, datagram)]


def leave_old_data(link: Link, datagram: bytes) -> list[Passage]:
    """Behave as if a partition still held old data when the fourth term begins."""
    if is_at_start(datagram) and term_count(link, datagram) == 3:
        link.tell(edited(datagram, term_offset=LARGE_FRAME))
    return [(0.0, datagram)]


def capped(counter: CounterType, most: int) -> Count:
    """A counter that never passes `most`."""
    return lambda kind, value, _: min(value, most) if kind is counter else value


def low_word(value: int) -> int:
    """The lower half of a value."""
    return value & 0xFFFFFFFF
