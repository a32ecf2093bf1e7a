"""Payloads of one length, copied out of the log into the rows of an array: records, for NumPy to work on."""

cimport cython
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.client.subscriptions.image_base cimport PADDINGS_MAX, ImageBase
from aerowire.codecs.native.transport cimport DATA_HEADER_LENGTH
from aerowire.ipc.counters cimport counter_get, counter_set
from aerowire.logbuffer.descriptor cimport align_frame, compute_frame_offset, index_by_position
from aerowire.logbuffer.frame cimport STEP_MALFORMED, frame_is_padding, frame_length_acquire, frame_step
from aerowire.logbuffer.frame_write cimport PREFETCH_DISTANCE, copy_bytes, prefetch_read
from aerowire.memory.buffers cimport refuse_objects


@cython.final
cdef class FixedLengthRows:
    """The items along the first axis of a writable C-contiguous buffer, which stays exported while this lives.

    Invariant: 0 <= filled <= count.
    """

    def __cinit__(self, array):
        PyObject_GetBuffer(array, &self._view, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE | PyBUF_FORMAT)
        if self._view.ndim == 0 or (self._view.ndim == 1 and self._view.itemsize == 1):
            raise TypeError("payloads go into an array of two dimensions, or of items longer than a byte")
        refuse_objects(&self._view)
        self.address = <uint8_t*>self._view.buf
        self.count = self._view.shape[0]
        self.row_length = self._view.len // self.count if self.count else 0

    def __dealloc__(self):
        PyBuffer_Release(&self._view)    # nothing where nothing was got


cdef enum:
    ROWS_NOTHING_MORE = -1
    ROWS_MALFORMED = -2


cdef bint poll_rows(ImageBase image, FixedLengthRows rows) except *:
    cdef int64_t position
    cdef int32_t begin, offset, length = 0, outcome
    cdef int32_t paddings = PADDINGS_MAX
    cdef const uint8_t* term
    image.require_idle()
    if rows.row_length > image.term_buffer_length:
        raise ValueError(f"an item of {rows.row_length} bytes is longer than a term of {image.term_buffer_length}")
    while rows.filled < rows.count:
        position = counter_get(image.subscriber_position)
        begin = offset = compute_frame_offset(position, image.term_buffer_length)
        term = image.log.terms[index_by_position(position, image.position_bits_to_shift)]
        outcome = copy_rows(term, &offset, image.term_buffer_length, rows, &paddings, &length)
        counter_set(image.subscriber_position, position + (offset - begin))
        if outcome != 0:
            if outcome > 0 and rows.filled == 0:
                raise ValueError(f"the next payload has {outcome - DATA_HEADER_LENGTH} bytes, an item of the array {rows.row_length}")
            if outcome == ROWS_MALFORMED and offset == begin:
                image.end_malformed(position, length)
            return outcome < 0
    return False


# Returns 0 at the end of the term or of the rows, else the length of a frame that is no row, or a ROWS_ result: where nothing more is there,
# or too much padding; or where a frame cannot be stepped over. *frame_length is the last frame's.
cdef int32_t copy_rows(const uint8_t* term, int32_t* offset, int32_t term_length, FixedLengthRows rows, int32_t* paddings,
                       int32_t* frame_length) noexcept nogil:
    cdef int32_t begin = offset[0], length = 0, step
    cdef int32_t expected = <int32_t>rows.row_length + <int32_t>DATA_HEADER_LENGTH
    cdef int32_t row_step = <int32_t>align_frame(expected), last_row = term_length - row_step
    cdef int64_t filled = rows.filled, count = rows.count, row_length = rows.row_length
    cdef uint8_t* row = rows.address + filled * row_length
    cdef const uint8_t* frame
    cdef int32_t outcome = 0
    while filled < count and begin < term_length:
        frame = term + begin
        prefetch_read(frame + PREFETCH_DISTANCE)
        length = frame_length_acquire(frame)
        if length == expected and begin <= last_row:
            step = row_step             # which is known before the length has come from memory
            if not frame_is_padding(frame):
                copy_bytes(row, frame + DATA_HEADER_LENGTH, row_length)
                row += row_length
                filled += 1
                begin += step
                continue
        else:
            step = frame_step(length, term_length - begin)
            if step <= 0:
                outcome = ROWS_MALFORMED if step == STEP_MALFORMED else ROWS_NOTHING_MORE
                break
            if not frame_is_padding(frame):
                outcome = length
                break
        begin += step
        paddings[0] -= 1
        if paddings[0] <= 0:
            outcome = ROWS_NOTHING_MORE
            break
    rows.filled = filled
    offset[0] = begin
    frame_length[0] = length
    return outcome
