"""What went over the harness's sockets in a case: kept small, told in words, and written as a capture.

Times are on the monotonic clock until they are written. Importing this module does not import scapy; describing and writing do.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from aerowire.conformance.harness.wire import Address, Wire

# A flood is told by its beginning.
EXCHANGES_MAX = 400
# The capture format's number for packets that begin with their IP header.
LINKTYPE_RAW = 101


class Exchange(NamedTuple):
    """One datagram that the harness sent or got."""

    time_ns: int
    source: Address
    destination: Address
    payload: bytes
    is_sent: bool


def exchanges_of(wires: Iterable[Wire], limit: int = EXCHANGES_MAX) -> tuple[list[Exchange], int]:
    """Return what went over some sockets in the order of time, up to a limit, and how much more there was."""
    found: list[Exchange] = []
    total = 0
    for wire in wires:
        own = (wire.host, wire.port)
        found += [Exchange(departure.time_ns, own, departure.destination, departure.payload, True) for departure in wire.departures]
        found += [Exchange(arrival.time_ns, arrival.source, own, arrival.payload, False) for arrival in wire.arrivals[:limit]]
        total += wire.departed + len(wire.arrivals)
    found.sort(key=lambda one: one.time_ns)
    return found[:limit], total - len(found[:limit])


def to_rows(exchanges: Sequence[Exchange]) -> list[dict[str, object]]:
    """Return exchanges as plain values for JSON: milliseconds from the first one, from where to where, and what it is."""
    from aerowire.conformance.harness.frames import describe

    begun_ns = exchanges[0].time_ns if exchanges else 0
    return [
        {
            "ms": round((one.time_ns - begun_ns) / 1e6, 3),
            "from": authority(one.source),
            "to": authority(one.destination),
            "is_sent": one.is_sent,
            "text": describe(one.payload),
        }
        for one in exchanges
    ]


def write_capture(path: Path, exchanges: Sequence[Exchange]) -> None:
    """Write exchanges as a pcap file of IP packets, with the times of the wall clock."""
    from scapy.layers.inet import IP, UDP
    from scapy.layers.inet6 import IPv6
    from scapy.packet import Raw
    from scapy.utils import PcapWriter

    offset_ns = time.time_ns() - time.monotonic_ns()
    with PcapWriter(str(path), linktype=LINKTYPE_RAW, nano=True) as writer:
        writer.write_header(None)
        for one in exchanges:
            layer = IPv6 if ":" in one.source[0] else IP
            packet = (
                layer(src=one.source[0], dst=one.destination[0]) / UDP(sport=one.source[1], dport=one.destination[1]) / Raw(one.payload)
            )
            seconds, nanos = divmod(one.time_ns + offset_ns, 1_000_000_000)
            writer.write_packet(bytes(packet), sec=seconds, usec=nanos)


def authority(address: Address) -> str:
    """Return `host:port`."""
    return f"[{address[0]}]:{address[1]}" if ":" in address[0] else f"{address[0]}:{address[1]}"
