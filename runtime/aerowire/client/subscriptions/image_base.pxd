# What an image is beside its polls.

from libc.stdint cimport int32_t, int64_t
from aerowire.client.subscriptions.batch cimport BatchPool
from aerowire.client.subscriptions.header cimport Header
from aerowire.client.handles.numbers cimport Numbers
from aerowire.client.handles.state cimport Handle
from aerowire.ipc.counters cimport CountersReader
from aerowire.logbuffer.block_reader cimport LogTerms
from aerowire.logbuffer.log cimport LogBuffers


cdef enum:
    PADDINGS_MAX = 4096                 # frames of padding that one poll steps over: a log may hold nothing else, and a poll must end


cdef class ImageBase(Handle):
    cdef LogBuffers _logs
    cdef object _hold                   # the log's mapping
    cdef CountersReader _counters
    cdef int64_t* subscriber_position
    cdef LogTerms log
    cdef BatchPool batches
    cdef tuple term_views               # a read-only memoryview of each term
    cdef Header header
    cdef Numbers numbers                # offsets that handlers are called with
    cdef object _subscription           # weak
    cdef object subscriber_error_handler    # None: what a handler raises goes to the poll's caller
    cdef object _file                   # the log's file, once raw_poll has asked for it
    cdef object _open_file              # opens it by its path
    cdef int fragments_read             # by the last poll
    cdef bint is_polling
    cdef bint is_behind                 # the last poll ended at its limit: there is more, and the writer is far enough ahead to read on
    cdef bint is_lent                   # a block is out
    cdef int64_t _final_position
    cdef int64_t _final_end_of_stream_position
    cdef bint _final_is_revoked
    cdef readonly int64_t correlation_id
    cdef readonly int64_t join_position
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t subscriber_position_id
    cdef readonly int32_t initial_term_id
    cdef readonly int32_t term_buffer_length
    cdef readonly int32_t mtu_length
    cdef readonly int position_bits_to_shift
    cdef readonly str source_identity

    cdef LogBuffers log_buffers(self)
    cdef CountersReader position_counters(self)
    cdef object log_file(self)
    cdef object live_subscription(self)         # of an open image; raises where there is none
    cdef object end_result(self)                # 0 where the stream has gone; raises what is to be raised otherwise
    cdef int require_idle(self) except -1
    cdef int64_t current_position(self) noexcept nogil
    # End the image at a frame that cannot be stepped over: what a poll does that finds one at the image's position.
    cdef int end_malformed(self, int64_t position, int32_t frame_length) except -1
