"""Followers of a network's packets: the digest that tells two worlds apart, and a record of what happened last."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

cimport cython

from enum import IntEnum
from typing import NamedTuple

from aerowire.base.address cimport Address, address_ip, address_port, address_to
from aerowire.base.arguments import whole_number
from aerowire.simulation.digest cimport digest_number, digest_octets
from aerowire.simulation.host_addresses cimport ip_length

CAPACITY_MAX = 1 << 24          # events of one record
SNAP_LENGTH_MAX = 65_536        # more than a datagram has

PacketFate = IntEnum("PacketFate", {name.removeprefix("FATE_"): int(code) for name, code in FateCode.__members__.items()})


class PacketRecord(NamedTuple):
    """One event: `cause` is a LossCause of a lost packet and the errno of a refused one; `payload` its first octets."""

    fate: PacketFate
    cause: int
    time_ns: int
    number: int
    source: tuple
    target: tuple
    length: int
    payload: bytes


cdef class PacketTrace:
    """Gets every event of the network that it was added to."""

    cdef void on_packet(self, const PacketEvent* event) noexcept nogil:
        pass


@cython.final
cdef class PacketDigest(PacketTrace):
    """One number over all events: kinds, causes, times, addresses, and the payload of what was sent."""

    cdef void on_packet(self, const PacketEvent* event) noexcept nogil:
        cdef uint64_t digest = digest_number(self.value, <uint64_t>event.fate << 32 | <uint64_t>event.cause)
        digest = digest_number(digest, <uint64_t>event.time_ns)
        digest = digest_number(digest, event.number)
        digest = digest_address(digest_address(digest, event.source), event.target)
        if event.fate == FATE_SENT:
            digest = digest_octets(digest, event.payload, event.length)
        self.value = digest


cdef uint64_t digest_address(uint64_t digest, const Address* address) noexcept nogil:
    return digest_octets(digest_number(digest, address_port(address)), address_ip(address), ip_length(address))


@cython.final
cdef class PacketLog(PacketTrace):
    """PacketLog(capacity, snap_length=64): the last `capacity` events, each with the first octets of its payload."""

    def __cinit__(self, capacity, *, snap_length=64):
        self._capacity = whole_number("capacity", capacity, 1, CAPACITY_MAX, where="PacketLog")
        self._snap_length = whole_number("snap_length", snap_length, 0, SNAP_LENGTH_MAX, where="PacketLog")
        self._entries = <PacketEntry*>calloc(self._capacity, sizeof(PacketEntry))
        if self._entries is NULL:
            raise MemoryError(f"a record of {capacity} packets")

    def __dealloc__(self):
        cdef int i
        for i in range(self._capacity if self._entries is not NULL else 0):
            free(self._entries[i].payload)
        free(self._entries)

    cdef void on_packet(self, const PacketEvent* event) noexcept nogil:
        cdef PacketEntry* entry = &self._entries[self.count % self._capacity]
        cdef int32_t kept = min(event.length, self._snap_length)
        if self._snap_length and entry.payload is NULL:
            entry.payload = <uint8_t*>malloc(self._snap_length)
        if entry.payload is NULL:
            kept = 0
        else:
            memcpy(entry.payload, event.payload, kept)
        entry.event = event[0]
        entry.source = event.source[0]
        entry.target = event.target[0]
        self.count += 1

    def records(self) -> list:
        """Return the events that are there, the oldest first."""
        cdef int64_t index
        cdef PacketEntry* entry
        found = []
        for index in range(max(0, self.count - self._capacity), self.count):
            entry = &self._entries[index % self._capacity]
            kept = 0 if entry.payload is NULL else min(entry.event.length, self._snap_length)
            payload = entry.payload[:kept] if kept else b""
            found.append(PacketRecord(PacketFate(entry.event.fate), entry.event.cause, entry.event.time_ns, entry.event.number,
                                      address_to(&entry.source), address_to(&entry.target), entry.event.length, payload))
        return found
