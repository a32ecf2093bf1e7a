"""Group S: drivers that tell each other names."""

from __future__ import annotations

import ipaddress
import time
from typing import TYPE_CHECKING

from aerowire.codecs.flyweights.transport import RESOLUTION_NAME_LENGTH_MAX, FrameType, ResType
from aerowire.codecs.tables.counters import CounterType
from aerowire.conformance.cases.options import QUICK_RESOLVER
from aerowire.conformance.cases.own import variant_of
from aerowire.conformance.cases.resolvers import (
    NAME,
    SETTLED_MS,
    Resolver,
    expect_gossip,
    interval_ms,
    introduce,
    is_gossip,
    is_own,
    named,
    resolving,
)
from aerowire.conformance.harness import frames
from aerowire.conformance.harness.bench import CONDUCTOR_MS, LOOPBACK, TERM_LENGTH, TIMER_TOLERANCE_MS, Bench
from aerowire.conformance.harness.check import check_equal, check_intervals, intervals_ms
from aerowire.conformance.harness.wire import free_port
from aerowire.conformance.model import Case, Finding, case

if TYPE_CHECKING:
    from scapy.packet import Packet

OWN_MS = interval_ms("driver_resolver_self_resolution_interval_ns")
GOSSIP_MS = interval_ms("driver_resolver_neighbor_resolution_interval_ns")
TIMEOUT_MS = interval_ms("driver_resolver_neighbor_timeout_ns")
# What a resolver looks at its timers by.
WORK_MS = 10.0
OTHER_HOST = "127.0.0.2"
PERIODS = 4
# Names so long that a few of them fill a datagram.
LONG_NAMES = [f"{number:02}-{'n' * 200}" for number in range(12)]
# After so long without a status message a name is looked up again, as is seen by a timer of a second.
SILENT_MS = 5_000.0
BOOTSTRAP_MAX = 20
REFUSED_MS = 8_000.0


@case(
    "S01",
    requirement="A driver makes itself known to each bootstrap neighbour as soon as it starts, and again at each interval.",
    source="Aeron: DriverNameResolver.sendSelfResolutions; ResolutionEntryFlyweight",
    stimulus="a driver with a resolver whose bootstrap neighbour is the harness",
    expected="RES frames with one entry: type 1, flag 0x80, the resolver's port and address, age 0, its name; in whole eights; "
    "the neighbour's counter at 1 when it has answered",
    bound="the first with the start, then every self.resolution.interval (+10 ms) + 20 ms",
)
def s01(bench: Bench) -> None:
    """A driver that makes itself known."""
    wire = bench.wire()
    with resolving(bench, {"driver_resolver_bootstrap_neighbor": wire.authority}) as resolver:
        wire.expect(is_own, "a RES frame about the driver itself", within_ms=CONDUCTOR_MS + OWN_MS)
        came = wire.collect(PERIODS * (OWN_MS + TIMER_TOLERANCE_MS), match=is_own, start=0)
        check_intervals("RES", intervals_ms(came), at_least=PERIODS - 1, low=OWN_MS - 5, high=OWN_MS + WORK_MS + TIMER_TOLERANCE_MS)
        arrival = came[-1]
        frame, (entry, *others) = arrival.first, arrival.first.entries
        check_equal("frames and entries beside the one", (len(arrival.frames) - 1, len(others)), (0, 0))
        check_equal("type, version, flags", (int(frame.type), frame.version, int(frame.flags)), (int(FrameType.RES), 0, 0))
        check_equal("length of the datagram", len(arrival.payload), frame.frame_length)
        check_equal("bytes beyond whole eights", frame.frame_length % 8, 0)
        check_entry(entry, flags=0x80, name=NAME, address=resolver.address)
        check_equal("age", entry.age_ms, 0)
        check_equal("source", arrival.source, resolver.address)
        introduce(wire, resolver, "bootstrap")
        bench.expect(
            lambda: resolver.count(CounterType.BOOTSTRAP_NEIGHBOR) == 1,
            "the bootstrap neighbour's counter at 1",
            within_ms=OWN_MS + CONDUCTOR_MS,
            actual=lambda: resolver.count(CounterType.BOOTSTRAP_NEIGHBOR),
        )


def check_entry(entry: Packet, *, flags: int, name: str, address: tuple[str, int]) -> None:
    """Check an entry for an IPv4 address."""
    check_equal("type and flags of the entry", (int(entry.res_type), int(entry.res_flags)), (int(ResType.NAME_TO_IP4_MD), flags))
    check_equal("name", entry.entry_name.decode(), name)
    check_equal("address", (str(ipaddress.ip_address(entry.address)), entry.udp_port), address)


@case(
    "S02",
    requirement="A neighbour that made itself known is told the driver's name and, at each interval, all names with their ages.",
    source="Aeron: DriverNameResolver.onResolutionEntry, sendNeighborResolutions",
    stimulus="two neighbours make themselves known, the second 300 ms after the first",
    expected="Resolver neighbors and cache entries at 2; RES frames about the driver at both; frames with flag 0 and both names, ports and "
    "addresses, the first older by 300 ms",
    bound="every neighbor.resolution.interval (+10 ms) + 20 ms",
)
def s02(bench: Bench) -> None:
    """Names that go round."""
    first, second = bench.wire(), bench.wire()
    with resolving(bench) as resolver:
        introduce(first, resolver, "first")
        bench.pause(300.0)
        mark = first.mark()
        introduce(second, resolver, "second")
        told_ns = time.monotonic_ns()
        resolver.expect_known(2, 2)
        for wire in (first, second):
            wire.expect(is_own, "a RES frame about the driver itself", within_ms=OWN_MS + CONDUCTOR_MS, start=mark if wire is first else 0)
        arrival = expect_gossip(first, start=mark)
        if len(arrival.first.entries) < 2:
            arrival = expect_gossip(first, start=first.arrivals.index(arrival) + 1)
        since_ms = (arrival.time_ns - told_ns) / 1e6
        for name, wire, age_ms in (("first", first, since_ms + 300.0), ("second", second, since_ms)):
            entry = named(arrival.first, name)
            check_entry(entry, flags=0, name=name, address=(LOOPBACK, wire.port))
            if not age_ms - WORK_MS - TIMER_TOLERANCE_MS <= entry.age_ms <= age_ms + WORK_MS + TIMER_TOLERANCE_MS:
                raise Finding(f"an age of {age_ms:.0f} ms of {name}", f"{entry.age_ms} ms")
        came = first.collect(3 * GOSSIP_MS, match=is_gossip, start=mark)
        check_intervals("RES", intervals_ms(came), at_least=2, low=GOSSIP_MS - 5, high=GOSSIP_MS + WORK_MS + TIMER_TOLERANCE_MS)


@case(
    "S03",
    requirement="A neighbour that makes itself known with an address of zeros is known by where its frame came from.",
    source="Aeron: DriverNameResolver.onResolutionEntry, isAnyLocalAddress",
    stimulus="a RES frame with flag 0x80 and address 0.0.0.0 from 127.0.0.2, and a second neighbour",
    expected="RES frames at 127.0.0.2; the second is told that address",
)
def s03(bench: Bench) -> None:
    """A neighbour that does not know its address."""
    nameless, other = bench.wire(OTHER_HOST), bench.wire()
    with resolving(bench) as resolver:
        introduce(nameless, resolver, "somewhere", host="0.0.0.0")
        introduce(other, resolver, "other")
        resolver.expect_known(2, 2)
        nameless.expect(is_own, "a RES frame at the source's address", within_ms=OWN_MS + CONDUCTOR_MS)
        check_entry(named(expect_gossip(other).first, "somewhere"), flags=0, name="somewhere", address=(OTHER_HOST, nameless.port))


@case(
    "S04",
    requirement="An entry with the driver's own name and port is about itself, whatever its address, and is passed over.",
    source="Aeron: DriverNameResolver.onResolutionEntry",
    stimulus="entries with the driver's name and port, with and without flag 0x80; then its name with another port",
    expected="no neighbour and no name for the first two; one each for the last",
)
def s04(bench: Bench) -> None:
    """Its own name."""
    wire = bench.wire()
    with resolving(bench) as resolver:
        for is_self in (True, False):
            entry = frames.resolution_entry(NAME.encode(), (OTHER_HOST, resolver.address[1]), is_self=is_self)
            wire.send(frames.resolution(entry), resolver.address)
        resolver.check_known(0, 0, for_ms=SETTLED_MS)
        introduce(wire, resolver, NAME)
        resolver.expect_known(1, 1)


@case(
    "S05",
    requirement="A neighbour of which nothing is heard for the neighbour timeout is forgotten, and so is its name.",
    source="Aeron: DriverNameResolver.timeoutNeighbors; DriverNameResolverCache.timeoutOldEntries",
    stimulus="two neighbours, of which one goes on making itself known",
    expected="two neighbours and names until the timeout, then one of each; no RES frame to the silent one",
    bound="neighbor.timeout (+10 ms) + 20 ms",
)
def s05(bench: Bench) -> None:
    """A neighbour that fell silent."""
    silent, alive = bench.wire(), bench.wire()
    with resolving(bench) as resolver:
        introduce(alive, resolver, "alive")
        introduce(silent, resolver, "silent")
        silent_ns = time.monotonic_ns()
        resolver.expect_known(2, 2)
        while (left_ms := TIMEOUT_MS - TIMER_TOLERANCE_MS - (time.monotonic_ns() - silent_ns) / 1e6) > 0:
            introduce(alive, resolver, "alive")
            resolver.check_known(2, 2, for_ms=min(OWN_MS, left_ms))
        resolver.expect_known(1, 1, within_ms=WORK_MS + 2 * TIMER_TOLERANCE_MS)
        mark = silent.mark()
        alive.expect(is_own, "a RES frame at the neighbour that lives", within_ms=OWN_MS + CONDUCTOR_MS, start=alive.mark())
        silent.expect_none(lambda _: True, "datagram to a neighbour that was forgotten", for_ms=SETTLED_MS, start=mark)


@case(
    "S06",
    requirement="Names that do not fit one datagram are told in several, each of whole entries and no longer than the MTU.",
    source="Aeron: DriverNameResolver.sendNeighborResolutions",
    stimulus=f"a neighbour that tells {len(LONG_NAMES)} names of 203 bytes",
    expected="within an interval, all names, each once, in RES frames of at most mtu-length bytes",
)
def s06(bench: Bench) -> None:
    """More names than a datagram holds."""
    wire, mtu = bench.wire(), bench.option_int("mtu_length")
    with resolving(bench) as resolver:
        for name in LONG_NAMES:
            wire.send(frames.resolution(frames.resolution_entry(name.encode(), (LOOPBACK, wire.port))), resolver.address)
        resolver.expect_known(1, len(LONG_NAMES))
        first = expect_gossip(wire, start=wire.mark())
        wire.collect(GOSSIP_MS / 2)
        came = [arrival for arrival in wire.arrivals[wire.arrivals.index(first) :] if is_gossip(arrival.first)]
        if longest := [len(arrival.payload) for arrival in came if len(arrival.payload) > mtu]:
            raise Finding(f"datagrams of at most {mtu} bytes", f"one of {longest[0]}")
        told = sorted(entry.entry_name.decode() for arrival in came for entry in arrival.first.entries)
        check_equal("numbers of the names that were told", [name[:2] for name in told], [name[:2] for name in sorted(LONG_NAMES)])


@case(
    "S07",
    requirement="An entry of an unknown type, with an impossible length of its name or cut short gives no name and no neighbour.",
    source="Aeron: ResolutionEntryFlyweight.isValid; DriverNameResolver.onFrame",
    stimulus="RES frames with type 3, names of 0, -1 and 513 bytes, one longer than the frame, one cut short; then a good one",
    expected="no neighbour and no name for them, one of each for the good one; INVALID_PACKETS may count them",
    since="1.53",
)
def s07(bench: Bench) -> None:
    """Entries that are none."""
    wire = bench.wire()
    good = frames.self_resolution("good", (LOOPBACK, wire.port))
    with resolving(bench) as resolver:
        for bad in (
            with_bytes(good, 8, b"\3"),
            with_bytes(good, 20, b"\0\0"),
            with_bytes(good, 20, b"\xff\xff"),
            with_bytes(good, 20, b"\x00\x01"),
            frames.self_resolution("n" * (RESOLUTION_NAME_LENGTH_MAX + 1), (LOOPBACK, wire.port)),
            good[:20],
        ):
            wire.send(bad, resolver.address)
        resolver.check_known(0, 0, for_ms=SETTLED_MS)
        wire.send(good, resolver.address)
        resolver.expect_known(1, 1)


def with_bytes(frame: bytes, offset: int, value: bytes) -> bytes:
    """Return a frame with other bytes at some offset."""
    return frame[:offset] + value + frame[offset + len(value) :]


@case(
    "S08",
    requirement="An entry may hold an IPv6 address, which is told on as it came.",
    source="Aeron: ResolutionEntryFlyweight, RES_TYPE_NAME_TO_IP6_MD",
    stimulus="a neighbour that makes itself known, and tells a name with the address ::ffff:127.0.0.1",
    expected="one name more; the neighbour is told type 2, the sixteen bytes, port and name",
)
def s08(bench: Bench) -> None:
    """A name with an IPv6 address."""
    wire = bench.wire()
    # An address to which a resolver with an IPv4 socket can send: the Java driver tells nobody anything while there is another.
    address = ipaddress.IPv6Address("::ffff:127.0.0.1")
    with resolving(bench) as resolver:
        introduce(wire, resolver, "teller")
        wire.send(frames.resolution(frames.resolution_entry(b"six", (str(address), wire.port))), resolver.address)
        bench.expect(lambda: resolver.count(CounterType.RESOLVER_CACHE_ENTRIES) == 2, "a second name", within_ms=CONDUCTOR_MS)
        entry = named(expect_gossip(wire, start=wire.mark()).first, "six")
        check_equal("type and flags of the entry", (int(entry.res_type), int(entry.res_flags)), (int(ResType.NAME_TO_IP6_MD), 0))
        check_equal("address and port", (entry.address, entry.udp_port), (address.packed, wire.port))


@case(
    "S09",
    requirement="A channel may have a neighbour's name as its host; when no status message comes for five seconds the name is looked up "
    "again, and the stream goes where it leads.",
    source="Aeron: DriverNameResolver.resolve; SendChannelEndpoint.checkForReResolution; DriverConductor.onReResolveEndpoint",
    stimulus="a name at 127.0.0.1, a publication to name:port, of which no receiver says anything; then the name at 127.0.0.2",
    expected="SETUPs at 127.0.0.1, and after five seconds at the latest (Java looks sooner the first time) at 127.0.0.2",
    bound="5 s, the re-resolution check interval + 200 ms",
)
def s09(bench: Bench) -> None:
    """A name that moves."""
    teller, first = bench.wire(), bench.wire()
    second = bench.wire(OTHER_HOST, port=first.port)
    check_ms = bench.option_ns("driver_reresolution_check_interval_ns") / 1e6

    def tell(host: str) -> None:
        teller.send(frames.resolution(frames.resolution_entry(b"wanderer", (host, 4018))), resolver.address)

    with resolving(bench) as resolver:
        tell(LOOPBACK)
        bench.expect(lambda: resolver.count(CounterType.RESOLVER_CACHE_ENTRIES) == 1, "a name", within_ms=CONDUCTOR_MS)
        resolver.client.add_publication(f"aeron:udp?endpoint=wanderer:{first.port}|term-length={TERM_LENGTH}", 1)
        first.expect(frames.is_setup, "a SETUP where the name was", within_ms=CONDUCTOR_MS)
        added_ns = time.monotonic_ns()
        while not second.mark() and time.monotonic_ns() - added_ns < (SILENT_MS + check_ms + CONDUCTOR_MS) * 1e6:
            tell(OTHER_HOST)
            bench.pause(OWN_MS)
        second.expect(frames.is_setup, "a SETUP where the name is", within_ms=OWN_MS)


@case(
    "S10",
    requirement=f"A driver that is told of more than {BOOTSTRAP_MAX} bootstrap neighbours refuses to start.",
    source="Aeron: DriverNameResolver, MAX_BOOTSTRAP_NEIGHBORS",
    stimulus=f"drivers with {BOOTSTRAP_MAX} and with {BOOTSTRAP_MAX + 1} bootstrap neighbours",
    expected="the first starts; the second ends by itself",
    bound="8 s",
)
def s10(bench: Bench) -> None:
    """Too many to begin with."""
    neighbours = [f"{LOOPBACK}:{free_port()}" for _ in range(BOOTSTRAP_MAX + 1)]
    with resolving(bench, {"driver_resolver_bootstrap_neighbor": ",".join(neighbours[:-1])}) as resolver:
        check_bootstrap(resolver)
    twin = variant_of(bench, {**QUICK_RESOLVER, "driver_resolver_bootstrap_neighbor": ",".join(neighbours)})
    try:
        twin.start()
        bench.expect(lambda: not twin.is_alive(), "the driver to end", within_ms=REFUSED_MS, actual=lambda: "it runs")
    finally:
        twin.stop()


def check_bootstrap(resolver: Resolver) -> None:
    """Check that a driver counts each of the bootstrap neighbours."""
    found = [counter for counter in resolver.client.counters.all() if counter.type_id == CounterType.BOOTSTRAP_NEIGHBOR]
    check_equal("counters of bootstrap neighbours", len(found), BOOTSTRAP_MAX)


CASES: tuple[Case, ...] = (s01, s02, s03, s04, s05, s06, s07, s08, s09, s10)
