"""Frames with other ids and terms than the stream's SETUP, and what can become of them: for the faults of the groups B and N."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tests.conformance.injector import Hook, Link, Match, Passage, edited, read
from tests.conformance.misbehaviour import invalid, is_setup

# From a datagram and its like in the stream's own term, what the driver hears.
Become = Callable[[bytes, bytes], list[bytes]]


def setup_of(link: Link) -> Any:
    """Return the first SETUP that went over the link, either way, or None."""
    return next((read(datagram) for datagram in (*link.said, *link.heard) if is_setup(datagram)), None)


def is_foreign(link: Link, datagram: bytes) -> bool:
    """Say whether a datagram names other ids than the link's SETUP."""
    setup, frame = setup_of(link), read(datagram)
    return setup is not None and (setup.session_id, setup.stream_id) != (frame.session_id, frame.stream_id)


def adopt(match: Match, **changes: Any) -> Hook:
    """Take what matches and names other ids as if it named the stream's."""

    def hook(link: Link, datagram: bytes) -> Iterable[Passage]:
        if not match(datagram) or not is_foreign(link, datagram):
            return [(0.0, datagram)]
        setup = setup_of(link)
        return [(0.0, edited(datagram, session_id=setup.session_id, stream_id=setup.stream_id, **changes))]

    return hook


def at_image(hook: Hook) -> Hook:
    """Apply a hook only where the driver receives the stream."""

    def image_hook(link: Link, datagram: bytes) -> Iterable[Passage]:
        return hook(link, datagram) if any(map(is_setup, link.heard)) else [(0.0, datagram)]

    return image_hook


def drop_foreign(link: Link, datagram: bytes) -> Iterable[Passage]:
    """Be deaf to what names other ids."""
    return [] if is_foreign(link, datagram) else [(0.0, datagram)]


def find_foreign_invalid(match: Match) -> Hook:
    """Count what matches and names other ids among the invalid packets."""

    def hook(link: Link, datagram: bytes) -> Iterable[Passage]:
        return [(0.0, invalid(datagram) if match(datagram) and is_foreign(link, datagram) else datagram)]

    return hook


def of_other_terms(match: Match, field: str, become: Become) -> Hook:
    """Let what matches and is of another term than the SETUP become other datagrams."""

    def hook(link: Link, datagram: bytes) -> Iterable[Passage]:
        setup = setup_of(link)
        if setup is None or not match(datagram) or getattr(read(datagram), field) == setup.active_term_id:
            return [(0.0, datagram)]
        return [(0.0, heard) for heard in become(datagram, edited(datagram, **{field: setup.active_term_id}))]

    return hook


def taken(_: bytes, own: bytes) -> list[bytes]:
    """It is taken as if it were of the stream's own term."""
    return [own]


def counted_and_taken(datagram: bytes, own: bytes) -> list[bytes]:
    """It is counted, and taken all the same."""
    return [datagram, own]


def counted_twice(datagram: bytes, _: bytes) -> list[bytes]:
    """It is counted twice."""
    return [datagram, datagram]


def not_heard(_: bytes, __: bytes) -> list[bytes]:
    """It is not even counted."""
    return []
