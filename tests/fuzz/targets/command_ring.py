"""The two message buffers of cnc.dat, as a hostile neighbour leaves them: the ring to the driver, the broadcast to the clients."""

from __future__ import annotations

from collections.abc import Iterable

from aerowire.base.errors import AerowireError
from aerowire.codecs.flyweights.cnc import BroadcastTrailerDecoder, RingTrailerDecoder
from aerowire.ipc.broadcast import BroadcastReceiver, BroadcastTransmitter
from aerowire.ipc.ring_buffer import ManyToOneRingBuffer
from aerowire.memory.region import Region
from tests.fuzz.fields import Fields, int32s, int64s
from tests.fuzz.target import FindingError

CAPACITY = 1024
POLLS = 6
LIMIT = 16


class RingTarget:
    """Head and tail, then an operation, then records; the driver reads, unblocks and measures, and a client writes."""

    name = "ring"
    length_max = 17 + CAPACITY
    words = (int32s(8, 1), int32s(16, 13), int32s(2**31 - 1), int32s(-16, 1), int32s(CAPACITY), int32s(0, -1))
    traced = ()

    def __init__(self) -> None:
        self._region = Region.anonymous(CAPACITY + RingTrailerDecoder.ENCODED_LENGTH)
        self._view = memoryview(self._region)
        self._blank = bytes(len(self._region))
        self._tail_offset, self._cache_offset, self._head_offset = (CAPACITY + 128 * at for at in (1, 2, 3))

    def seeds(self) -> Iterable[bytes]:
        """Return an empty ring, one with a command, one that wraps, and a claim without a commit."""
        record = int32s(24, 13) + bytes(16)
        yield int64s(0, 0) + b"\0"
        yield int64s(0, 24) + b"\x01" + record
        yield int64s(1016, 1048) + b"\x02" + record + bytes(992) + int32s(8, -1)
        yield int64s(0, 64) + b"\x07" + int32s(-24, 13)

    def execute(self, data: bytes) -> None:
        """Put a ring into memory and use it as its consumer and as a producer."""
        fields = Fields(data)
        head, tail, how = fields.take(8), fields.take(8), fields.unsigned(1)
        view = self._view
        view[:] = self._blank
        view[self._head_offset : self._head_offset + len(head)] = head
        view[self._tail_offset : self._tail_offset + len(tail)] = tail
        if how & 8:
            view[self._cache_offset : self._cache_offset + len(head)] = head
        records = fields.take(CAPACITY)
        view[: len(records)] = records
        ring = ManyToOneRingBuffer(self._region)
        for at in range(POLLS):
            try:
                messages = ring.poll(LIMIT)
            except AerowireError:
                break
            taken = sum(len(body) for _, body in messages)
            if taken > 2 * CAPACITY:  # up to the end of the memory, and on from its start: of a bad tail nothing is known yet
                raise FindingError(f"a ring of {CAPACITY} bytes gave {taken} in {len(messages)} messages")
            self._use(ring, how >> 4 if at % 2 else how & 7)

    def _use(self, ring: ManyToOneRingBuffer, how: int) -> None:
        try:
            if how & 1:
                ring.unblock()
            if how & 2:
                ring.offer(1, b"message")
            if how & 4:
                index = ring.try_claim(2, 40)
                if index >= 0:
                    ring.claimed(index)[:] = bytes(40)
                    ring.abort(index) if how & 1 else ring.commit(index)
            if not 0 <= ring.size <= CAPACITY:
                raise FindingError(f"{ring.size} bytes are pending in a ring of {CAPACITY}")
        except AerowireError:
            pass


class BroadcastTarget:
    """The three counters, then records; a client reads from the latest and from the start, and the driver goes on writing."""

    name = "broadcast"
    length_max = 25 + CAPACITY
    words = (int32s(8, 1), int32s(16, 0x0F03), int32s(2**31 - 1), int32s(-8, 1), int32s(0, -1), int64s(1 << 40))
    traced = ()

    def __init__(self) -> None:
        self._region = Region.anonymous(CAPACITY + BroadcastTrailerDecoder.ENCODED_LENGTH)
        self._view = memoryview(self._region)
        self._blank = bytes(len(self._region))

    def seeds(self) -> Iterable[bytes]:
        """Return an empty buffer, one with a message, one that has wrapped."""
        record = int32s(24, 0x0F04) + bytes(16)
        yield int64s(0, 0, 0) + b"\0"
        yield int64s(24, 24, 0) + b"\x01" + record
        yield int64s(1048, 1048, 1024) + b"\x03" + record + bytes(992) + int32s(8, -1)

    def execute(self, data: bytes) -> None:
        """Put a buffer into memory, read it, write behind what is there, and read that."""
        fields = Fields(data)
        counters, how = fields.take(24), fields.unsigned(1)
        view = self._view
        view[:] = self._blank
        view[CAPACITY : CAPACITY + len(counters)] = counters
        records = fields.take(CAPACITY)
        receiver = None
        try:
            if how & 2:
                receiver = BroadcastReceiver(self._region, from_start=False)
            view[: len(records)] = records
            receiver = receiver or BroadcastReceiver(self._region, from_start=bool(how & 1))
            for _ in range(POLLS):
                if sum(len(body) for _, body in receiver.poll(LIMIT)) > LIMIT * CAPACITY:
                    raise FindingError("a message is longer than its buffer")
                receiver.receive()
        except AerowireError:
            pass
        if how & 4:
            try:
                BroadcastTransmitter(self._region).transmit(1, b"message")
                if receiver:
                    receiver.poll(LIMIT)
            except AerowireError:
                pass
