"""The two kinds of publications. Aeron: ConcurrentPublication, ExclusivePublication.

They differ in how they append to the log, which is in aerowire.logbuffer; what they share is in publication_base.
"""

cimport cython
from cpython.buffer cimport PyBuffer_Release
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.base.whole_numbers cimport int64_of
from aerowire.client.handles.state cimport STATE_OPEN
from aerowire.ipc.counters cimport CountersReader
from aerowire.logbuffer.append cimport Part, ReservedValue
from aerowire.logbuffer.descriptor cimport OFFER_BLOCK_INVALID, OFFER_MESSAGE_TOO_LONG
from aerowire.logbuffer.log cimport LogBuffers
from aerowire.memory.buffers cimport borrow_bytes

from aerowire.client.publications.publication_base import ADMIN_ACTION, BACK_PRESSURED, CLOSED, MAX_POSITION_EXCEEDED, NOT_CONNECTED, error_string


@cython.final
cdef class Publication(PublicationBase):
    """Sends messages to a stream from any number of threads; several handles of one channel and stream share one session and log.

    From `Aeron.add_publication`. Aeron: ConcurrentPublication.
    """

    def __init__(self, conductor, LogBuffers logs not None, CountersReader counters not None, **fields):
        super().__init__(conductor, logs, counters, **fields)
        self._appender = ConcurrentAppender(logs, counters, self.position_limit_id, self.session_id, self.stream_id)
        self.max_payload_length = self._appender.max_payload_length
        self.max_message_length = self._appender.max_message_length

    cdef int64_t append(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil:
        return self._appender.offer(message, length, reserved, context)

    cdef int64_t append_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil:
        return self._appender.offer_parts(parts, count, reserved, context)

    cdef int64_t append_many(self, const Part* messages, int count, int* sent) noexcept nogil:
        return self._appender.offer_many(messages, count, sent, NULL, NULL)

    cdef int64_t claim_space(self, int64_t length, uint8_t** frame) noexcept nogil:
        return self._appender.try_claim(length, frame)

    cdef int64_t appender_position(self) noexcept nogil:
        return self._appender.position()


@cython.final
cdef class ExclusivePublication(PublicationBase):
    """Sends messages to a stream of its own, from one thread at a time, quicker than a shared publication.

    From `Aeron.add_exclusive_publication`. Aeron: ExclusivePublication.
    """

    def __init__(self, conductor, LogBuffers logs not None, CountersReader counters not None, **fields):
        super().__init__(conductor, logs, counters, **fields)
        self._appender = ExclusiveAppender(logs, counters, self.position_limit_id, self.session_id, self.stream_id)
        self.max_payload_length = self._appender.max_payload_length
        self.max_message_length = self._appender.max_message_length

    @property
    def term_id(self):
        """Id of the term that the next message goes into."""
        return self._appender.term_id

    @property
    def term_offset(self):
        """Offset in that term of the next message."""
        return self._appender.term_offset

    @property
    def revoke_on_close(self):
        """Whether `close` tells the subscribers that what they have not read yet is void. May be set."""
        return self._revokes_on_close

    @revoke_on_close.setter
    def revoke_on_close(self, value: bool):
        self._revokes_on_close = value

    def append_padding(self, length):
        """Append a frame of `length` bytes that subscribers step over. Results and errors as `offer`."""
        cdef int64_t result
        cdef int64_t padding = int64_of("length", length)
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()
        if padding < 0:
            raise ValueError(f"length of padding is negative: {padding}")
        result = self._appender.append_padding(padding)
        if result == OFFER_MESSAGE_TOO_LONG:
            self.refuse_length(padding, self.max_message_length)
        return result

    def offer_block(self, block, offset=0, length=None):
        """Append whole frames with their headers, which are this stream's next ones: what a recording or another term holds of it.

        `block` is any contiguous buffer, `offset` and `length` choose a part of it. The frames must fit the rest of the term, and the first
        must be DATA with this publication's session and stream, `term_id` and `term_offset`; ValueError otherwise. Results and other errors
        as `offer`. Aeron: ExclusivePublication.offerBlock.
        """
        cdef Py_buffer view
        cdef Py_ssize_t part, begin = int64_of("offset", offset)
        cdef int64_t result
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()
        borrow_bytes(block, &view)
        try:
            part = view.len - begin if length is None else int64_of("length", length)
            if begin < 0 or part < 0 or part > view.len - begin:
                raise ValueError(f"offset {begin} and length {length} do not fit a buffer of {view.len} bytes")
            if part > self.term_buffer_length:
                raise ValueError(f"a block of {part} bytes is longer than a term of {self.term_buffer_length}")
            result = self._appender.offer_block(<const uint8_t*>view.buf + begin, <int32_t>part)
        finally:
            PyBuffer_Release(&view)
        if result == OFFER_BLOCK_INVALID:
            raise ValueError(
                f"a block of {part} bytes is not this stream's next: expected whole DATA frames of session {self.session_id}, stream "
                f"{self.stream_id}, that begin in term {self.term_id} at {self.term_offset} and end within the term")
        return result

    def revoke(self):
        """Close at once and tell the subscribers that what they have not read yet is void. Aeron: ExclusivePublication.revoke."""
        self._revokes_on_close = True
        self.close()

    cdef ExclusiveAppender exclusive_appender(self):
        return self._appender

    cdef int64_t append(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil:
        return self._appender.offer(message, length, reserved, context)

    cdef int64_t append_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil:
        return self._appender.offer_parts(parts, count, reserved, context)

    cdef int64_t append_many(self, const Part* messages, int count, int* sent) noexcept nogil:
        return self._appender.offer_many(messages, count, sent, NULL, NULL)

    cdef int64_t append_rows(self, const uint8_t* rows, int64_t length, int64_t count, int64_t* sent) noexcept nogil:
        return self._appender.offer_rows(rows, length, count, sent)

    cdef int64_t claim_space(self, int64_t length, uint8_t** frame) noexcept nogil:
        return self._appender.try_claim(length, frame)

    cdef int64_t appender_position(self) noexcept nogil:
        return self._appender.position()
