"""What the faults of the groups E and F act on: frames and NAKs by their place in the term, and forged NAKs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from aerowire.codecs.flyweights.transport import DataFlags, NakEncoder
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from tests.conformance.injector import Count, Hook, Link, Match, Passage, edited, read
from tests.conformance.misbehaviour import LOST_FRAME, PUBLISHED_FRAME, is_data, is_heartbeat, is_nak


def is_data_at(term_offset: int) -> Match:
    """Data of one place in its term."""
    return lambda datagram: is_data(datagram) and read(datagram).term_offset == term_offset


def is_nak_at(term_offset: int) -> Match:
    """A NAK of one place in its term."""
    return lambda datagram: is_nak(datagram) and read(datagram).term_offset == term_offset


def is_behind_the_gap(datagram: bytes) -> bool:
    """The frame that shows the gap of three frames."""
    return is_data(datagram) and read(datagram).term_offset == 5 * LOST_FRAME


def is_behind_the_gap_or_later(datagram: bytes) -> bool:
    """The frame that shows the gap of three frames, and all behind it."""
    return is_data(datagram) and read(datagram).term_offset >= 5 * LOST_FRAME


def is_short_nak(datagram: bytes) -> bool:
    """A NAK of one frame."""
    return is_nak(datagram) and read(datagram).length == LOST_FRAME


def is_revoked(datagram: bytes) -> bool:
    """The heartbeat of a revoked stream."""
    return is_heartbeat(datagram) and bool(read(datagram).flags & DataFlags.REVOKED)


def nak_before(distance: int) -> Callable[[bytes], bytes]:
    """Return a maker of a NAK of three frames, `distance` behind the frame that it is made of."""

    def forge(datagram: bytes) -> bytes:
        data = read(datagram)
        ids = {"session_id": data.session_id, "stream_id": data.stream_id, "term_id": data.term_id}
        return NakEncoder.encode(**ids, term_offset=data.term_offset + distance, length=3 * LOST_FRAME)

    return forge


def nak_of_second(nak: bytes) -> bytes:
    """The NAK of the second gap of E06."""
    return edited(nak, term_offset=4 * LOST_FRAME, length=2 * LOST_FRAME)


def go_on_with_the_second() -> Hook:
    """Repeat for a while the NAKs of every second stream that there are NAKs of."""
    sessions: list[int] = []

    def hook(_: Link, datagram: bytes) -> list[Passage]:
        if not is_nak(datagram):
            return [(0.0, datagram)]
        session_id = read(datagram).session_id
        if session_id not in sessions:
            sessions.append(session_id)
        return [(0.0, datagram), *([(60.0, datagram)] if sessions.index(session_id) % 2 else [])]

    return hook


# -- retransmission ---------------------------------------------------------------------------------------------------


def is_nak_of(length: int) -> Match:
    """A NAK of so many bytes."""
    return lambda datagram: is_nak(datagram) and read(datagram).length == length


def at_start(nak: bytes) -> bytes:
    """A NAK of the first frame instead."""
    return edited(nak, term_offset=0, length=PUBLISHED_FRAME)


def first_only(match: Match, hook: Hook) -> Hook:
    """Apply a hook to the first datagram that the driver hears and matches."""

    def first_hook(link: Link, datagram: bytes) -> Iterable[Passage]:
        return hook(link, datagram) if match(datagram) and not any(map(match, link.heard)) else [(0.0, datagram)]

    return first_hook


def join_first_two() -> Hook:
    """Join the first two datagrams of each retransmission to one."""
    counts: dict[int, int] = {}

    def hook(link: Link, datagram: bytes) -> list[Passage]:
        if not is_data(datagram) or not any(map(is_nak, link.heard)):
            return [(0.0, datagram)]
        count = counts[id(link)] = counts.get(id(link), 0) + 1
        if count > 2:
            return [(0.0, datagram)]
        return [] if count == 1 else [(0.0, link.said[-1] + datagram)]

    return hook


def resend_at_once(link: Link, datagram: bytes) -> list[Passage]:
    """Answer a NAK for frames of 1000 bytes with these frames from memory."""
    if is_nak(datagram):
        nak = read(datagram)
        wanted = range(nak.term_offset, nak.term_offset + nak.length, PUBLISHED_FRAME)
        for said in link.said:
            if is_data(said) and read(said).term_offset in wanted:
                link.say(said)
    return [(0.0, datagram)]


def more_later(counter: SystemCounter, amount: int) -> Count:
    """A counter that is `amount` too high from the second reading on."""
    readings = 0

    def count(kind: SystemCounter | CounterType, value: int, _: int) -> int:
        nonlocal readings
        if kind is not counter:
            return value
        readings += 1
        return value + (amount if readings > 1 else 0)

    return count


def less_moved(counter: SystemCounter, amount: int) -> Count:
    """A counter that moves by `amount` less."""
    return lambda kind, value, first: value - amount if kind is counter and value > first else value


def part_of(first: int, count: int) -> Callable[[bytes], bytes]:
    """Return a maker of a NAK of `count` frames of 1 KiB from `first`."""
    return lambda nak: edited(nak, term_offset=first * 1024, length=count * 1024)


def to_group(hook: Hook) -> Hook:
    """Apply a hook to what comes to a multicast group."""

    def group_hook(link: Link, datagram: bytes) -> Iterable[Passage]:
        return hook(link, datagram) if link.getsockname()[0].startswith("239.") else [(0.0, datagram)]

    return group_hook


def to_silent(hook: Hook) -> Hook:
    """Apply a hook to what comes to a receiver that sends no NAK, from the second time on that it matches a frame before."""

    def silent_hook(link: Link, datagram: bytes) -> Iterable[Passage]:
        is_again = datagram in link.said and not any(map(is_nak, link.heard))
        return hook(link, datagram) if is_again else [(0.0, datagram)]

    return silent_hook
