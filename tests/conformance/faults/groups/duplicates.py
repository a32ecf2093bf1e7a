"""Faults of group G: duplicates.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

from collections.abc import Iterable

from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.transport import FrameType, SmFlags
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from tests.conformance.faults.data import capped, in_order_of_arrival, nak_of
from tests.conformance.injector import Announce, Count, Fault, Link, Passage, answer, drop, edit, edited, passed, read, replace, type_of
from tests.conformance.misbehaviour import (
    HALF_TERM,
    NEVER,
    announce_twice,
    flipped,
    frozen,
    invalid,
    is_data,
    is_elicit,
    is_end,
    is_error,
    is_moved,
    is_plain,
    is_setup,
    more,
    same,
    shifted,
    withdraw,
)


def is_resolution(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.RES


def is_response_setup(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.RSP_SETUP


def refuse_copies(link: Link, datagram: bytes) -> list[Passage]:
    """Call what came before an invalid packet."""
    return [(0.0, invalid(datagram) if is_data(datagram) and datagram in link.heard else datagram)]


def forget_the_error(link: Link, datagram: bytes) -> list[Passage]:
    """Behave as if the receiver had returned before each of its errors."""
    return [*((0.0, heard) for heard in link.heard[:1] if is_error(datagram) and is_plain(heard)), (0.0, datagram)]


def ask_for_the_second(link: Link, datagram: bytes) -> list[Passage]:
    """Ask for every session's SETUP."""
    if is_setup(datagram) and passed(link, is_setup):
        asked = next(filter(is_elicit, link.said))
        link.say(edited(asked, session_id=read(datagram).session_id, flags=SmFlags.SEND_SETUP))
    return [(0.0, datagram)]


def announcing_times(kind: CommandType, count: int) -> Announce:
    """Announce news of a kind so many times."""

    def announce(type_id: int, body: bytes) -> Iterable[tuple[int, bytes]]:
        return [(type_id, body)] * (count if type_id == kind else 1)

    return announce


def times(counter: CounterType, factor: int) -> Count:
    """A counter that moves so many times as far."""
    return lambda kind, value, first: first + factor * (value - first) if kind is counter else value


FAULTS: tuple[Fault, ...] = (
    Fault("G01", "delivers both", "10 payloads delivered in order", "the first 1 of them", hears=in_order_of_arrival),
    Fault("G01", "asks for it again", "no NAK", "NAK[", hears=answer(is_data, nak_of, after=1)),
    Fault("G01", "refuses the copy", "INVALID_PACKETS unchanged", "it is at", hears=refuse_copies),
    Fault("G01", "delivers other bytes", "10 payloads delivered in order", "the first 0 of them", hears=replace(is_data, flipped)),
    Fault("G02", "makes two images", "images for ten SETUPs = 1", "= 2", announces=announce_twice),
    Fault("G02", "makes none", "an available image", "no image", hears=drop(is_setup)),
    Fault("G02", "gives it up", "images gone = []", "= [", announces=withdraw),
    Fault("G03", "opens a window each time", "snd-lmt = ", "snd-lmt = ", counts=shifted(CounterType.SND_LMT, 9 * HALF_TERM)),
    Fault("G03", "hears one only", "counter STATUS_MESSAGES_RECEIVED", "it is at", hears=drop(is_moved, after=1)),
    Fault("G03", "lets the publisher too far", "pub-lmt beyond", "", counts=shifted(CounterType.PUB_LMT, HALF_TERM)),
    Fault("G03", "calls the copies invalid", "INVALID_PACKETS unchanged", "it is at", hears=replace(is_moved, same, invalid)),
    Fault("G04", "ends twice", "images gone = [", ", ", announces=announcing_times(CommandType.ON_UNAVAILABLE_IMAGE, 2)),
    Fault("G04", "ends elsewhere", "end-of-stream position = 192", "= 224", hears=edit(is_end, term_offset=more(32))),
    Fault("G04", "never ends", "the image to be unavailable", "", announces=announcing_times(CommandType.ON_UNAVAILABLE_IMAGE, 0)),
    Fault("G04", "hears one only", "counter HEARTBEATS_RECEIVED", "it is at", hears=drop(is_end, after=1)),
    Fault("G05", "reports each", "reported errors = 1", "= 3", hears=forget_the_error),
    Fault("G05", "reports none", "1 reported errors", "0", announces=announcing_times(CommandType.ON_PUBLICATION_ERROR, 0)),
    Fault("G05", "reports each twice", "reported errors = 1", "= 2", announces=announcing_times(CommandType.ON_PUBLICATION_ERROR, 2)),
    Fault("G05", "takes it for a stranger's", "1 reported errors", "0", hears=edit(is_error, receiver_id=more(1))),
    Fault("G05", "does not count", "counter ERROR_FRAMES_RECEIVED", "it is at", counts=frozen(SystemCounter.ERROR_FRAMES_RECEIVED)),
    Fault("G06", "makes two images", "sessions of the images = [", ", ", announces=announce_twice),
    Fault("G06", "asks for the other session", "no request for another session's SETUP", "SM[", hears=ask_for_the_second),
    Fault("G06", "ignores it", "a request for the session's SETUP", NEVER, hears=drop(is_response_setup)),
    Fault("G06", "binds it to another", "a request for the session's SETUP", "SM[", hears=edit(is_response_setup, response_session_id=7)),
    Fault("G07", "makes five neighbours", "Resolver neighbors", "= 5", counts=times(CounterType.RESOLVER_NEIGHBORS, 5)),
    Fault("G07", "keeps five names", "Resolver cache entries", "= 5", counts=times(CounterType.RESOLVER_CACHE_ENTRIES, 5)),
    Fault("G07", "takes none", "Resolver neighbors", "0", hears=drop(is_resolution)),
    Fault("G07", "takes one and no other", "at 2", "1", counts=capped(CounterType.RESOLVER_NEIGHBORS, 1)),
)
