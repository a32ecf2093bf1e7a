"""Where the reserved value of a message's frames comes from. Aeron: ReservedValueSupplier.

A supplier that raises leaves its frame, and the rest of the message, as padding: a frame that is claimed must become something, or it holds
the stream back.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.codecs.native.transport cimport FRAME_TYPE_PAD, data_header_set_type


cdef int64_t fixed_value(void* context, uint8_t* term, int32_t term_offset, int32_t frame_length) noexcept nogil:
    return (<int64_t*>context)[0]


cdef int64_t supplied_value(void* context, uint8_t* term, int32_t term_offset, int32_t frame_length) noexcept nogil:
    with gil:
        return asked(<ReservedSupplier>context, term + term_offset, frame_length)


cdef int64_t asked(ReservedSupplier supplier, uint8_t* frame, int32_t frame_length) noexcept:
    if supplier.failure is None:
        try:
            return supplier.ask(frame - supplier.logs.address, frame_length)
        except BaseException as error:
            supplier.failure = error
    data_header_set_type(frame, FRAME_TYPE_PAD)
    return 0


@cython.final
cdef class ReservedSupplier:
    """An application's function that is asked for each frame of one message."""

    cdef int64_t ask(self, int64_t log_offset, int32_t frame_length) except? -99:
        cdef int32_t index = <int32_t>(log_offset // self.logs.term_length)
        return self.function(self.logs.term_view(index).toreadonly(), log_offset - <int64_t>index * self.logs.term_length, frame_length)

    cdef int raise_failure(self) except -1:
        if self.failure is not None:
            raise self.failure
        return 0


cdef ReservedSupplier new_supplier(object function, LogBuffers logs):
    cdef ReservedSupplier supplier = ReservedSupplier.__new__(ReservedSupplier)
    if not callable(function):
        raise TypeError(f"a reserved value is an int or a function (buffer, offset, length), not {function!r}")
    supplier.function = function
    supplier.logs = logs
    return supplier
