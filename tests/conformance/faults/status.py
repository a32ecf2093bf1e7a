"""Status messages that a sender must not take, and what can become of them: for the faults of group B."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, TERM_LENGTH_MIN, StatusMessageDecoder
from aerowire.codecs.tables.counters import CounterType
from aerowire.conformance.cases.setup_sender_status import TAG
from tests.conformance.injector import Count, Hook, Link, Match, Passage, edited, read
from tests.conformance.misbehaviour import HALF_TERM, is_data, is_elicit, is_eos_status, is_plain, is_status

STATUS = StatusMessageDecoder.ENCODED_LENGTH
# B13: forty frames of 1 KiB are sent, so this is the lowest position that a status message may have.
LOWEST = 40 * 1024 - HALF_TERM

# -- what a datagram is -----------------------------------------------------------------------------------------------


def is_low_leave(datagram: bytes) -> bool:
    return is_eos_status(datagram) and read(datagram).consumption_term_offset < LOWEST


def is_lowest_leave(datagram: bytes) -> bool:
    return is_eos_status(datagram) and read(datagram).consumption_term_offset == LOWEST


def is_negative_window(datagram: bytes) -> bool:
    return is_plain(datagram) and read(datagram).receiver_window < 0


def is_misplaced_status(datagram: bytes) -> bool:
    if not is_plain(datagram):
        return False
    offset = read(datagram).consumption_term_offset
    return not 0 <= offset < TERM_LENGTH_MIN or offset % FRAME_ALIGNMENT != 0


def is_odd_status(datagram: bytes) -> bool:
    return is_status(datagram) and len(datagram) not in (STATUS, STATUS + 8)


def is_long_status(datagram: bytes) -> bool:
    return is_status(datagram) and len(datagram) > STATUS + 8


def is_tagged_status(datagram: bytes) -> bool:
    return is_status(datagram) and len(datagram) == STATUS + 8


def is_opening(datagram: bytes) -> bool:
    return is_plain(datagram) and read(datagram).receiver_window == HALF_TERM and not is_misplaced_status(datagram)


# -- what it becomes --------------------------------------------------------------------------------------------------


def tagged(datagram: bytes) -> bytes:
    """The status message with the group tag that is asked for."""
    return edited(datagram[:STATUS] + TAG.to_bytes(8, "little"), frame_length=STATUS + 8)


def strange(**changes: Any) -> Callable[[bytes], bytes]:
    """A change to a session that nobody publishes, and of other fields."""
    return lambda datagram: edited(datagram, session_id=1, **changes)


# -- faults that need more than one datagram --------------------------------------------------------------------------


def starve_later_receivers(link: Link, datagram: bytes) -> Iterable[Passage]:
    """Send data to nobody but who asked for the SETUP."""
    return [(0.0, datagram)] if not is_data(datagram) or any(map(is_elicit, link.heard)) else []


def be_deaf_to_later_receivers(link: Link, datagram: bytes) -> Iterable[Passage]:
    """Hear nobody but who asked for the SETUP."""
    return [(0.0, datagram)] if is_elicit(datagram) or any(map(is_elicit, link.heard)) else []


def hear_later(match: Match, milliseconds: float) -> Hook:
    """Hear what matches only after a while."""

    def hook(link: Link, datagram: bytes) -> Iterable[Passage]:
        if not match(datagram):
            return [(0.0, datagram)]
        link.tell_later(datagram, milliseconds)
        return []

    return hook


def falling(counter: CounterType) -> Count:
    """A counter that every second look at the same value finds 32 lower."""
    state = {"value": -1, "looks": 0}

    def count(kind: Any, value: int, _: int) -> int:
        if kind is not counter:
            return value
        state["looks"] = state["looks"] + 1 if value == state["value"] else 1
        state["value"] = value
        return value if state["looks"] % 2 else value - FRAME_ALIGNMENT

    return count
