"""A run of whole frames, lent where they lie in an image's log. Aeron: TermBlockScanner.

A block moves the subscriber position at its release, so that until then the publisher cannot write over it.
"""

cimport cython
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t

from aerowire.base.whole_numbers cimport int32_of
from aerowire.client.handles.buffers cimport NativeBuffer
from aerowire.client.subscriptions.image_base cimport PADDINGS_MAX, ImageBase
from aerowire.client.handles.state cimport STATE_OPEN
from aerowire.codecs.native.transport cimport (
    DATA_HEADER_LENGTH, FRAME_ALIGNMENT, data_header_flags, data_header_term_id)
from aerowire.ipc.counters cimport counter_get, counter_set
from aerowire.logbuffer.block_reader cimport BLOCK_MALFORMED, LogBlock, read_block
from aerowire.logbuffer.descriptor cimport align_frame
from aerowire.logbuffer.frame cimport frame_length_acquire, frame_step

from aerowire.base.errors import ClosedError, MalformedFrameError


@cython.final
@cython.no_gc_clear     # the collector leaves the image to __dealloc__, which gives the block back to it
cdef class Block:
    """A run of whole frames, lent where they lie in the log: from `Image.poll_block`. Belongs to one thread.

    `release()` moves the subscriber position past it; as a context manager it is released at the end, and given back unread when the block
    of code raises. Its views are read-only, and after the release their content is undefined, because the publisher may write there; they
    never become invalid memory. `copy()` keeps the content.
    """

    def __dealloc__(self):
        if self._is_held and self._image is not None:
            self._image.is_lent = False

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

    def headers(self):
        """Return the header of each frame as a NumPy array with the fields of a data header: a copy."""
        import numpy
        from aerowire.codecs.dtypes.transport import DATA_HEADER
        headers = numpy.empty(self.frame_offsets.size, dtype=DATA_HEADER)
        bytes_of = headers.view(numpy.uint8).reshape(-1, DATA_HEADER_LENGTH)
        bytes_of[:] = self.data[self.frame_offsets[:, None] + numpy.arange(DATA_HEADER_LENGTH)]
        return headers

    def _frame_at(self, int32_t offset):
        """Return the frame at `offset` of the block: payload (a view), flags, offset in its term, and where in the block the next one begins."""
        cdef int32_t length, step, begin = self.term_offset + offset
        self._require_held()
        if not 0 <= offset < self.length or offset & (FRAME_ALIGNMENT - 1):
            raise IndexError(f"no frame begins at {offset} of a block of {self.length} bytes")
        step = self.step_at(offset, &length)
        return (self._term_view[begin + DATA_HEADER_LENGTH:begin + length], data_header_flags(self._address + offset), begin, offset + step)

    def payloads(self):
        """Return a read-only NumPy view of bytes for each frame's payload."""
        data = self.data
        index = memoryview(self.index_frames()).cast("i").tolist()
        return [data[start + DATA_HEADER_LENGTH:start + DATA_HEADER_LENGTH + length] for start, length in zip(index[0::2], index[1::2])]

    def records(self, dtype):
        """Return all payloads as one read-only NumPy view of `dtype`, without copying. Raises ValueError unless each is one item long."""
        import numpy
        dtype = numpy.dtype(dtype)
        if dtype.hasobject:
            raise TypeError(f"messages are bytes: they hold no Python objects, as {dtype} does")
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

    def release(self, length=None):
        """Count the block as read: move the subscriber position past it. A second call does nothing.

        With a `length` only its first so many bytes count, which must be whole frames; the next poll gets the rest again.
        """
        cdef int32_t taken = self.length if length is None else int32_of("length", length)
        if not 0 <= taken <= self.length or taken & (FRAME_ALIGNMENT - 1):
            raise ValueError(f"{taken} bytes are no part of whole frames of a block of {self.length}")
        if self._is_held:
            self._is_held = False
            self._image.is_lent = False
            if self._image.handle_state == STATE_OPEN:
                counter_set(self._image.subscriber_position, self._begin_position + taken)
            elif self._image.is_forked():
                self._image.raise_not_open()

    def give_back(self):
        """End the loan without counting the block as read: the next poll gets it again."""
        if self._is_held:
            self._is_held = False
            self._image.is_lent = False

    def _require_held(self):
        if not self._is_held:
            raise ClosedError("the block is released", where=self, hint="copy() what is to be kept before the release")

    cdef object index_frames(self):
        # Twice over the frames, which a publisher that is not in order may change meanwhile: the second time no more than counted.
        cdef NativeBuffer index
        cdef int32_t offset = 0, count = 0, length = 0
        cdef int32_t* entry
        if self.length == 0:
            return b""
        self._require_held()
        while offset < self.length:
            offset += self.step_at(offset, &length)
            count += 1
        index = NativeBuffer(8 * <int64_t>count)
        entry = <int32_t*>index.address
        offset = 0
        while count > 0 and offset < self.length:
            entry[0] = offset
            offset += self.step_at(offset, &length)
            entry[1] = length - DATA_HEADER_LENGTH
            entry += 2
            count -= 1
        if count > 0 or offset < self.length:
            raise self.changed(offset, length)
        return index

    cdef int32_t step_at(self, int32_t offset, int32_t* length) except -1:
        cdef int32_t step
        length[0] = frame_length_acquire(self._address + offset)
        step = frame_step(length[0], self.length - offset)
        if step <= 0:
            raise self.changed(offset, length[0])
        return step

    cdef object changed(self, int32_t offset, int32_t length):
        return MalformedFrameError(
            "the frames of a block were changed while it is out", session_id=self.session_id, stream_id=self._image.stream_id,
            position=self._begin_position + offset, frame_length=length, room=self.length - offset)


cdef Block lend(ImageBase image, int32_t length_limit):
    cdef Block block = Block.__new__(Block)
    cdef LogBlock found
    cdef int32_t length
    cdef int paddings = 0
    image.require_idle()
    while True:
        length = read_block(&image.log, counter_get(image.subscriber_position), INT64_MAX, length_limit, &found)
        if length <= 0 and found.step > 0 and not found.is_padding:
            length = read_block(&image.log, found.position, INT64_MAX, found.step, &found)      # one frame at least
        if length == BLOCK_MALFORMED:
            image.end_malformed(found.position, found.frame_length)
        if length <= 0:
            return block                # nothing is there, or the frame is not what it was: the next poll looks again
        if not found.is_padding:
            break
        counter_set(image.subscriber_position, found.position + length)
        paddings += 1
        if paddings == PADDINGS_MAX:
            return block
    block.length = length
    block._image = image
    block._term_view = image.term_views[found.index]
    block._address = found.address
    block._begin_position = found.position
    block._is_held = True
    block.session_id = image.session_id
    block.term_id = data_header_term_id(found.address)
    block.term_offset = found.term_offset
    image.is_lent = True
    return block


cdef int32_t poll_frames(ImageBase image, object handler, int32_t length_limit, bint is_raw) except -1:
    cdef LogBlock found
    cdef int32_t term_id
    cdef int32_t length = read_block(&image.log, counter_get(image.subscriber_position), INT64_MAX, length_limit, &found)
    image.require_idle()
    if length_limit <= 0:
        return 0
    if length == BLOCK_MALFORMED:
        image.end_malformed(found.position, found.frame_length)
    if length <= 0:
        return 0
    term_id = data_header_term_id(found.address)
    image.is_polling = True
    try:
        if is_raw:
            handler(image.log_file(), <int64_t>found.index * image.term_buffer_length + found.term_offset, image.term_views[found.index],
                    found.term_offset, length, image.session_id, term_id)
        else:
            handler(image.term_views[found.index], found.term_offset, length, image.session_id, term_id)
    except Exception as error:
        if image.subscriber_error_handler is None:
            raise
        image.subscriber_error_handler(error)
    finally:
        image.is_polling = False
        if image.handle_state == STATE_OPEN:
            counter_set(image.subscriber_position, found.position + length)
    return length
