"""An image on loan to a native agent, which reads blocks of the log where they lie and moves the subscriber position.

The log and the counters stay mapped until the loan is gone. The driver may have freed the position's counter before the client knows that
the stream has ended: a move does nothing then.
"""

from libc.stdint cimport int32_t, int64_t

from aerowire.client.subscriptions.image_base cimport ImageBase
from aerowire.codecs.native.logbuffer cimport (
    LOG_METADATA_END_OF_STREAM_POSITION_OFFSET, LOG_METADATA_IS_PUBLICATION_REVOKED_OFFSET)
from aerowire.ipc.counters cimport counter_get
from aerowire.ipc.owned_counter cimport owned_counter_is_owned, owned_counter_open, owned_counter_replace
from aerowire.logbuffer.block_reader cimport BLOCK_NONE, read_block
from aerowire.memory.atomics cimport load_acquire_i64, load_acquire_u8


cdef class LentImage(Loan):
    """An image that a native agent reads; LentImage(image) lends it. Polls of the image raise until it has been given back.

    Invariant: the position moves forwards only, and never beyond a block that was read.
    """

    def __init__(self, ImageBase image not None):
        image.require_idle()
        image.begin_loan(self)
        self.session_id = image.session_id
        self.stream_id = image.stream_id
        self._log = image.log
        self._metadata = image.log_buffers().metadata
        self._hold = (image.log_buffers().hold(), image.position_counters())
        owned_counter_open(&self._position, image.position_counters(), image.subscriber_position_id)
        self._read_to = counter_get(self._position.value)

    cdef int64_t position(self) noexcept nogil:
        return counter_get(self._position.value)

    cdef int32_t read(self, int64_t position, int64_t limit_position, int32_t length_limit, LogBlock* block) noexcept nogil:
        cdef int32_t length
        if not self.is_out() or position < counter_get(self._position.value):
            return BLOCK_NONE
        length = read_block(&self._log, position, limit_position, length_limit, block)
        if length > 0 and position + length > self._read_to:
            self._read_to = position + length
        return length

    cdef bint move_to(self, int64_t position) noexcept nogil:
        cdef int64_t current = counter_get(self._position.value)
        return self.is_out() and current < position <= self._read_to and owned_counter_replace(&self._position, current, position)

    cdef int64_t end_of_stream_position(self) noexcept nogil:
        return load_acquire_i64(self._metadata + LOG_METADATA_END_OF_STREAM_POSITION_OFFSET)

    cdef bint is_revoked(self) noexcept nogil:
        return load_acquire_u8(self._metadata + LOG_METADATA_IS_PUBLICATION_REVOKED_OFFSET) == 1

    # -- Python faces ----------------------------------------------------------------------------------------------------------------

    @property
    def is_owned(self) -> bool:
        """Whether the subscriber position is still this image's."""
        return owned_counter_is_owned(&self._position)

    def read_block(self, int64_t position, int64_t limit_position, int32_t length_limit):
        """Return the bytes of a block, or 0 or -1, as the agent's read would."""
        cdef LogBlock block
        cdef int32_t found = self.read(position, limit_position, length_limit, &block)
        return found if found <= 0 else (<const char*>block.address)[:block.length]

    def move(self, int64_t position) -> bool:
        """Move the subscriber position, as the agent would."""
        return self.move_to(position)
