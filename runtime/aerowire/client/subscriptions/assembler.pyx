"""Whole messages from fragments. Aeron: FragmentAssembler, ImageFragmentAssembler, BufferBuilder."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from aerowire.base.whole_numbers cimport int32_of, int64_of
from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_BEGIN, DATA_FLAGS_END, DATA_FLAGS_UNFRAGMENTED, DATA_HEADER_LENGTH, MAX_MESSAGE_LENGTH, data_header_flags,
    data_header_set_flags, data_header_set_frame_length, data_header_term_offset)
from aerowire.logbuffer.descriptor cimport align_frame

cdef enum:
    CAPACITY_MIN = 4096


@cython.final
cdef class MessageBuilder:
    """The message of one session that is being put together."""

    cdef int begin(self, Header header, int64_t initial_capacity) except -1:
        self.limit = 0
        self.is_open = True
        self.framed_length = 0
        if self.header is None:
            self.header = Header.__new__(Header)
            self.header.frame = self.header.frame_copy
        self.header.initial_term_id = header.initial_term_id
        self.header.bits = header.bits
        self.header.builder_key = header.builder_key
        memcpy(self.header.frame_copy, header.frame, DATA_HEADER_LENGTH)
        self.reserve(max(initial_capacity, <int64_t>CAPACITY_MIN))
        return self.append(header)

    cdef int append(self, Header header) except -1:
        self.reserve(self.limit + header.length)
        memcpy(self._buffer.address + self.limit, header.payload_address, header.length)
        self.limit += header.length
        self.framed_length += align_frame(<int64_t>header.length + DATA_HEADER_LENGTH)
        self.next_term_offset = <int32_t>align_frame(
            <int64_t>data_header_term_offset(header.frame) + header.length + DATA_HEADER_LENGTH)
        return 0

    cdef int reserve(self, int64_t capacity) except -1:
        cdef NativeBuffer larger
        if self._buffer is not None and self._buffer.capacity >= capacity:
            return 0
        if self._buffer is not None:
            capacity = max(capacity, self._buffer.capacity + (self._buffer.capacity >> 1))
        larger = NativeBuffer(capacity)
        if self._buffer is not None:
            memcpy(larger.address, self._buffer.address, self.limit)
        self._buffer = larger
        self.view = memoryview(larger)
        return 0

    cdef bint accept_next(self, Header header) except *:
        if not self.is_open:
            return False
        if data_header_term_offset(header.frame) != self.next_term_offset or self.limit + header.length > MAX_MESSAGE_LENGTH:
            self.is_open = False
            return False
        self.append(header)
        return True

    cdef void take_back(self, int64_t limit, int64_t framed_length, int32_t next_term_offset) noexcept:
        self.limit = limit
        self.framed_length = framed_length
        self.next_term_offset = next_term_offset
        self.is_open = True

    cdef Header complete(self, Header last):
        cdef Header header = self.header
        self.is_open = False
        header.length = <int32_t>self.limit
        header.payload_address = self._buffer.address
        header.fragmented_length = self.framed_length
        header.source = last.source
        header.hold = self._buffer
        data_header_set_frame_length(header.frame_copy, <int32_t>(DATA_HEADER_LENGTH + self.limit))
        data_header_set_flags(header.frame_copy, data_header_flags(header.frame_copy) | data_header_flags(last.frame))
        return header


@cython.final
cdef class FragmentAssembler:
    """A fragment handler that calls `delegate(buffer, offset, length, header)` with whole messages.

    Pass it to `poll` in place of the handler. A message of one frame is handed on as it lies in the log, without a copy; others are put
    together in a buffer per session, which is used again for the next message: copy what is to be kept. A gap in a message drops it.
    `free_session_buffer` from an unavailable-image handler gives memory back. Belongs to one thread.
    """

    def __init__(self, delegate, initial_buffer_length=0):
        self.initial_buffer_length = check_arguments(delegate, initial_buffer_length)
        self.delegate = delegate
        self._builders = {}

    def __call__(self, buffer, offset, length, Header header not None):
        header.require_frame()
        if data_header_flags(header.frame) & DATA_FLAGS_UNFRAGMENTED == DATA_FLAGS_UNFRAGMENTED:
            self.delegate(buffer, offset, length, header)
        else:
            self.accept(header)

    def free_session_buffer(self, session_id):
        """Forget what was collected for a session and free its memory; return whether there was anything."""
        return self._builders.pop(int32_of("session_id", session_id), None) is not None

    def _retain(self, sessions):
        """Forget what was collected for sessions other than these."""
        for session_id in [session_id for session_id in self._builders if session_id not in sessions]:
            del self._builders[session_id]

    def clear(self):
        """Forget everything collected and free the memory."""
        self._builders.clear()

    cdef int accept(self, Header header) except -1:
        cdef int32_t session_id = header.builder_key
        cdef uint8_t flags = data_header_flags(header.frame)
        cdef MessageBuilder builder = self._builders.get(session_id)
        if flags & DATA_FLAGS_BEGIN:
            if builder is None:
                builder = MessageBuilder()
                self._builders[session_id] = builder
            builder.begin(header, self.initial_buffer_length)
        elif builder is not None and builder.accept_next(header) and flags & DATA_FLAGS_END:
            complete = builder.complete(header)
            self.delegate(builder.view, 0, builder.limit, complete)
        return 0


@cython.final
cdef class ImageFragmentAssembler:
    """A FragmentAssembler for the polls of one image: it keeps one buffer and looks nobody up. Aeron: ImageFragmentAssembler."""

    def __init__(self, delegate, initial_buffer_length=0):
        self.initial_buffer_length = check_arguments(delegate, initial_buffer_length)
        self.delegate = delegate

    def __call__(self, buffer, offset, length, Header header not None):
        cdef uint8_t flags
        cdef MessageBuilder builder = self._builder
        header.require_frame()
        flags = data_header_flags(header.frame)
        if flags & DATA_FLAGS_UNFRAGMENTED == DATA_FLAGS_UNFRAGMENTED:
            self.delegate(buffer, offset, length, header)
        elif flags & DATA_FLAGS_BEGIN:
            if builder is None:
                builder = self._builder = MessageBuilder()
            builder.begin(header, self.initial_buffer_length)
        elif builder is not None and builder.accept_next(header) and flags & DATA_FLAGS_END:
            complete = builder.complete(header)
            self.delegate(builder.view, 0, builder.limit, complete)

    def clear(self):
        """Forget what was collected and free the memory."""
        self._builder = None


def check_arguments(delegate, initial_buffer_length):
    """Return the length; raise for what an assembler cannot be made of."""
    cdef int64_t length = int64_of("initial_buffer_length", initial_buffer_length)
    if not callable(delegate):
        raise TypeError(f"a fragment handler is a callable (buffer, offset, length, header), not {delegate!r}")
    if length < 0:
        raise ValueError(f"initial_buffer_length is negative: {length}")
    return length
