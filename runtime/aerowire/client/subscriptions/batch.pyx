"""Many fragments at once, copied out of the log.

A Python object for each message would cost several times the copy itself, so the copies lie one behind the other, and become objects when
they are asked for.
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport Py_REFCNT
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_UNFRAGMENTED, DATA_HEADER_LENGTH, data_header_flags, data_header_session_id)
from aerowire.logbuffer.frame cimport Stride, frame_is_padding, frame_length_acquire, frame_stride
from aerowire.logbuffer.frame_write cimport PREFETCH_AFTER, PREFETCH_DISTANCE, copy_bytes, prefetch_read

cdef enum:
    REUSED_LENGTH_MAX = 1 << 20     # bytes of a batch that a reader keeps for its next one: what fits a core's cache, not more


@cython.final
cdef class FragmentBatch:
    """A sequence of payloads as bytes, in the order of the stream; several images one after the other.

    `data` holds all payloads without gaps, payload i from `offsets[i]` to `offsets[i + 1]`; `session_ids` and `flags` say whose they are
    and whether they are fragments of something longer. The views are read-only, and live on their own. It never changes.
    """

    def __init__(self):
        raise TypeError("a FragmentBatch comes from poll_many()")

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self.item(i) for i in range(*index.indices(self.count))]
        if index < 0:
            index += self.count
        if not 0 <= index < self.count:
            raise IndexError(f"a batch of {self.count} fragments has no number {index}")
        return self.item(index)

    def __iter__(self):
        return iter(self.to_list())

    def __eq__(self, other):
        if isinstance(other, (FragmentBatch, list, tuple)):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other))
        return NotImplemented

    __hash__ = None

    def __repr__(self):
        return f"FragmentBatch(count={self.count}, bytes={len(self.data)})"

    def to_list(self):
        """Return the payloads as a list of bytes."""
        cdef int32_t i
        return [self.item(i) for i in range(self.count)]

    def array(self, dtype):
        """Return the payloads as a read-only NumPy array of `dtype`, one item each. Raises ValueError unless all have the length of an item."""
        import numpy
        cdef int32_t i
        cdef int64_t itemsize
        dtype = numpy.dtype(dtype)
        itemsize = dtype.itemsize
        for i in range(self.count):
            if self.offsets_address()[i + 1] - self.offsets_address()[i] != itemsize:
                raise ValueError(f"fragment {i} has {len(self.item(i))} bytes, an item of {dtype} has {itemsize}")
        return numpy.frombuffer(self.data, dtype=dtype, count=self.count)

    @property
    def data(self):
        """All payloads, one behind the other, as a memoryview of bytes."""
        return memoryview(self._data)[:self.offsets_address()[self.count]] if self.count else memoryview(b"")

    @property
    def offsets(self):
        """Where in `data` each payload begins, and at last where the data end: count + 1 numbers of 64 bits."""
        return self.array_of(0, self.count + 1, "q") if self.count else memoryview(bytes(8)).cast("q")

    @property
    def session_ids(self):
        """The session of each fragment: numbers of 32 bits."""
        return self.array_of(<uint8_t*>self.sessions_address() - self._index.address, self.count, "i") if self.count else memoryview(b"").cast("i")

    @property
    def flags(self):
        """The frame flags of each fragment (`DataFlags`): a byte each."""
        return self.array_of(self.flags_address() - self._index.address, self.count, "B") if self.count else memoryview(b"")

    @property
    def has_fragments(self):
        """Whether any payload is a part of a longer message."""
        cdef int32_t i
        for i in range(self.count):
            if self.flags_address()[i] & DATA_FLAGS_UNFRAGMENTED != DATA_FLAGS_UNFRAGMENTED:
                return True
        return False

    cdef object item(self, Py_ssize_t index):
        cdef int64_t start = self.offsets_address()[index]
        return PyBytes_FromStringAndSize(<const char*>self._data.address + start, self.offsets_address()[index + 1] - start)

    cdef object array_of(self, int64_t start, int64_t count, str form):
        width = {"q": 8, "i": 4, "B": 1}[form]
        return memoryview(self._index)[start:start + count * width].cast(form)

    cdef int64_t* offsets_address(self) noexcept nogil:
        return <int64_t*>self._index.address

    cdef int32_t* sessions_address(self) noexcept nogil:
        return <int32_t*>(self._index.address + 8 * (<int64_t>self._capacity + 1))

    cdef uint8_t* flags_address(self) noexcept nogil:
        return self._index.address + 8 * (<int64_t>self._capacity + 1) + 4 * <int64_t>self._capacity

    cdef int reserve(self, int32_t count, int64_t payload_length) except -1:
        cdef int64_t filled = self.offsets_address()[self.count] if self.count else 0
        cdef NativeBuffer old
        if self._data is None or filled + payload_length > self._data.capacity:
            old = self._data
            self._data = NativeBuffer(2 * filled + payload_length)
            if filled:
                memcpy(self._data.address, old.address, filled)
        if self._index is None or self.count + count > self._capacity:
            self.grow_index(2 * self.count + count)
        if self.count == 0:
            self.offsets_address()[0] = 0
        return 0

    cdef int grow_index(self, int32_t capacity) except -1:
        cdef FragmentBatch old = FragmentBatch.__new__(FragmentBatch)
        old._index, old._capacity = self._index, self._capacity
        self._index = NativeBuffer(8 * (<int64_t>capacity + 1) + 5 * <int64_t>capacity)
        self._capacity = capacity
        if self.count:
            memcpy(self.offsets_address(), old.offsets_address(), 8 * (<int64_t>self.count + 1))
            memcpy(self.sessions_address(), old.sessions_address(), 4 * <int64_t>self.count)
            memcpy(self.flags_address(), old.flags_address(), self.count)
        return 0

    cdef bint is_reusable(self) noexcept:
        return (Py_REFCNT(self) == 1 and self._index is not None
                and Py_REFCNT(self._data) == 1 and Py_REFCNT(self._index) == 1
                and self._data.capacity + self._index.capacity <= REUSED_LENGTH_MAX)

    cdef int32_t take(self, const uint8_t* term, int32_t offset, int32_t term_length, int32_t count, int32_t* paddings) noexcept nogil:
        cdef int64_t* offsets = self.offsets_address() + self.count
        cdef int32_t* sessions = self.sessions_address() + self.count
        cdef uint8_t* flags = self.flags_address() + self.count
        cdef uint8_t* data = self._data.address
        cdef int64_t capacity = self._data.capacity
        cdef int64_t end = offsets[0]
        cdef const uint8_t* frame
        cdef Stride stride = Stride(0, 0, 0)
        cdef int32_t length, taken = 0
        if count > self._capacity - self.count:
            count = self._capacity - self.count
        while taken < count and offset < term_length:
            frame = term + offset
            if taken >= PREFETCH_AFTER:
                prefetch_read(frame + PREFETCH_DISTANCE)
            length = frame_length_acquire(frame)
            if frame_stride(&stride, length, offset, term_length) <= 0:
                break
            if frame_is_padding(frame):
                paddings[0] -= 1
                if paddings[0] == 0:
                    offset += stride.step
                    break
            else:
                length -= DATA_HEADER_LENGTH
                if end + length > capacity:
                    break
                copy_bytes(data + end, frame + DATA_HEADER_LENGTH, length)
                end += length
                sessions[taken] = data_header_session_id(frame)
                flags[taken] = data_header_flags(frame)
                taken += 1
                offsets[taken] = end
            offset += stride.step
        self.count += taken
        return offset


@cython.final
cdef class BatchPool:
    """The last two batches of a reader, whose memory is used again once nobody else holds them: memory that is warm, and mapped already.

    Two, because `batch = subscription.poll_many(n)` in a loop still holds one while the next is filled.
    """

    cdef FragmentBatch take(self):
        cdef FragmentBatch batch = self._newer
        self._newer = None
        if batch is None or not batch.is_reusable():
            batch, self._older = self._older, batch
            if batch is None or not batch.is_reusable():
                batch = FragmentBatch.__new__(FragmentBatch)
        batch.count = 0
        self._newer = batch
        return batch
