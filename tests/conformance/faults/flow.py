"""Status messages as the cases of flow control send them, and what can become of them: for the faults of the groups H to J."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from aerowire.codecs.flyweights.transport import FrameType, StatusMessageDecoder
from aerowire.codecs.tables.counters import CounterType
from tests.conformance.faults.data import heartbeat_from, is_at_start
from tests.conformance.injector import Announce, Count, Hook, Link, Match, Passage, edited, read, type_of
from tests.conformance.misbehaviour import is_elicit, is_plain, is_status

KIB = 1024
STATUS = StatusMessageDecoder.ENCODED_LENGTH


def has_window(window: int) -> Match:
    """A status message with some window."""
    return lambda datagram: is_plain(datagram) and read(datagram).receiver_window == window


def is_at(offset: int) -> Match:
    """A status message that reports some offset."""
    return lambda datagram: is_plain(datagram) and read(datagram).consumption_term_offset == offset


def is_shutting(datagram: bytes) -> bool:
    """A status message without a window that reports consumption."""
    return has_window(0)(datagram) and read(datagram).consumption_term_offset > 0


def is_error(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.ERR


def is_untagged(datagram: bytes) -> bool:
    return is_status(datagram) and len(datagram) == STATUS


def is_old_tag(datagram: bytes) -> bool:
    """A status message with four bytes in place of a group tag."""
    return is_status(datagram) and len(datagram) == STATUS + 4


def is_preferred(datagram: bytes) -> bool:
    return is_old_tag(datagram) and datagram[STATUS:] == b"\xff" * 4


def is_any_tag(datagram: bytes) -> bool:
    return is_status(datagram) and len(datagram) == STATUS + 8


def is_tagged_elicit(datagram: bytes) -> bool:
    return is_elicit(datagram) and is_any_tag(datagram)


def as_preferred(datagram: bytes) -> bytes:
    """The status message as a receiver sends it that old flow control prefers."""
    return edited(datagram[:STATUS] + b"\xff" * 4, frame_length=STATUS + 4)


def untagged(datagram: bytes) -> bytes:
    """The status message without what stands behind it."""
    return edited(datagram[:STATUS], frame_length=STATUS)


def withhold(type_id: int) -> Announce:
    """Do not say a response at all."""

    def announce(kind: int, body: bytes) -> Iterable[tuple[int, bytes]]:
        return [] if kind == type_id else [(kind, body)]

    return announce


def capped(counter: CounterType, most: int) -> Count:
    """A counter that never gets beyond a value."""
    return lambda kind, value, _: min(value, most) if kind is counter else value


def has_asked(link: Link) -> bool:
    """Say whether the receiver of a link asked for a SETUP."""
    return any(map(is_elicit, link.heard))


def for_first(hook: Hook) -> Hook:
    """Apply a hook to the receiver that asked for the SETUP."""
    return lambda link, datagram: hook(link, datagram) if has_asked(link) else [(0.0, datagram)]


def for_later(hook: Hook) -> Hook:
    """Apply a hook to receivers that did not ask for a SETUP."""
    return lambda link, datagram: [(0.0, datagram)] if has_asked(link) or is_elicit(datagram) else hook(link, datagram)


def worn(counter: CounterType, reads: int) -> Count:
    """A counter that is one less when it was read so many times above one."""
    seen: list[Any] = []

    def count(kind: Any, value: int, _: int) -> int:
        if kind is not counter or value < 2:
            return value
        seen.append(value)
        return value - 1 if len(seen) > reads else value

    return count


# The links of a stream that comes in at several places, in the order in which they were used.
_PATHS: dict[int, list[Link]] = {}


def paths_of(link: Link, datagram: bytes) -> list[Link]:
    """Return the links of a stream, the one that a datagram of it passes among them."""
    session_id = read(datagram).session_id
    # An earlier attempt of the same seed had the same session.
    paths = _PATHS[session_id] = [path for path in _PATHS.get(session_id, []) if path.fileno() >= 0]
    if link not in paths:
        paths.append(link)
    return paths


def on_path(index: int, hook: Hook) -> Hook:
    """Apply a hook to one of the links of a stream."""
    return lambda link, datagram: hook(link, datagram) if paths_of(link, datagram).index(link) == index else [(0.0, datagram)]


def on_all_paths(match: Match) -> Hook:
    """Let what matches come in at every place of its stream."""

    def hook(link: Link, datagram: bytes) -> Iterable[Passage]:
        for other in paths_of(link, datagram):
            if match(datagram) and other is not link:
                other.tell(datagram)
        return [(0.0, datagram)]

    return hook


def keep_sender(link: Link, datagram: bytes) -> Iterable[Passage]:
    """Behave as if the sender still spoke for more than five seconds at every place where the stream began."""
    if is_at_start(datagram):
        for after_ms in range(300, 5700, 300):
            link.tell_later(heartbeat_from(datagram), after_ms)
    return [(0.0, datagram)]
