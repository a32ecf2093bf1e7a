"""What an image is beside its polls: where it stands in its log, and how its stream ends. Aeron: Image.

Knows nothing of commands or threads: the conductor makes it and ends it. Every buffer that it hands out keeps the log mapped.
"""

from libc.stdint cimport int32_t, int64_t

from aerowire.client.handles.numbers cimport numbers_clear
from aerowire.client.handles.state cimport STATE_FORKED, STATE_OPEN, STATE_UNAVAILABLE, Handle
from aerowire.ipc.counters cimport CountersReader, counter_get
from aerowire.codecs.native.logbuffer cimport PARTITION_COUNT
from aerowire.logbuffer.block_reader cimport terms_of
from aerowire.logbuffer.descriptor cimport compute_frame_offset
from aerowire.memory.region cimport Mapping

import weakref

from aerowire.base.errors import AerowireError, MalformedFrameError
from aerowire.client.handles.html import image_html


cdef class ImageBase(Handle):
    """The messages of one publication, from where this subscriber joined: all but reading them.

    Invariant: only an image's own polls move the subscriber position, and only forwards.
    """

    def __init__(self, subscription, LogBuffers logs not None, CountersReader counters not None, *, int64_t correlation_id,
                 int32_t session_id, int32_t stream_id, int32_t subscriber_position_id, str source_identity not None,
                 open_file, subscriber_error_handler=None):
        cdef Mapping mapping = logs.hold()
        cdef int64_t start
        self.subscriber_position = counters.value_address(subscriber_position_id)
        if self.subscriber_position is NULL:
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
        self._open_file = open_file
        self.initial_term_id = logs.initial_term_id
        self.term_buffer_length = logs.term_length
        self.mtu_length = logs.mtu_length
        self.position_bits_to_shift = logs.bits
        self.join_position = counter_get(self.subscriber_position)
        views = []
        self.log = terms_of(logs)
        for index in range(PARTITION_COUNT):
            start = self.log.terms[index] - mapping.address
            views.append(memoryview(mapping)[start:start + logs.term_length].toreadonly())
        self.term_views = tuple(views)
        self.batches = BatchPool()
        self.header = Header.__new__(Header)
        self.header.initial_term_id = logs.initial_term_id
        self.header.bits = logs.bits
        self.header.hold = mapping
        self.header.source = self
        self.header.builder_key = session_id
        self.subscriber_error_handler = subscriber_error_handler

    def __dealloc__(self):
        numbers_clear(&self.numbers)

    def _repr_html_(self):
        """Render as a table, for notebooks."""
        return image_html(self)

    def __repr__(self):
        return (f"{type(self).__name__}(session_id={self.session_id}, stream_id={self.stream_id}, source_identity={self.source_identity!r}, "
                f"correlation_id={self.correlation_id}, position={self.position}, is_closed={self.is_closed})")

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
        return self._logs.end_of_stream_position() if self.handle_state == STATE_OPEN else self._final_end_of_stream_position

    @property
    def is_end_of_stream(self):
        """Whether the publication has ended and everything of it has been read."""
        return self.current_position() >= self.end_of_stream_position

    @property
    def is_publication_revoked(self):
        """Whether the publication was revoked: what was not read yet is void."""
        return self._logs.is_revoked() if self.handle_state == STATE_OPEN else self._final_is_revoked

    @property
    def active_transport_count(self):
        """How many destinations the stream is arriving at; 0 for IPC and when the stream has gone."""
        return self._logs.active_transport_count() if self.handle_state == STATE_OPEN else 0

    def _end(self, int state, failure=None):
        if self.handle_state == STATE_OPEN and state != STATE_FORKED:
            self._final_position = counter_get(self.subscriber_position)
            self._final_end_of_stream_position = self._logs.end_of_stream_position()
            self._final_is_revoked = self._logs.is_revoked()
        Handle._end(self, state, failure)

    @property
    def failure(self):
        """The MalformedFrameError that ended the image; None while it is open, and where its stream has gone for another reason."""
        return self.ended_by if self.handle_state == STATE_UNAVAILABLE else None

    @property
    def file(self):
        """The log's file, open for reading, as `raw_poll` hands it out. Aeron: fileChannel."""
        if self.handle_state != STATE_OPEN and self._file is None:
            self.raise_not_open()
        return self.log_file()

    def reject(self, str reason not None):
        """Have the driver drop the image and tell the publisher why, in at most 1,023 ASCII characters; waits for the driver.

        The publisher's client hears of it in its `publication_error_frame_handler`. Raises RegistrationError.
        """
        self.live_subscription()._wait_for_rejection(self.correlation_id, self.current_position(), reason)

    def async_reject(self, str reason not None):
        """Start to have the driver drop the image, as `reject`: `poll()` the result until it returns true."""
        return self.live_subscription()._reject_image(self.correlation_id, self.current_position(), reason)

    cdef object live_subscription(self):
        subscription = self.subscription
        self._ensure_open()
        if subscription is None:
            raise AerowireError("an image without its subscription cannot be rejected", where=self)
        return subscription

    cdef LogBuffers log_buffers(self):
        return self._logs

    cdef CountersReader position_counters(self):
        return self._counters

    cdef object log_file(self):
        if self._file is None:
            self._file = self._open_file(self._logs.path)
        return self._file

    cdef object end_result(self):
        if self.handle_state != STATE_UNAVAILABLE:
            self.raise_not_open()
        return 0

    cdef int64_t current_position(self) noexcept nogil:
        return counter_get(self.subscriber_position) if self.handle_state == STATE_OPEN else self._final_position

    cdef int end_malformed(self, int64_t position, int32_t frame_length) except -1:
        cdef int32_t room = self.term_buffer_length - compute_frame_offset(position, self.term_buffer_length)
        subscription = self.subscription
        self._end(STATE_UNAVAILABLE, MalformedFrameError(
            "a frame cannot be stepped over: the image has ended", session_id=self.session_id, stream_id=self.stream_id,
            position=position, frame_length=frame_length, room=room))
        if subscription is not None:
            subscription._on_image_failed(self)
        return 0

    cdef int require_idle(self) except -1:
        if self.is_polling:
            raise AerowireError("an image is polled by its own handler or by two threads", where=self, expected="one poll at a time")
        if self.is_lent:
            raise AerowireError("an image is polled while a block of it is out", where=self, hint="release the block first")
        if self.loan is not None:
            raise AerowireError("an image is polled while an agent reads it", where=self, hint="recall() the loan, then take_back()")
        return 0
