"""A datagram port that loses, repeats and reorders on purpose, between an endpoint and its socket.

Its rates look at no byte: which frames they hit follows from where it stands. On a send endpoint outgoing datagrams are data and incoming
ones control; on a receive endpoint it is the other way round. Interceptors look at what comes in and decide before the rates do. Aeron: DebugSendChannelEndpoint, DebugReceiveChannelEndpoint.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

cimport cython

from aerowire.base.ports cimport Datagram, DatagramPort
from aerowire.driver.media.capture_port cimport CaptureTap, OuterPort
from aerowire.driver.media.capture_records cimport CAPTURE_DUPLICATE, CAPTURE_LOST, CAPTURE_PLAIN
from aerowire.driver.media.loss_interceptors cimport LossInterceptor

cdef int HELD_FOR_MAX = 4               # datagrams that overtake a held one
cdef int IDLE_POLLS_MAX = 1000          # empty polls after which a held datagram comes out anyway


@cython.final
cdef class LossRates:
    """Probabilities between 0 and 1 that a datagram is lost, sent twice, or held back while one to four others pass it."""

    def __cinit__(self, double loss=0.0, double duplicate=0.0, double reorder=0.0, seed=None):
        for name, rate in (("loss", loss), ("duplicate", duplicate), ("reorder", reorder)):
            if not 0.0 <= rate <= 1.0:
                raise ValueError(f"{name} rate: expected 0 to 1, actual {rate}")
        self.loss = loss
        self.duplicate = duplicate
        self.reorder = reorder
        self.seed = seed

    def __repr__(self) -> str:
        return f"LossRates(loss={self.loss}, duplicate={self.duplicate}, reorder={self.reorder}, seed={self.seed})"


@cython.final
cdef class LossLane:
    """One direction. The same seed and the same number of datagrams give the same fates. Used by one thread at a time."""

    def __cinit__(self, LossRates rates=None):
        seed = None
        if rates is not None:
            self._loss = rates.loss
            self._duplicate = rates.duplicate
            self._reorder = rates.reorder
            seed = rates.seed
        self._random = SeededRandom(seed)
        self.held_bytes = <uint8_t*>malloc(DATAGRAM_MAX)
        if self.held_bytes is NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.held_bytes)

    cdef bint drops(self) noexcept nogil:
        if self._loss > 0.0 and self._random.next_double() < self._loss:
            self.lost += 1
            return True
        return False

    cdef bint duplicates(self) noexcept nogil:
        if self._duplicate > 0.0 and self._random.next_double() < self._duplicate:
            self.duplicated += 1
            return True
        return False

    cdef bint holds(self, const Datagram* item) noexcept nogil:
        if self._reorder <= 0.0 or self._random.next_double() >= self._reorder:
            return False
        if self.held_for or item.length > DATAGRAM_MAX:
            return False
        memcpy(self.held_bytes, item.buffer, item.length)
        self.held = item[0]
        self.held.buffer = self.held_bytes
        self.held_for = 1 + <int>self._random.next_below(HELD_FOR_MAX)
        self.idle_polls = 0
        self.reordered += 1
        return True

    cdef bint releases(self) noexcept nogil:
        # One datagram passed; True when the held one follows it.
        if self.held_for == 0:
            return False
        self.held_for -= 1
        return self.held_for == 0


@cython.final
cdef class LossPort(OuterPort):
    """LossPort(inner, incoming=LossRates | None, outgoing=LossRates | None, interceptors=(), tap=None).

    `interceptors` are asked in turn about each datagram that comes in; the tap records also what is lost here.

    A datagram still held back when it is closed is lost.
    """

    def __cinit__(self, DatagramPort inner not None, *, LossRates incoming=None, LossRates outgoing=None, interceptors=(), CaptureTap tap=None):
        self.inner = inner
        self.tap = tap
        self._interceptors = tuple(interceptors)
        self._interceptor_count = len(self._interceptors)
        if self._interceptor_count > INTERCEPTORS_MAX:
            raise ValueError(f"interceptors: expected at most {INTERCEPTORS_MAX}, actual {self._interceptor_count}")
        for index, interceptor in enumerate(self._interceptors):
            if not isinstance(interceptor, LossInterceptor):
                raise TypeError(f"interceptors: expected a LossInterceptor, actual {type(interceptor).__name__}")
            self._asked[index] = <PyObject*>interceptor
        self._incoming = LossLane(incoming)
        self._outgoing = LossLane(outgoing)

    cdef int send(self, Datagram* items, int count) noexcept nogil:
        # One by one: what is lost or held counts as sent, as a network would have it.
        cdef int i, taken
        for i in range(count):
            if self._outgoing.drops():
                items[i].result = items[i].length
                if self.tap is not None:
                    self.tap.record(True, CAPTURE_LOST, &items[i])
                continue
            if self._outgoing.holds(&items[i]):
                items[i].result = items[i].length
                continue
            taken = self._transmit(&items[i], CAPTURE_PLAIN)
            if taken < 1:
                return i if i else taken
            if items[i].result < items[i].length:
                return i + 1
            if self._outgoing.duplicates():
                self._transmit(&items[i], CAPTURE_DUPLICATE)
            if self._outgoing.releases():
                self._transmit(&self._outgoing.held, CAPTURE_PLAIN)
        return count

    cdef int _transmit(self, Datagram* item, int mark) noexcept nogil:
        cdef int taken = self.inner.send(item, 1)
        if taken == 1 and item.result >= item.length and self.tap is not None:
            self.tap.record(True, mark, item)
        return taken

    cdef int receive(self, Datagram* items, int count) noexcept nogil:
        # Half of the room is left for repeated and held datagrams.
        cdef int half = count // 2 if count > 1 else 1
        cdef int received = self.inner.receive(items + (count - half), half)
        cdef int out = 0
        cdef Datagram* item
        cdef int i
        if received <= 0:
            if self._incoming.held_for:
                self._incoming.idle_polls += 1
                if self._incoming.idle_polls >= IDLE_POLLS_MAX:
                    self._incoming.held_for = 0
                    return self._fill(items, 0, &self._incoming.held)
            return received
        for i in range(received):
            item = &items[count - half + i]
            if self._intercepts(item) or self._incoming.drops():
                if self.tap is not None:
                    self.tap.record(False, CAPTURE_LOST, item)
                continue
            if self.tap is not None:
                self.tap.record(False, CAPTURE_PLAIN, item)
            if self._incoming.holds(item):
                continue
            out = self._fill(items, out, item)
            if out < count - half + i + 1 and self._incoming.duplicates():
                if self.tap is not None:
                    self.tap.record(False, CAPTURE_DUPLICATE, item)
                out = self._fill(items, out, item)
            if self._incoming.held_for and out < count - half + i + 1 and self._incoming.releases():
                out = self._fill(items, out, &self._incoming.held)
        return out

    cdef bint _intercepts(self, const Datagram* item) noexcept nogil:
        cdef int i
        for i in range(self._interceptor_count):
            if (<LossInterceptor>self._asked[i]).drops(item):
                self._incoming.lost += 1
                return True
        return False

    cdef int _fill(self, Datagram* items, int index, const Datagram* source) noexcept nogil:
        # Copy a datagram to a slot at or before the source's; returns the next free slot.
        cdef uint8_t* buffer = items[index].buffer
        cdef int32_t capacity = items[index].capacity
        if buffer is not source.buffer:
            memcpy(buffer, source.buffer, source.length if source.length < capacity else capacity)
        items[index] = source[0]
        items[index].buffer = buffer
        items[index].capacity = capacity
        return index + 1

    cdef int file_descriptor(self) noexcept nogil:
        # A datagram held back comes out although the socket is silent: then the port is to be asked in each cycle.
        return -1 if self._incoming._reorder > 0.0 else self.inner.file_descriptor()

    @property
    def batch_min(self) -> int:
        """Datagrams to ask for at least, so that there is room for repeated and held ones."""
        return 4

    @property
    def incoming(self):
        """What was done to datagrams that came in: a LossLane with lost, duplicated, reordered."""
        return self._incoming

    @property
    def outgoing(self):
        """What was done to datagrams that went out: a LossLane with lost, duplicated, reordered."""
        return self._outgoing
