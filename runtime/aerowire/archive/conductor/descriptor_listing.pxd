# A listing of descriptors of recordings: which comes next, and how many are left.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.archive.files.catalog_index cimport CatalogIndex
from aerowire.base.idle cimport IdleStrategy
from aerowire.client.publications.publication cimport ExclusivePublication


@cython.final
cdef class DescriptorListing:
    """DescriptorListing(head, from_id, count, *, end_id=None, stream_id=None, channel_fragment=b"", patience=0). One thread."""

    cdef readonly int64_t next_id           # from which the search goes on
    cdef readonly int64_t left              # descriptors that may still be sent
    cdef readonly int64_t sent              # by the last call of `send`
    cdef readonly int64_t refusal           # of the publication in that call; 0 for none
    cdef readonly bint is_exhausted         # there is no recording from `next_id` on
    cdef bytes _head
    cdef const uint8_t* _head_start
    cdef int64_t _head_length
    cdef bytes _fragment
    cdef const uint8_t* _fragment_start
    cdef int64_t _fragment_length
    cdef int64_t _end_id
    cdef int32_t _stream_id
    cdef bint _is_filtered
    cdef int _patience
    cdef IdleStrategy _yielding
    cdef int64_t _length                    # of the message that was offered last

    cdef int64_t _send(self, ExclusivePublication publication, CatalogIndex index, const uint8_t* data, int64_t length) noexcept nogil
    cdef bint _matches(self, const uint8_t* descriptor) noexcept nogil
    cdef int64_t _offer(self, ExclusivePublication publication, const uint8_t* descriptor, int64_t length) noexcept nogil
