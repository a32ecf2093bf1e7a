# A log buffer file: three terms and their metadata, as one region.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.memory.region cimport Region


@cython.final
cdef class LogBuffers:
    """`create(path, parameters..., regions=None)` by the driver; `map(path)` by a client. Keeps its region until the last holder goes."""

    cdef uint8_t* address               # term 0; NULL once closed
    cdef uint8_t* metadata              # LogMetadata; NULL once closed
    cdef int32_t term_length
    cdef int32_t mtu_length
    cdef int32_t initial_term_id
    cdef int32_t page_size
    cdef int bits                       # position_bits_to_shift
    cdef Region _region
    cdef object _path
    cdef object __weakref__

    cdef uint8_t* term_address(self, int index) noexcept nogil
    cdef object hold(self)                                              # keep while a native agent uses the addresses
    # Metadata that changes while the stream lives. Any thread.
    cdef bint is_connected(self) noexcept nogil
    cdef void set_connected(self, bint connected) noexcept nogil
    cdef int32_t active_transport_count(self) noexcept nogil
    cdef void set_active_transport_count(self, int32_t count) noexcept nogil
    cdef int64_t end_of_stream_position(self) noexcept nogil            # INT64_MAX until the end is known
    cdef void set_end_of_stream_position(self, int64_t position) noexcept nogil
    cdef bint is_revoked(self) noexcept nogil
    cdef void set_revoked(self) noexcept nogil
    cdef int64_t producer_position(self) noexcept nogil                 # position of the active tail
    cdef int64_t raw_tail(self, int index) noexcept nogil

    cdef int _attach(self, Region region, object path, int32_t term_length) except -1
    cdef void _read_parameters(self)
    cdef void _write_default_header(self, int32_t session_id, int32_t stream_id, int32_t term_id, int32_t term_offset)
    cdef void _write_tails(self, int32_t initial_term_id, int32_t term_id, int32_t term_offset)
    cdef object _view(self)
    cdef LogBuffers _open(self)
