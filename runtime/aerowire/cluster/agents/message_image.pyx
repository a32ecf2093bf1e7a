"""An image as a native agent reads it: whole messages, each of which may be left for later.

A message of one frame is handed on where it lies in the log, others are put together in a buffer. The last frame of a message is not
counted as read before the message was taken. Aeron: Image.boundedControlledPoll, ControlledFragmentAssembler.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from aerowire.client.subscriptions.image_base cimport ImageBase
from aerowire.cluster.agents.drop_counts cimport DROP_MALFORMED
from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_BEGIN, DATA_FLAGS_END, DATA_FLAGS_UNFRAGMENTED, DATA_HEADER_LENGTH, MAX_MESSAGE_LENGTH, data_header_flags)
from aerowire.logbuffer.block_reader cimport BLOCK_MALFORMED
from aerowire.logbuffer.frame cimport frame_is_padding, frame_length_acquire, frame_step

cdef enum:
    BLOCK_LENGTH_MAX = 64 * 1024
    FRAMES_MAX = 4096               # that one look steps over: a log may hold nothing but padding, and an agent's cycle must end
    BUFFER_FIRST = 4096
    NOTHING = -1


cdef class MessageImage:
    """Messages of one image in their order.

    Changed by: the agent. Invariant: the subscriber position <= what was taken or collected; a message at hand is not behind it.
    """

    def __init__(self, LentImage loan not None):
        cdef ImageBase image = loan.handle
        self.loan = loan
        self.image_id = image.correlation_id
        self.source_identity = image.source_identity
        self._collected = NOTHING
        self._block.position = loan.position()

    def __dealloc__(self):
        free(self._buffer)

    cdef bint next(self, int64_t limit_position, DropCounts drops) noexcept nogil:
        cdef const uint8_t* frame
        cdef int32_t frame_length, step
        cdef int frames = 0
        while not self._has_message and frames < FRAMES_MAX and not self.is_malformed:
            if self._offset >= self._block.length and not self._read_block(limit_position):
                return False
            frame = self._block.address + self._offset
            frame_length = frame_length_acquire(frame)
            step = frame_step(frame_length, self._block.length - self._offset)
            if step <= 0:
                self.is_malformed = True
            elif frame_is_padding(frame) or not self._accept(frame, frame_length, step, drops):
                self._offset += step
            frames += 1
        return self._has_message

    cdef void take(self) noexcept nogil:
        self._has_message = False
        self._offset += self._step
        if self.message is self._buffer:
            self._collected = NOTHING

    cdef void count_read(self) noexcept nogil:
        self.loan.move_to(self.position())

    cdef int64_t position(self) noexcept nogil:
        return self._block.position + self._offset

    cdef bint is_end_of_stream(self) noexcept nogil:
        return self.position() >= self.loan.end_of_stream_position()

    cdef bint _read_block(self, int64_t limit_position) noexcept nogil:
        cdef LogBlock block
        cdef int64_t position = self.position()
        cdef int32_t length = self.loan.read(position, limit_position, BLOCK_LENGTH_MAX, &block)
        if length == BLOCK_MALFORMED:
            self.is_malformed = True
        if length <= 0:
            return False
        self._block = block
        self._offset = 0
        return True

    cdef bint _accept(self, const uint8_t* frame, int32_t frame_length, int32_t step, DropCounts drops) noexcept nogil:
        # True: a message is at hand, and the frame stays until it is taken
        cdef uint8_t flags = data_header_flags(frame)
        cdef const uint8_t* payload = frame + DATA_HEADER_LENGTH
        cdef int32_t length = frame_length - DATA_HEADER_LENGTH
        cdef int64_t begin = self.position()
        if flags & DATA_FLAGS_BEGIN and self._collected != NOTHING:
            drops.add(DROP_MALFORMED)               # the message before has no end
            self._collected = NOTHING
        if flags & DATA_FLAGS_UNFRAGMENTED == DATA_FLAGS_UNFRAGMENTED:
            self.message = payload
            self.length = length
        else:
            if flags & DATA_FLAGS_BEGIN:
                self._collected = 0
            elif self._collected == NOTHING:        # of a message that was dropped
                return False
            if (not flags & DATA_FLAGS_BEGIN and begin != self._next_position) or not self._collect(payload, length):
                drops.add(DROP_MALFORMED)
                self._collected = NOTHING
                return False
            self._next_position = begin + step
            if not flags & DATA_FLAGS_END:
                return False
            self.message = self._buffer
            self.length = self._collected
        self._step = step
        self.end_position = begin + step
        self._has_message = True
        return True

    cdef bint _collect(self, const uint8_t* payload, int32_t length) noexcept nogil:
        cdef int64_t wanted = <int64_t>self._collected + length
        cdef void* grown
        if wanted > MAX_MESSAGE_LENGTH:
            return False
        if wanted > self._capacity or self._buffer is NULL:
            wanted = min(max(2 * <int64_t>self._capacity, wanted, <int64_t>BUFFER_FIRST), <int64_t>MAX_MESSAGE_LENGTH)
            grown = realloc(self._buffer, wanted)
            if grown is NULL:
                return False
            self._buffer = <uint8_t*>grown
            self._capacity = <int32_t>wanted
        memcpy(self._buffer + self._collected, payload, length)
        self._collected += length
        return True
