"""One publisher's stream as a subscriber reads it. Aeron: Image, TermBlockScanner.

An image reads the log where it lies and moves the subscriber's position, which is what lets the publisher go on. It knows nothing of
commands or threads: the conductor makes it and ends it. Every buffer that it hands out keeps the log mapped.
"""

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t

from aerowire.client.assembler cimport FragmentAssembler
from aerowire.client.batch cimport BatchPool, FragmentBatch
from aerowire.client.buffers cimport NativeBuffer
from aerowire.client.header cimport Header
from aerowire.client.numbers cimport number_of, numbers_clear
from aerowire.client.state cimport STATE_FORKED, STATE_OPEN, STATE_TERMINATED, STATE_UNAVAILABLE, Handle
from aerowire.codecs.native.logbuffer cimport PARTITION_COUNT
from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_UNFRAGMENTED, DATA_HEADER_LENGTH, data_header_flags, data_header_frame_length, data_header_session_id,
    data_header_term_id, data_header_term_offset)
from aerowire.ipc.counters cimport CountersReader, counter_get, counter_set
from aerowire.logbuffer.descriptor cimport align_frame, index_by_position
from aerowire.logbuffer.frame cimport frame_is_padding, frame_length_acquire
from aerowire.logbuffer.frame_write cimport PREFETCH_AFTER, PREFETCH_DISTANCE, prefetch_read
from aerowire.logbuffer.log cimport LogBuffers
from aerowire.logbuffer.scan cimport scan_block
from aerowire.memory.region cimport Mapping

import weakref

from aerowire.base.errors import AerowireError, ClosedError

cdef extern from "Python.h":
    object PyObject_Vectorcall(object callable, PyObject** arguments, size_t count, PyObject* names)
    size_t PY_VECTORCALL_ARGUMENTS_OFFSET

cdef enum:
    RESERVED_COUNT = 256            # fragments that poll_many makes room for at a time: for few of them it should not take much memory


@cython.final
cdef class Image(Handle):
    """The messages of one publication, from where this subscriber joined. Made by the client's conductor only; belongs to one thread.

    A fragment handler is called as `handler(buffer, offset, length, header)`: Aeron's shape, because it costs no object a message. `buffer`
    is a read-only memoryview of a whole term, made once; the payload is `buffer[offset:offset + length]`, ready for `struct.unpack_from`
    or a generated decoder. `header.payload()` copies it, `header.position` and the rest are read from the log when asked for. Both are valid
    during the call; kept longer they are safe, but their content is undefined, because the log is written again.

    A handler that raises ends the poll: the error goes to the caller, and the fragment counts as read.
    Invariant: only this object moves the subscriber position, and only forwards.
    """

    def __init__(self, subscription, LogBuffers logs not None, CountersReader counters not None, *, int64_t correlation_id,
                 int32_t session_id, int32_t stream_id, int32_t subscriber_position_id, str source_identity not None):
        cdef Mapping mapping = logs.hold()
        cdef int64_t start
        self._subscriber_position = counters.value_address(subscriber_position_id)
        if self._subscriber_position is NULL:
            raise ValueError(f"subscriber position counter {subscriber_position_id} is outside the counters buffer")
        self._subscription = weakref.ref(subscription) if subscription is not None else None
        self._logs = logs
        self._hold = mapping
        self._counters = counters
        self.correlation_id = correlation_id
        self.session_id = session_id
        self.stream_id = stream_id
        self.subscriber_position_id = subscriber_position_id
        self.source_identity = source_identity
        self.initial_term_id = logs.initial_term_id
        self.term_buffer_length = logs.term_length
        self.mtu_length = logs.mtu_length
        self.position_bits_to_shift = logs.bits
        self.join_position = counter_get(self._subscriber_position)
        views = []
        for index in range(PARTITION_COUNT):
            self._terms[index] = logs.term_address(index)
            start = self._terms[index] - mapping.address
            views.append(memoryview(mapping)[start:start + logs.term_length].toreadonly())
        self._views = tuple(views)
        self._batches = BatchPool()
        self._header = Header.__new__(Header)
        self._header.initial_term_id = logs.initial_term_id
        self._header.bits = logs.bits
        self._header._hold = mapping
        self._header._image = self

    def __dealloc__(self):
        numbers_clear(&self._numbers)

    def __repr__(self):
        return (f"Image(session_id={self.session_id}, stream_id={self.stream_id}, source_identity={self.source_identity!r}, "
                f"correlation_id={self.correlation_id}, position={self.position}, is_closed={self.is_closed})")

    def poll(self, handler, int fragment_limit=10):
        """Call `handler(buffer, offset, length, header)` for each message fragment that is there, at most `fragment_limit`; never waits.

        Returns how many fragments were delivered; 0 also when the stream has gone. Pass a FragmentAssembler to get whole messages.
        Raises what the handler raises, and ClosedError when the subscription is closed.
        """
        if self._state != STATE_OPEN:
            return self.end_result()
        return self.poll_fragments(handler, fragment_limit, INT64_MAX)

    def bounded_poll(self, handler, int64_t limit_position, int fragment_limit=10):
        """As `poll`, but deliver only fragments that begin before `limit_position`."""
        if self._state != STATE_OPEN:
            return self.end_result()
        return self.poll_fragments(handler, fragment_limit, limit_position)

    def poll_many(self, int fragment_limit):
        """Copy up to `fragment_limit` fragments out and count them as read; return a FragmentBatch, empty when nothing is there."""
        cdef FragmentBatch batch = self._batches.take()
        if self._state != STATE_OPEN:
            self.end_result()
        else:
            self.poll_into(batch, fragment_limit)
        return batch

    def poll_block(self, int length_limit):
        """Lend the whole frames that lie next in the log, without copying: at most `length_limit` bytes, but at least one frame.

        Returns a Block, to be used as a context manager: `with image.poll_block(65536) as block:`. The position moves at its release, so
        until then the publisher cannot write over it. An empty (false) Block when nothing is there. While a block is out, polling raises.
        """
        if self._state != STATE_OPEN:
            self.end_result()
            return Block.__new__(Block)
        return self.lend(length_limit)

    @property
    def subscription(self):
        """Subscription that this image belongs to; None when it is gone."""
        return self._subscription() if self._subscription is not None else None

    @property
    def position(self):
        """Stream position up to which fragments have been read; the last one when the stream has gone."""
        return self.current_position()

    @property
    def end_of_stream_position(self):
        """Position at which the publication ended; 2**63 - 1 while it goes on."""
        return self._logs.end_of_stream_position() if self._state == STATE_OPEN else self._final_end_of_stream_position

    @property
    def is_end_of_stream(self):
        """Whether the publication has ended and everything of it has been read."""
        return self.current_position() >= self.end_of_stream_position

    @property
    def is_publication_revoked(self):
        """Whether the publication was revoked: what was not read yet is void."""
        return self._logs.is_revoked() if self._state == STATE_OPEN else self._final_is_revoked

    @property
    def active_transport_count(self):
        """How many destinations the stream is arriving at; 0 for IPC and when the stream has gone."""
        return self._logs.active_transport_count() if self._state == STATE_OPEN else 0

    def _end(self, int state, failure=None):
        if self._state == STATE_OPEN and state != STATE_FORKED:
            self._final_position = counter_get(self._subscriber_position)
            self._final_end_of_stream_position = self._logs.end_of_stream_position()
            self._final_is_revoked = self._logs.is_revoked()
        Handle._end(self, state, failure)

    cdef object end_result(self):
        if self._state != STATE_UNAVAILABLE:
            self.raise_not_open()
        return 0

    cdef int64_t current_position(self) noexcept nogil:
        return counter_get(self._subscriber_position) if self._state == STATE_OPEN else self._final_position

    cdef int require_idle(self) except -1:
        if self._is_polling:
            raise AerowireError("an image is polled by its own handler or by two threads", where=self, expected="one poll at a time")
        if self._is_lent:
            raise AerowireError("an image is polled while a block of it is out", where=self, hint="release the block first")
        return 0

    cdef int poll_fragments(self, object handler, int fragment_limit, int64_t limit_position) except -1:
        cdef int64_t initial_position = counter_get(self._subscriber_position)
        cdef int index = index_by_position(initial_position, self.position_bits_to_shift)
        cdef int32_t initial_offset = <int32_t>(initial_position & (self.term_buffer_length - 1))
        cdef int32_t offset = initial_offset
        cdef int32_t limit_offset = self.term_buffer_length
        cdef const uint8_t* term = self._terms[index]
        cdef const uint8_t* frame
        cdef int32_t length
        cdef int fragments = 0
        cdef int heel = 0 if self._is_behind else PREFETCH_AFTER
        cdef Header header
        cdef FragmentAssembler assembler = None
        cdef object view, length_object = None
        cdef PyObject* offset_object
        cdef int32_t length_of_object = -1
        cdef PyObject* arguments[5]
        if frame_length_acquire(term + offset) <= 0 or initial_position >= limit_position:
            return 0
        if limit_position - initial_position < limit_offset - offset:
            limit_offset = offset + <int32_t>(limit_position - initial_position)
        self.require_idle()
        self._is_polling = True
        header = self._header
        view = self._views[index]
        if type(handler) is FragmentAssembler:
            assembler = <FragmentAssembler>handler
            handler = assembler.delegate
        arguments[1] = <PyObject*>view
        arguments[4] = <PyObject*>header
        try:
            while fragments < fragment_limit and offset < limit_offset:
                frame = term + offset
                length = frame_length_acquire(frame)
                if length <= 0:
                    break
                offset += <int32_t>align_frame(length)
                if frame_is_padding(frame):
                    continue
                fragments += 1
                if fragments > heel:
                    prefetch_read(frame + PREFETCH_DISTANCE)
                length -= DATA_HEADER_LENGTH
                header.frame = frame
                header.payload_address = frame + DATA_HEADER_LENGTH
                header.length = length
                if assembler is not None and data_header_flags(frame) & DATA_FLAGS_UNFRAGMENTED != DATA_FLAGS_UNFRAGMENTED:
                    assembler.accept(header)
                else:
                    if length != length_of_object:
                        length_object = length
                        length_of_object = length
                    offset_object = number_of(&self._numbers, header.payload_address - term)
                    if offset_object is NULL:
                        raise MemoryError("an int")
                    arguments[2] = offset_object
                    arguments[3] = <PyObject*>length_object
                    try:
                        PyObject_Vectorcall(handler, arguments + 1, 4 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL)
                    finally:
                        Py_DECREF(<object>offset_object)
                if self._state != STATE_OPEN:
                    break
        finally:
            self._is_polling = False
            self._is_behind = fragments == fragment_limit
            if self._state == STATE_OPEN:
                counter_set(self._subscriber_position, initial_position + (offset - initial_offset))
        return fragments

    cdef int poll_into(self, FragmentBatch batch, int fragment_limit) except -1:
        cdef int64_t position, expected
        cdef int32_t begin, offset, length, count
        cdef const uint8_t* term
        cdef int32_t already = batch._count
        self.require_idle()
        while batch._count - already < fragment_limit:
            position = counter_get(self._subscriber_position)
            begin = <int32_t>(position & (self.term_buffer_length - 1))
            term = self._terms[index_by_position(position, self.position_bits_to_shift)]
            length = frame_length_acquire(term + begin)
            if length <= 0:
                break
            count = fragment_limit - (batch._count - already)
            expected = <int64_t>length * (count if count < RESERVED_COUNT else RESERVED_COUNT)
            if expected > self.term_buffer_length - begin:
                expected = self.term_buffer_length - begin
            batch.reserve(count if count < RESERVED_COUNT else RESERVED_COUNT, expected)
            offset = batch.take(term, begin, self.term_buffer_length, count)
            counter_set(self._subscriber_position, position + (offset - begin))
        return batch._count - already

    cdef Block lend(self, int32_t length_limit):
        cdef Block block = Block.__new__(Block)
        cdef int64_t position
        cdef int32_t offset, length, end
        cdef int index
        cdef const uint8_t* term
        self.require_idle()
        while True:
            position = counter_get(self._subscriber_position)
            offset = <int32_t>(position & (self.term_buffer_length - 1))
            index = index_by_position(position, self.position_bits_to_shift)
            term = self._terms[index]
            length = frame_length_acquire(term + offset)
            if length <= 0:
                return block
            length = <int32_t>align_frame(length)
            if not frame_is_padding(term + offset):
                break
            counter_set(self._subscriber_position, position + length)
        if length_limit < length:
            length_limit = length
        end = self.term_buffer_length if length_limit > self.term_buffer_length - offset else offset + length_limit
        block.length = scan_block(term, offset, end) - offset
        block._image = self
        block._term_view = self._views[index]
        block._address = term + offset
        block._begin_position = position
        block._is_held = True
        block.session_id = self.session_id
        block.term_id = data_header_term_id(term + offset)
        block.term_offset = offset
        self._is_lent = True
        return block


@cython.final
cdef class Block:
    """A run of whole frames, lent where they lie in the log: from `Image.poll_block`. Belongs to one thread.

    `release()` moves the subscriber position past it; as a context manager it is released at the end, and given back unread when the block
    of code raises. Its views are read-only, and after the release their content is undefined, because the publisher may write there; they
    never become invalid memory. `copy()` keeps the content.
    """

    def __dealloc__(self):
        if self._is_held and self._image is not None:
            self._image._is_lent = False

    def __bool__(self):
        return self.length > 0

    def __enter__(self):
        return self

    def __exit__(self, error_type, error, traceback):
        if error_type is None:
            self.release()
        else:
            self.give_back()

    def __repr__(self):
        return (f"Block(session_id={self.session_id}, term_id={self.term_id}, term_offset={self.term_offset}, length={self.length}, "
                f"is_held={self._is_held})")

    @property
    def is_held(self):
        """Whether the block is on loan: neither released nor given back."""
        return self._is_held

    @property
    def begin_position(self):
        """Stream position at which the block begins."""
        return self._begin_position

    @property
    def end_position(self):
        """Stream position after the block: the subscriber's after the release."""
        return self._begin_position + self.length

    @property
    def buffer(self):
        """The frames, headers and alignment included, as a read-only memoryview of bytes."""
        if self.length == 0:
            return memoryview(b"")
        self._require_held()
        return self._term_view[self.term_offset:self.term_offset + self.length]

    @property
    def data(self):
        """The frames, headers and alignment included, as a read-only NumPy array of bytes."""
        import numpy
        return numpy.frombuffer(self.buffer, dtype=numpy.uint8)

    @property
    def frame_offsets(self):
        """Where in the block each frame begins: a NumPy array of 32-bit numbers, a copy."""
        import numpy
        return numpy.frombuffer(self.index_frames(), dtype=numpy.int32)[0::2]

    @property
    def payload_lengths(self):
        """Bytes of payload of each frame: a NumPy array of 32-bit numbers, a copy."""
        import numpy
        return numpy.frombuffer(self.index_frames(), dtype=numpy.int32)[1::2]

    def payloads(self):
        """Return a read-only NumPy view of bytes for each frame's payload."""
        data = self.data
        index = memoryview(self.index_frames()).cast("i").tolist()
        return [data[start + DATA_HEADER_LENGTH:start + DATA_HEADER_LENGTH + length] for start, length in zip(index[0::2], index[1::2])]

    def records(self, dtype):
        """Return all payloads as one read-only NumPy view of `dtype`, without copying. Raises ValueError unless each is one item long."""
        import numpy
        dtype = numpy.dtype(dtype)
        lengths = self.payload_lengths
        if lengths.size == 0:
            return numpy.empty(0, dtype=dtype)
        if (lengths != dtype.itemsize).any():
            raise ValueError(f"payloads have {lengths.min()} to {lengths.max()} bytes, an item of {dtype} has {dtype.itemsize}")
        stride = align_frame(DATA_HEADER_LENGTH + <int64_t>dtype.itemsize)
        return numpy.ndarray(lengths.shape, dtype=dtype, buffer=self.buffer, offset=DATA_HEADER_LENGTH, strides=(stride,))

    def copy(self):
        """Return the frames as bytes, which stay what they are."""
        return bytes(self.buffer)

    def release(self):
        """Count the block as read: move the subscriber position past it. A second call does nothing."""
        if self._is_held:
            self._is_held = False
            self._image._is_lent = False
            if self._image._state == STATE_OPEN:
                counter_set(self._image._subscriber_position, self._begin_position + self.length)
            elif self._image.is_forked():
                self._image.raise_not_open()

    def give_back(self):
        """End the loan without counting the block as read: the next poll gets it again."""
        if self._is_held:
            self._is_held = False
            self._image._is_lent = False

    def _require_held(self):
        if not self._is_held:
            raise ClosedError("the block is released", where=self, hint="copy() what is to be kept before the release")

    cdef object index_frames(self):
        cdef NativeBuffer index
        cdef int32_t offset = 0, count = 0
        cdef int32_t* entry
        if self.length == 0:
            return b""
        self._require_held()
        while offset < self.length:
            offset += <int32_t>align_frame(data_header_frame_length(self._address + offset))
            count += 1
        index = NativeBuffer(8 * <int64_t>count)
        entry = <int32_t*>index.address
        offset = 0
        while offset < self.length:
            entry[0] = offset
            entry[1] = data_header_frame_length(self._address + offset) - DATA_HEADER_LENGTH
            offset += <int32_t>align_frame(entry[1] + DATA_HEADER_LENGTH)
            entry += 2
        return index
