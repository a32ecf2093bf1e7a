"""UDP endpoints of the harness: send bytes, keep every arrival with its time, wait for the one that a case names.

Knows sockets and clocks; what a frame means is the caller's business, but for parsing arrivals into scapy packets.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import random
import select
import socket
import struct
import sys
import time
import zlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from aerowire.conformance.model import Finding, MachineLacks, NotSent, TimingMiss

if TYPE_CHECKING:
    from scapy.packet import Packet

# Linux: nanosecond receive times in ancillary data. A late harness still sees when the datagram came.
SO_TIMESTAMPNS = 35
TIMESPEC = struct.Struct("@qq")
# Linux: the network device confirms each departure on the socket's error queue (transmit time stamps, without the payload).
SO_TIMESTAMPING = 37
DEPARTURE_STAMPS = 1 << 1 | 1 << 4 | 1 << 11
DEPARTURE_TIMEOUT_S = 0.1
# Linux: the kernel tells the time to live of each datagram.
IP_RECVTTL = 12
# Room for both kinds of stamp and the error queue's record.
ANCILLARY_MAX = 256
LOOPBACK_INTERFACE = "lo"
RECEIVE_BUFFER = 4 * 1024 * 1024
DATAGRAM_MAX = 65_536
# Linux assigns ports from 32768 on to sockets that are bound without one.
PORTS = range(20_000, 32_760)
PORT_TRIES = 50
_ports = itertools.cycle(random.SystemRandom().sample(PORTS, len(PORTS)))
# How long to wait for a reaction after its bound has passed: it separates "late" from "never".
PATIENCE_S = 1.5

# What was sent is kept for people to look at, who look at so much and no more.
DEPARTURES_MAX = 400

Address = tuple[str, int]
Match = Callable[["Packet"], bool]


class Arrival:
    """One received datagram. `time_ns` is on the monotonic clock; `hops` is the IP header's time to live, -1 where nobody tells.

    `frames` parses on first use.
    """

    __slots__ = ("_frames", "hops", "payload", "source", "time_ns")

    def __init__(self, time_ns: int, source: Address, payload: bytes, hops: int = -1) -> None:
        self.hops = hops
        self.time_ns = time_ns
        self.source = source
        self.payload = payload
        self._frames: list[Packet] | None = None

    @property
    def frames(self) -> list[Packet]:
        """The datagram's frames as scapy packets."""
        if self._frames is None:
            from aerowire.conformance.harness.frames import parse

            self._frames = parse(self.payload)
        return self._frames

    @property
    def first(self) -> Packet:
        """The first frame, which decides the kind of the datagram."""
        return self.frames[0]

    def __repr__(self) -> str:
        from aerowire.conformance.harness.frames import describe

        return describe(self.payload)


class Departure(NamedTuple):
    """One datagram that was sent."""

    time_ns: int
    destination: Address
    payload: bytes


class Wire:
    """A bound UDP socket and the log of what came to it, and of the beginning of what it sent.

    With the address of an `interface`, the host is a group that is joined there. Without a port, the next of `PORTS` is bound: receivers of
    earlier sockets still send status messages to the ports of those.

    Invariant: `arrivals` is in order of reading and never loses an entry; `mark()` and the index arguments
    let a case look only at what came after a point.
    """

    def __init__(self, host: str = "127.0.0.1", *, port: int = 0, interface: str = "", idle: Callable[[], None] | None = None) -> None:
        self._socket = open_socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        self._is_confirmed = confirms_departures()
        if self._is_confirmed:
            self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, DEPARTURE_STAMPS)
        self._is_stamped = True
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        except OSError:
            self._is_stamped = False
        if self._socket.family == socket.AF_INET:
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.IPPROTO_IP, IP_RECVTTL, 1)
        send_multicast_from(self._socket, interface or host)
        if interface:
            # A driver's endpoint of the group shares the port.
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port = port or free_port(host)
        self._socket.bind((host, port, 0, interface_index(interface)) if ":" in host else (host, port))
        if interface:
            join_group(self._socket, host, interface)
        self._socket.setblocking(False)
        self._idle = idle
        self.host = host
        self.port = port
        self.arrivals: list[Arrival] = []
        self.departures: list[Departure] = []
        self.departed = 0

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def fileno(self) -> int:
        """Return the socket's descriptor."""
        return self._socket.fileno()

    @property
    def authority(self) -> str:
        """`host:port` as a channel endpoint writes it."""
        return authority(self.host, self.port)

    def send(self, payload: bytes, to: Address) -> int:
        """Send one datagram; return the monotonic time just after it left.

        Raises NotSent when the socket did not take it, or took it and the network device never saw it.
        """
        deadline = time.monotonic() + 1.0
        while True:
            try:
                sent: int = self._socket.sendto(payload, to)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise NotSent("the datagram to leave the socket", "the socket stayed unwritable for 1 s") from None
                select.select([], [self._socket], [], 0.05)
                continue
            except ConnectionRefusedError:
                continue  # An ICMP answer to an earlier datagram; this one has not been tried yet.
            except OSError as error:
                raise NotSent("the datagram to leave the socket", f"sendto {to}: {error}") from None
            if sent != len(payload):
                raise NotSent("the datagram to leave the socket", f"{sent} of {len(payload)} bytes were taken")
            left_ns = time.monotonic_ns()
            self.departed += 1
            if len(self.departures) < DEPARTURES_MAX:
                self.departures.append(Departure(left_ns, to, payload))
            if self._is_confirmed and not has_departed(self._socket):
                raise NotSent("the datagram to leave the socket", "the socket took it, the network device never saw it")
            return left_ns

    def send_in_fragments(self, payload: bytes, to: Address, *, size: int, is_reversed: bool = False) -> None:
        """Send one datagram in IPv4 fragments of up to `size` bytes. Raises MachineLacks where that is not allowed."""
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
                for fragment in in_fragments(payload, (self.host, self.port), to, size)[:: -1 if is_reversed else 1]:
                    raw.sendto(fragment, (to[0], 0))
        except PermissionError as error:
            raise MachineLacks("a raw socket to send IP fragments", f"{error}") from None
        if len(self.departures) < DEPARTURES_MAX:
            self.departures.append(Departure(time.monotonic_ns(), to, payload))

    def mark(self) -> int:
        """Read what is pending and return the index of the next arrival."""
        self.read()
        return len(self.arrivals)

    def read(self) -> int:
        """Take every pending datagram off the socket; return how many."""
        count = 0
        while True:
            try:
                payload, ancillary, _, source = self._socket.recvmsg(DATAGRAM_MAX, ANCILLARY_MAX)
            except BlockingIOError:
                return count
            except ConnectionRefusedError:
                continue
            self.arrivals.append(Arrival(self._arrival_time(ancillary), source[:2], payload, hops_of(ancillary)))
            count += 1

    def wait(self, until_ns: int) -> bool:
        """Wait for a datagram until the monotonic time `until_ns`; return whether any was read."""
        if self.read():
            return True
        while True:
            if self._idle is not None:
                self._idle()
            left_ns = until_ns - time.monotonic_ns()
            if left_ns <= 0:
                return self.read() > 0
            with contextlib.suppress(InterruptedError):
                select.select([self._socket], [], [], min(left_ns / 1e9, 0.01))
            if self.read():
                return True

    def expect(self, match: Match, what: str, *, within_ms: float, start: int = 0, since_ns: int | None = None) -> Arrival:
        """Return the first arrival from index `start` whose first frame matches.

        `within_ms` counts from `since_ns` (now by default). Raises TimingMiss when it came but later than that,
        Finding when it did not come at all.
        """
        origin = time.monotonic_ns() if since_ns is None else since_ns
        bound_ns = origin + int(within_ms * 1e6)
        index = start
        while True:
            while index < len(self.arrivals):
                arrival = self.arrivals[index]
                if arrival.frames and match(arrival.first):
                    if arrival.time_ns > bound_ns:
                        late = (arrival.time_ns - origin) / 1e6
                        raise TimingMiss(f"{what} within {within_ms:g} ms", f"it came after {late:.1f} ms")
                    return arrival
                index += 1
            if not self.wait(bound_ns + int(PATIENCE_S * 1e9)):
                raise Finding(f"{what} within {within_ms:g} ms", f"it did not come; instead: {self.summary(start) or 'nothing'}")

    def expect_none(self, match: Match, what: str, *, for_ms: float, start: int | None = None) -> None:
        """Watch for `for_ms` and raise Finding when a matching frame or no frame at all comes (or came since `start`)."""
        index = self.mark() if start is None else start
        self.collect(for_ms)
        for arrival in self.arrivals[index:]:
            if not arrival.frames or match(arrival.first):
                raise Finding(f"no {what}", f"{arrival!r}")

    def collect(self, for_ms: float, *, match: Match | None = None, start: int | None = None, until: Match | None = None) -> list[Arrival]:
        """Listen for `for_ms`, or less when one comes that `until` matches; return what came (or since `start`) and matches."""
        index = self.mark() if start is None else start
        deadline = time.monotonic_ns() + int(for_ms * 1e6)
        while time.monotonic_ns() < deadline:
            if self.wait(deadline) and until is not None and any(a.frames and until(a.first) for a in self.arrivals[index:]):
                break
        self.read()
        found = self.arrivals[index:]
        return found if match is None else [arrival for arrival in found if arrival.frames and match(arrival.first)]

    def summary(self, start: int = 0, limit: int = 4) -> str:
        """Say in a line what came since `start`."""
        found = self.arrivals[start:]
        text = ", ".join(repr(arrival) for arrival in found[:limit])
        return f"{text} and {len(found) - limit} more" if len(found) > limit else text

    def _arrival_time(self, ancillary: Iterable[tuple[int, int, bytes]]) -> int:
        now = time.monotonic_ns()
        if self._is_stamped:
            for level, kind, data in ancillary:
                if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS and len(data) >= TIMESPEC.size:
                    seconds, nanos = TIMESPEC.unpack_from(data)
                    # The kernel stamps in real time; the age of the stamp is what carries over to the monotonic clock.
                    age: int = time.time_ns() - (seconds * 1_000_000_000 + nanos)
                    return now - max(0, min(age, 5_000_000_000))
        return now


def hops_of(ancillary: Iterable[tuple[int, int, bytes]]) -> int:
    """Return the time to live that the kernel tells of a datagram, -1 when it tells none."""
    for level, kind, data in ancillary:
        if level == socket.IPPROTO_IP and kind == socket.IP_TTL:
            return int.from_bytes(data, sys.byteorder)
    return -1


def in_fragments(payload: bytes, source: Address, to: Address, size: int) -> list[bytes]:
    """Return the IPv4 packets of a UDP datagram whose IP payload is cut into pieces of up to `size` bytes."""
    from scapy.layers.inet import IP, UDP, fragment

    # A number of its own, by which the receiver tells the pieces of one datagram.
    number = zlib.crc32(payload) & 0xFFFF or 1
    whole = IP(src=source[0], dst=to[0], id=number) / UDP(sport=source[1], dport=to[1]) / payload
    return [bytes(piece) for piece in fragment(whole, fragsize=size)]  # type: ignore[no-untyped-call]


def authority(host: str, port: int) -> str:
    """Return `host:port` as a channel endpoint writes it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def open_socket(family: int) -> socket.socket:
    """Return a new UDP socket."""
    return socket.socket(family, socket.SOCK_DGRAM)


def interface_index(host: str) -> int:
    """Return the index of the interface of an IPv6 address, 0 for the system's choice: only loopback's is known."""
    return socket.if_nametoindex(LOOPBACK_INTERFACE) if host == "::1" else 0


def send_multicast_from(sender: socket.socket, host: str) -> None:
    """Let what a socket sends to multicast groups go out of the interface that has the address `host`."""
    if sender.family == socket.AF_INET6:
        sender.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, interface_index(host))
    else:
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(host))


def join_group(receiver: socket.socket, group: str, host: str) -> None:
    """Hear a multicast group on the interface that has the address `host`."""
    if receiver.family == socket.AF_INET6:
        membership = socket.inet_pton(socket.AF_INET6, group) + struct.pack("@I", interface_index(host))
        receiver.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, membership)
    else:
        receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(host))


def has_departed(sender: socket.socket) -> bool:
    """Take the confirmation of the last datagram off the error queue; return False when none comes."""
    deadline = time.monotonic() + DEPARTURE_TIMEOUT_S
    while True:
        try:
            sender.recvmsg(0, ANCILLARY_MAX, socket.MSG_ERRQUEUE)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.0002)
        else:
            return True


@functools.cache
def confirms_departures() -> bool:
    """Say whether this kernel confirms the departure of a datagram on loopback; where it does not, the socket's word must do."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        probe.setblocking(False)
        try:
            probe.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, DEPARTURE_STAMPS)
            probe.sendto(b"probe", probe.getsockname())
        except OSError:
            return False
        return has_departed(probe)


def free_port(host: str = "127.0.0.1") -> int:
    """Return a UDP port that was free a moment ago on every interface: for endpoints that the driver binds itself.

    The system assigns ports of another range to sockets that are bound without one, so the port stays free until the driver binds it.
    """
    family, wildcard = (socket.AF_INET6, "::") if ":" in host else (socket.AF_INET, "0.0.0.0")
    for _ in range(PORT_TRIES):
        port = next(_ports)
        with socket.socket(family, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
            probe.bind((wildcard, port))
            return port
    raise MachineLacks(f"a UDP port of {PORTS.start} to {PORTS.stop - 1} that is free", f"{PORT_TRIES} of them are taken")
