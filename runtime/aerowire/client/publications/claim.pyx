"""A claimed frame: space in the log that the owner fills in place and then commits or aborts. Aeron: BufferClaim."""

cimport cython
from cpython.buffer cimport PyBUF_ND, PyBUF_FORMAT, PyBuffer_Release
from libc.stdint cimport UINT8_MAX, UINT16_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

import weakref

from aerowire.base.whole_numbers cimport int64_of
from aerowire.codecs.native.transport cimport (
    DATA_HEADER_LENGTH, data_header_flags, data_header_reserved_value, data_header_set_flags, data_header_set_reserved_value,
    data_header_set_type, data_header_type)
from aerowire.logbuffer.append cimport claim_abort, claim_commit
from aerowire.memory.buffers cimport borrow_bytes

from aerowire.base.arguments import whole_number
from aerowire.base.errors import ClosedError


cdef char* BYTES_FORMAT = b"B"


@cython.final
@cython.no_gc_clear     # the collector leaves the publication to __dealloc__, which tells it what becomes of the space
cdef class BufferClaim:
    """Space for one message in a publication's log, written in place: `claim.buffer[:] = message; claim.commit()`.

    True when space was claimed; `result` then is the stream position after the message, else the negative code that `offer` would have
    returned. As a context manager it commits at the end of the block and aborts if the block raises. A claim that is dropped without either
    is aborted, because an open claim holds the whole stream back. After commit or abort the view in `buffer` is released; views made from it
    stay readable but belong to the log. Belongs to one thread.
    """

    def __init__(self):
        raise TypeError("a BufferClaim comes from try_claim()")

    def __dealloc__(self):
        if self._frame is not NULL and self._publication is not None and not self._publication.is_disowned():
            claim_abort(self._frame)

    def __getbuffer__(self, Py_buffer* view, int flags):
        if self._frame is NULL:
            view.obj = None
            raise BufferError("nothing is claimed: try_claim() failed, or the claim is committed or aborted")
        self._shape[0] = self._length
        view.buf = self._body
        view.obj = self
        view.len = self._length
        view.itemsize = 1
        view.readonly = 0
        view.ndim = 1
        view.format = BYTES_FORMAT if flags & PyBUF_FORMAT else NULL
        view.shape = self._shape if flags & PyBUF_ND else NULL
        view.strides = &view.itemsize if flags & PyBUF_ND else NULL
        view.suboffsets = NULL
        view.internal = NULL

    def __releasebuffer__(self, Py_buffer* view):
        pass

    def __bool__(self):
        return self._result > 0

    def __enter__(self):
        return self

    def __exit__(self, error_type, error, traceback):
        if self._frame is not NULL:
            if error_type is None:
                self.commit()
            else:
                self.abort()

    def __repr__(self):
        return f"BufferClaim(result={self._result}, length={self._length}, is_open={self._frame is not NULL})"

    @property
    def result(self):
        """Position after the message, or the negative code that says why nothing was claimed."""
        return self._result

    @property
    def is_open(self):
        """Whether there is claimed space that is neither committed nor aborted."""
        return self._frame is not NULL

    @property
    def length(self):
        """Bytes claimed for the message."""
        return self._length

    @property
    def buffer(self):
        """A writable memoryview of the message's space, until commit or abort. Raises ClosedError when there is none."""
        self.require_open()
        # Known weakly: a view keeps its claim, and a claim that kept its view would never be dropped.
        view = None if self._view is None else self._view()
        if view is None:
            view = memoryview(self)
            self._view = weakref.ref(view)
        return view

    @property
    def flags(self):
        """The frame's flags (`DataFlags`); unfragmented unless set."""
        self.require_open()
        return data_header_flags(self._frame)

    @flags.setter
    def flags(self, value):
        self.require_open()
        data_header_set_flags(self._frame, whole_number("flags", value, 0, UINT8_MAX))

    @property
    def header_type(self):
        """The frame's type (`FrameType`); DATA unless set."""
        self.require_open()
        return data_header_type(self._frame)

    @header_type.setter
    def header_type(self, value):
        self.require_open()
        data_header_set_type(self._frame, whole_number("header_type", value, 0, UINT16_MAX))

    @property
    def reserved_value(self):
        """The frame's 64 bits for the application's own use; 0 unless set."""
        self.require_open()
        return data_header_reserved_value(self._frame)

    @reserved_value.setter
    def reserved_value(self, value):
        self.require_open()
        data_header_set_reserved_value(self._frame, int64_of("reserved_value", value))

    def put_bytes(self, data, offset=0):
        """Copy `data` (any contiguous buffer) into the message's space at `offset`. Raises ValueError when it does not fit."""
        cdef Py_buffer view
        cdef int64_t begin = int64_of("offset", offset)
        self.require_open()
        borrow_bytes(data, &view)
        try:
            if begin < 0 or view.len > self._length or begin > self._length - view.len:
                raise ValueError(f"{view.len} bytes at {begin} do not fit into a claim of {self._length}")
            memcpy(self._body + begin, view.buf, view.len)
        finally:
            PyBuffer_Release(&view)

    def commit(self):
        """Make the message visible to subscribers. Raises ClosedError when it is already committed or aborted."""
        self.require_open()
        claim_commit(self._frame)
        self.finish()

    def abort(self):
        """Turn the claimed space into padding, which subscribers never see."""
        self.require_open()
        claim_abort(self._frame)
        self.finish()

    cdef void put_prefix(self, const uint8_t* prefix, int32_t length) noexcept:
        memcpy(self._body, prefix, length)
        self._body += length
        self._length -= length

    cdef int require_open(self) except -1:
        if self._frame is NULL:
            raise ClosedError(
                "no claimed space" if self._result <= 0 else "the claim is already committed or aborted",
                where=self._publication, actual=f"result {self._result}")
        if self._publication.is_disowned():
            self._publication.raise_not_open()
        return 0

    cdef object finish(self):
        self._frame = NULL
        view = None if self._view is None else self._view()
        self._view = None
        if view is not None:
            try:
                view.release()
            except BufferError:
                pass  # somebody made a view of the view; it keeps the mapping alive


cdef BufferClaim new_claim(uint8_t* frame, int64_t result, int32_t length, Handle publication):
    cdef BufferClaim claim = BufferClaim.__new__(BufferClaim)
    claim._frame = frame
    claim._body = NULL if frame is NULL else frame + DATA_HEADER_LENGTH
    claim._result = result
    claim._length = length
    claim._publication = publication
    return claim
