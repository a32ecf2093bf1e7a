"""Faults of group S: names.  The first one of a case is the plainest way to break its requirement."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Mapping

from aerowire.codecs.flyweights.transport import FrameType, ResFlags
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.options import OPTIONS
from aerowire.conformance.cases.resolvers import NAME
from tests.conformance.faults.flow import capped, worn
from tests.conformance.injector import Fault, Link, Passage, drop, every_other, replace, type_of
from tests.conformance.misbehaviour import NEVER

# Where the first entry of a RES frame has what: an IPv4 address and a name behind it.
TYPE, FLAGS, PORT, AGE, ADDRESS, NAME_LENGTH, FIRST_NAME = 8, 9, 10, 12, 16, 20, 22
NEIGHBOURS = CounterType.RESOLVER_NEIGHBORS


def is_names(datagram: bytes) -> bool:
    return type_of(datagram) == FrameType.RES


def is_own(datagram: bytes) -> bool:
    """A RES frame in which its sender makes itself known."""
    return is_names(datagram) and len(datagram) > FLAGS and bool(datagram[FLAGS] & ResFlags.SELF)


def is_gossip(datagram: bytes) -> bool:
    return is_names(datagram) and not is_own(datagram)


def about(name: str) -> Callable[[bytes], bool]:
    """A RES frame whose first entry is for some name."""
    return lambda datagram: is_names(datagram) and datagram[FIRST_NAME : FIRST_NAME + len(name)] == name.encode()


def at_host(host: str) -> Callable[[bytes], bool]:
    """A RES frame whose first entry has some address."""
    return lambda datagram: is_names(datagram) and datagram[ADDRESS:NAME_LENGTH] == socket.inet_aton(host)


def patched(offset: int, value: bytes) -> Callable[[bytes], bytes]:
    """The frame with other bytes somewhere."""
    return lambda datagram: datagram[:offset] + value + datagram[offset + len(value) :]


def is_of_unknown_type(datagram: bytes) -> bool:
    return is_names(datagram) and datagram[TYPE] not in {1, 2}


def keep_speaking(link: Link, datagram: bytes) -> Iterable[Passage]:
    """Behave as if the neighbour that falls silent spoke for four seconds."""
    if about("silent")(datagram):
        for after_ms in range(300, 4000, 300):
            link.tell_later(datagram, after_ms)
    return [(0.0, datagram)]


def without_the_last(properties: Mapping[str, str]) -> Mapping[str, str]:
    """Take as many bootstrap neighbours as there may be, and leave the others out."""
    name = OPTIONS["driver_resolver_bootstrap_neighbor"].property
    kept = ",".join(properties[name].split(",")[:20])
    return {**properties, name: kept}


FAULTS: tuple[Fault, ...] = (
    Fault("S01", "keeps silent", "a RES frame about the driver itself", NEVER, says=drop(is_names)),
    Fault("S01", "says it half as often", "intervals of RES", "ms", says=every_other(is_own)),
    Fault("S01", "gives an age", "age = 0", "age = 7", says=replace(is_own, patched(AGE, b"\7\0\0\0"))),
    Fault("S01", "names another port", "address = ", "257)", says=replace(is_own, patched(PORT, b"\1\1"))),
    Fault("S01", "names another", f"name = {NAME}", "name = X", says=replace(is_own, patched(FIRST_NAME, b"X"))),
    Fault("S01", "does not see the answer", "counter at 1", "0", hears=drop(is_own)),
    Fault("S02", "tells nothing", "a RES frame about others", NEVER, says=drop(is_gossip)),
    Fault("S02", "says nothing of itself", "a RES frame about the driver itself", NEVER, says=drop(is_own)),
    Fault("S02", "hears the first only", "2 neighbours and 2 names", "1 neighbours and 1 names", hears=drop(about("second"))),
    Fault("S02", "tells it half as often", "a RES frame about others within", "it came after", says=every_other(is_gossip)),
    Fault("S02", "gives no age", "an age of", "0 ms", says=replace(is_gossip, patched(AGE, b"\0\0\0\0"))),
    Fault(
        "S02", "tells another address", "address = ", "127.0.0.9", says=replace(is_gossip, patched(ADDRESS, socket.inet_aton("127.0.0.9")))
    ),
    Fault(
        "S03",
        "takes the zeros",
        "a RES frame at the source's address",
        NEVER,
        hears=replace(at_host("0.0.0.0"), patched(ADDRESS, socket.inet_aton("127.0.0.9"))),
    ),
    Fault("S03", "tells the zeros", "address = ", "0.0.0.0", says=replace(is_gossip, patched(ADDRESS, bytes(4)))),
    Fault(
        "S04",
        "takes itself for another",
        "0 neighbours and 0 names",
        "1 neigh",
        hears=replace(at_host("127.0.0.2"), patched(PORT, b"\1\1")),
    ),
    Fault("S04", "hears nobody of its name", "1 neighbours and 1 names", "0 neighbours", hears=drop(at_host("127.0.0.1"))),
    Fault("S05", "forgets nobody", "1 neighbours and 1 names", "2 neighbours and 2 names", hears=keep_speaking),
    Fault("S05", "forgets early", "2 neighbours and 2 names", "1 neighbours", counts=worn(NEIGHBOURS, 10)),
    Fault("S05", "knows one only", "2 neighbours and 2 names", "1 neighbours and 2 names", counts=capped(NEIGHBOURS, 1)),
    Fault("S06", "keeps some to itself", "numbers of the names that were told = ", "= ", says=every_other(is_gossip)),
    Fault("S06", "says too much at once", "datagrams of at most 1408 bytes", "one of", says=replace(is_gossip, lambda d: d + bytes(1408))),
    Fault("S06", "takes one", "1 neighbours and 12 names", "1 names", counts=capped(CounterType.RESOLVER_CACHE_ENTRIES, 1)),
    Fault("S07", "takes any type", "0 neighbours and 0 names", "1 neigh", hears=replace(is_of_unknown_type, patched(TYPE, b"\1"))),
    Fault("S07", "takes the good one only if alone", "1 neighbours and 1 names", "0 neigh", hears=drop(about("good"), after=2)),
    Fault("S08", "does not tell it on", "a RES frame about others", NEVER, says=drop(is_gossip)),
    Fault("S08", "does not take it", "a second name", "it did not happen", hears=drop(lambda d: is_names(d) and d[TYPE] == 2)),
    Fault("S09", "does not follow", "a SETUP where the name is", NEVER, hears=drop(at_host("127.0.0.2"))),
    Fault("S09", "takes no names", "a name", "it did not happen", hears=drop(is_names)),
    Fault("S10", "leaves the last out", "the driver to end", "it runs", starts=without_the_last),
)
