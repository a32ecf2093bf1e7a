"""What appending to a log has in common for its two kinds of writers, and the two ends of a claim.

A call returns the stream's position after the message, or an OFFER_ code.  Neither blocks nor raises; the reader's limit, the end of
the term and the end of the stream are outcomes.  Knows nothing of channels, clients or closing.
"""

from cpython.buffer cimport PyBUF_WRITE, PyBuffer_Release
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport calloc, free

from aerowire.base.errors import ConfigurationError
from aerowire.codecs.native.transport cimport (
    DATA_HEADER_FRAME_LENGTH_OFFSET, DATA_HEADER_LENGTH, FRAME_TYPE_PAD, MAX_MESSAGE_LENGTH, data_header_set_reserved_value,
    data_header_set_type)
from aerowire.logbuffer.descriptor cimport OFFER_NOT_CONNECTED, compute_max_message_length, max_possible_position
from aerowire.logbuffer.frame cimport frame_length_release
from aerowire.memory.atomics cimport load_acquire_i64, load_relaxed_i32
from aerowire.memory.buffers cimport borrow_bytes
from aerowire.memory.region cimport BufferView, borrow


cdef void claim_commit(uint8_t* frame) noexcept nogil:
    frame_length_release(frame, -load_relaxed_i32(frame + DATA_HEADER_FRAME_LENGTH_OFFSET))


cdef void claim_abort(uint8_t* frame) noexcept nogil:
    data_header_set_type(frame, FRAME_TYPE_PAD)
    frame_length_release(frame, -load_relaxed_i32(frame + DATA_HEADER_FRAME_LENGTH_OFFSET))


cdef class Appender:
    """What both kinds of appenders are made of, and their Python faces.

    Invariant: the log and the position limit stay mapped while this lives.
    """

    def __init__(self, LogBuffers logs not None, object counters, int32_t limit_counter_id, int32_t session_id,
                 int32_t stream_id, *, max_payload_length=None):
        # the counters are only asked for the memory of the limit, so that logs need not know what a counter is
        cdef BufferView limit
        self._limit_holder = borrow(counters.value_view(limit_counter_id), &limit, False)
        if limit.length < <int64_t>sizeof(int64_t) or <uintptr_t>limit.address % sizeof(int64_t):
            raise ConfigurationError("position limit is not an aligned 64-bit counter", actual=f"{limit.length} bytes at {<uintptr_t>limit.address:#x}")
        if logs.address == NULL:
            raise ConfigurationError("log buffer is closed", where=logs.path)
        self.logs = logs
        self.metadata = logs.metadata
        self.position_limit = <const int64_t*>limit.address
        self.max_position = max_possible_position(logs.term_length)
        self.session_id = session_id
        self.stream_id = stream_id
        self.initial_term_id = logs.initial_term_id
        self.term_length = logs.term_length
        self.bits = logs.bits
        self.max_payload_length = logs.mtu_length - <int32_t>DATA_HEADER_LENGTH if max_payload_length is None else max_payload_length
        if self.max_payload_length <= 0:
            raise ConfigurationError("no room for payload in a frame", expected=f"an MTU above {DATA_HEADER_LENGTH}", actual=logs.mtu_length)
        self.max_message_length = compute_max_message_length(logs.term_length, MAX_MESSAGE_LENGTH)
        self._logs_holder = logs.hold()

    cdef inline Stream stream(self) noexcept nogil:
        return Stream(session_id=self.session_id, stream_id=self.stream_id, max_payload_length=self.max_payload_length)

    # The two kinds differ in these.
    cdef int64_t offer(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil:
        return OFFER_NOT_CONNECTED

    cdef int64_t offer_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil:
        return OFFER_NOT_CONNECTED

    cdef int64_t offer_many(self, const Part* messages, int count, int* sent, ReservedValue reserved, void* context) noexcept nogil:
        return OFFER_NOT_CONNECTED

    cdef int64_t try_claim(self, int64_t length, uint8_t** frame) noexcept nogil:
        return OFFER_NOT_CONNECTED

    cdef int64_t position(self) noexcept nogil:
        return 0

    cdef int64_t available_window(self) noexcept nogil:
        return load_acquire_i64(self.position_limit) - self.position()

    # -- Python faces --------------------------------------------------------------------------------------------------------------

    def append(self, message, *, reserved=None) -> int:
        """Offer one message (any buffer); reserved: callable(frame bytes) -> int."""
        cdef Py_buffer view
        cdef int64_t result
        borrow_bytes(message, &view)
        try:
            if reserved is None:
                with nogil:
                    result = self.offer(<const uint8_t*>view.buf, view.len, NULL, NULL)
            else:
                result = self.offer(<const uint8_t*>view.buf, view.len, call_reserved, <void*>reserved)
            return result
        finally:
            PyBuffer_Release(&view)

    def append_parts(self, parts, *, reserved=None) -> int:
        """Offer the concatenation of several buffers as one message."""
        cdef PartArray array = PartArray(parts)
        if reserved is None:
            return self.offer_parts(array.parts, array.count, NULL, NULL)
        return self.offer_parts(array.parts, array.count, call_reserved, <void*>reserved)

    def append_many(self, messages) -> tuple:
        """Offer messages in order until one is refused; return (last result, messages accepted)."""
        cdef PartArray array = PartArray(messages)
        cdef int64_t result
        cdef int sent = 0
        with nogil:
            result = self.offer_many(array.parts, array.count, &sent, NULL, NULL)
        return result, sent

    def claim(self, int64_t length) -> tuple:
        """Claim a frame; return (result, Claim), or (code, None)."""
        cdef uint8_t* frame = NULL
        cdef int64_t result = self.try_claim(length, &frame)
        if result < 0:
            return result, None
        cdef Claim claim = Claim.__new__(Claim)
        claim._frame = frame
        claim._length = <int32_t>length
        claim._holder = self._logs_holder
        return result, claim

    @property
    def producer_position(self) -> int:
        return self.position()

    @property
    def window(self) -> int:
        """Bytes until the position limit; negative when the last message ran past it."""
        return self.available_window()

    @property
    def longest_message(self) -> int:
        return self.max_message_length

    @property
    def longest_payload(self) -> int:
        """Longest message that is not fragmented."""
        return self.max_payload_length


cdef class Claim:
    """A claimed frame for tests: write into `payload`, then commit() or abort(), once."""

    cdef uint8_t* _frame
    cdef int32_t _length
    cdef object _holder

    @property
    def payload(self) -> memoryview:
        return PyMemoryView_FromMemory(<char*>(self._frame + DATA_HEADER_LENGTH), self._length, PyBUF_WRITE)

    def set_reserved_value(self, int64_t value) -> None:
        data_header_set_reserved_value(self._frame, value)

    def commit(self) -> None:
        claim_commit(self._frame)

    def abort(self) -> None:
        claim_abort(self._frame)


cdef int64_t call_reserved(void* context, uint8_t* term, int32_t term_offset, int32_t frame_length) noexcept with gil:
    return (<object><PyObject*>context)((<const char*>(term + term_offset))[:frame_length])


cdef class PartArray:
    """Native addresses of a sequence of buffers, which stay exported while this lives."""

    def __cinit__(self, sources):
        cdef int index = 0
        sources = list(sources)
        self.parts = <Part*>calloc(max(1, len(sources)), sizeof(Part))
        self._views = <Py_buffer*>calloc(max(1, len(sources)), sizeof(Py_buffer))
        if self.parts == NULL or self._views == NULL:
            raise MemoryError(f"table of {len(sources)} buffers")
        for source in sources:
            borrow_bytes(source, &self._views[index])
            self.parts[index].address = <const uint8_t*>self._views[index].buf
            self.parts[index].length = self._views[index].len
            index += 1
            self.count = index

    def __dealloc__(self):
        cdef int index
        for index in range(self.count):
            PyBuffer_Release(&self._views[index])
        free(self._views)
        free(self.parts)
