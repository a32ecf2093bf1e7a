"""A stream between processes of one machine. Publishers and subscribers share its log; the conductor agent only limits, cleans and ends it."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t

cimport cython

from aerowire.base.wrapping cimport wrapping_add_long
from aerowire.codecs.native.counters cimport SYSTEM_COUNTER_PUBLICATIONS_REVOKED, SYSTEM_COUNTER_UNBLOCKED_PUBLICATIONS
from aerowire.codecs.native.events cimport DRIVER_EVENT_CODE_PUBLICATION_REVOKE
from aerowire.codecs.native.logbuffer cimport END_OF_STREAM_POSITION_UNSET
from aerowire.driver.queues.events cimport EVENT_COOL_DOWN_OVER, EVENT_PUBLICATION_DONE, EVENT_PUBLICATION_LINGER, EVENT_PUBLICATION_REMOVED
from aerowire.driver.streams.publication_support cimport (
    claimed_length, clean_towards, malformed_length, possibly_blocked, publish_end, publish_end_at, show_connected)
from aerowire.ipc.counters cimport CountersReader, counter_get_relaxed, counter_increment, counter_set
from aerowire.logbuffer.rebuild cimport UNBLOCK_MALFORMED, UNBLOCK_NO_ACTION, unblock_log
from aerowire.memory.atomics cimport load_relaxed_i64, store_relaxed_i64
from aerowire.protocol.lifecycle cimport PUBLICATION_ACTIVE, PUBLICATION_DONE, PUBLICATION_DRAINING, PUBLICATION_LINGER
from aerowire.protocol.untethered cimport UntetheredTimes

cdef int TRIP_GAIN_SHIFT = 3            # the limit moves, and memory is cleaned, each eighth of the window


@cython.final
cdef class IpcPublication(Subscribable):
    """One publication of one session over IPC; all but the constructor and the properties runs on the conductor agent. Aeron: IpcPublication.

    Invariant: publisher limit <= slowest subscriber + window; everything behind the clean position plus two terms is zero.
    """

    def __cinit__(self, LogBuffers log not None, CountersReader counters not None, SystemCounters system not None, *,
                  int64_t registration_id, int32_t session_id, int32_t stream_id, int32_t initial_term_id, int32_t publisher_position_id,
                  int32_t publisher_limit_id, int32_t mtu, int32_t publication_window, bint exclusive, int64_t now_ns,
                  int64_t unblock_timeout_ns=15_000_000_000, int64_t cool_down_ns=10_000_000_000, UntetheredTimes untethered=None,
                  StreamEvents stream_events=None):
        cdef int64_t position = log.producer_position()
        self._log = log
        self._log_holder = log.hold()
        self.set_up_subscribers(counters, untethered)
        self._cool_down_ns = cool_down_ns
        self._system = system
        self._stream_events = stream_events
        self.registration_id = registration_id
        self.session_id = session_id
        self.stream_id = stream_id
        self.initial_term_id = initial_term_id
        self.mtu = mtu
        self.is_exclusive = exclusive
        self.term_length = log.term_length
        self.bits = log.bits
        self._window_length = publication_window
        self._trip_gain = publication_window >> TRIP_GAIN_SHIFT
        self._publisher_position = counters.set_value_address(publisher_position_id, position)
        self._publisher_limit = counters.set_value_address(publisher_limit_id, position)
        self.lifecycle = PublicationLifecycle(linger_ns=0)
        self._unblock = UnblockTimer(timeout_ns=unblock_timeout_ns, position=position, now_ns=now_ns)
        self._consumer_position = position
        self._clean_position = position
        self._trip_limit = position
        log.set_end_of_stream_position(END_OF_STREAM_POSITION_UNSET)
        log.set_connected(False)
        log.set_active_transport_count(0)

    cdef int update_limit(self) noexcept nogil:
        cdef int64_t slowest, fastest, limit
        if self.lifecycle.state() != PUBLICATION_ACTIVE:
            return 0
        counter_set(self._publisher_position, self._log.producer_position())
        if self.subscribers.count == 0:
            if counter_get_relaxed(self._publisher_limit) <= self._consumer_position:
                return 0
            self._trip_limit = self._consumer_position
            counter_set(self._publisher_limit, self._consumer_position)
            self._clean_position = clean_towards(self._log, self._clean_position, self._consumer_position)
            return 1
        slowest = self.subscribers.least(INT64_MAX)
        fastest = self.subscribers.greatest(self._consumer_position)
        if fastest > self._consumer_position:
            store_relaxed_i64(&self._consumer_position, fastest)
        limit = wrapping_add_long(slowest, self._window_length)
        if limit < self._trip_limit:
            return 0
        self._clean_position = clean_towards(self._log, self._clean_position, slowest)      # BEFORE the limit lets a publisher in
        counter_set(self._publisher_limit, limit)
        self._trip_limit = limit + self._trip_gain
        return 1

    cdef bint on_time_event(self, int64_t now_ns, EventQueue events) noexcept nogil:
        cdef int state = self.lifecycle.state()
        cdef int64_t producer_position
        if state == PUBLICATION_ACTIVE:
            if self._log.is_revoked():
                publish_end(self._log, self._publisher_limit)
                self._log.set_connected(False)
                self.lifecycle.on_revoked(now_ns)
                if self._stream_events is not None:
                    self._stream_events.revoked(DRIVER_EVENT_CODE_PUBLICATION_REVOKE, self._log.producer_position())
                counter_increment(self._system.address[SYSTEM_COUNTER_PUBLICATIONS_REVOKED])
            else:
                self.check_untethered(self._consumer_position - self._window_length + (self._window_length >> 2), now_ns, events)
                show_connected(self._log, self.subscribers.count > 0)
                producer_position = self._log.producer_position()
                counter_set(self._publisher_position, producer_position)
                if not self.is_exclusive and self._unblock.poll_unblock(
                        self._consumer_position, possibly_blocked(self._log, producer_position, self._consumer_position), now_ns):
                    self._free_blocked()
                self._check_frame(now_ns)
                self._check_cool_down(now_ns, events)
        elif state == PUBLICATION_DRAINING:
            self.check_lingering(now_ns, events)
            counter_set(self._publisher_position, self._log.producer_position())
            store_relaxed_i64(&self._consumer_position, self.subscribers.greatest(self._consumer_position))
            if self._is_drained():
                self.lifecycle.on_drained(now_ns)
            else:
                self._free_blocked()
                self._check_frame(now_ns)
        elif state == PUBLICATION_LINGER and self._linger_posted:
            self.lifecycle.poll_done(True, now_ns)
        if self.is_malformed() and not self.tell_malformed(events):
            return False
        if self.lifecycle.state() == PUBLICATION_DONE:
            if not self._done_posted:
                self._done_posted = events.offer_or_retry(EVENT_PUBLICATION_DONE, <void*>self, 0, 0)
            return self._done_posted and events.offer_or_retry(EVENT_PUBLICATION_REMOVED, <void*>self, 0, 0)
        if not self._linger_posted and self.lifecycle.state() == PUBLICATION_LINGER:
            self._linger_posted = events.offer_or_retry(EVENT_PUBLICATION_LINGER, <void*>self, self._log.is_revoked(), 0)
        return False

    cdef void _free_blocked(self) noexcept nogil:
        cdef int status = unblock_log(self._log, self._consumer_position)
        if status == UNBLOCK_MALFORMED:
            self.on_malformed(self._consumer_position, claimed_length(self._log, self._consumer_position), 0)
        elif status != UNBLOCK_NO_ACTION:
            counter_increment(self._system.address[SYSTEM_COUNTER_UNBLOCKED_PUBLICATIONS])

    cdef void _check_frame(self, int64_t now_ns) noexcept nogil:
        # The stream ends at a frame that cannot be stepped over, because no reader can reach the frames behind it.
        cdef int32_t length = malformed_length(self._log, self._consumer_position)
        if length != 0:
            self.on_malformed(self._consumer_position, length, 0)
        if self.is_malformed():
            publish_end_at(self._log, self._publisher_limit, self._consumer_position)
            self._log.set_connected(False)
            self.lifecycle.on_malformed(now_ns)

    cdef void on_closed(self) noexcept nogil:
        publish_end(self._log, self._publisher_limit)
        self.lifecycle.on_closed(self._log.is_revoked())

    cdef void on_rejected(self, int64_t now_ns) noexcept nogil:
        # The conductor unlinks its subscribers; none may join until the cool-down is over.
        self._in_cool_down = True
        self._cool_down_ends_ns = now_ns + self._cool_down_ns

    cdef void _check_cool_down(self, int64_t now_ns, EventQueue events) noexcept nogil:
        if self._in_cool_down and self._cool_down_ends_ns - now_ns < 0:
            self._in_cool_down = not events.offer_or_retry(EVENT_COOL_DOWN_OVER, <void*>self, 0, 0)

    cdef bint may_join(self) noexcept nogil:
        cdef int state = self.lifecycle.state()
        return not self._in_cool_down and (state == PUBLICATION_ACTIVE or (state == PUBLICATION_DRAINING and not self._is_drained()))

    cdef int64_t join_position(self) noexcept nogil:
        return self.subscribers.least(self._consumer_position)

    cdef void before_leaving(self) noexcept nogil:
        store_relaxed_i64(&self._consumer_position, self.subscribers.greatest(self._consumer_position))

    cdef void on_subscribers_changed(self) noexcept nogil:
        if self.lifecycle.state() < PUBLICATION_DONE:   # else the log may be gone
            show_connected(self._log, self.subscribers.count > 0)

    cdef bint _is_drained(self) noexcept nogil:
        return self.subscribers.all_reached(self._log.producer_position())

    def revoke(self) -> None:
        """Mark the stream as revoked: nothing is drained. Then close it."""
        self._log.set_revoked()

    @property
    def state(self) -> int:
        """The PublicationState."""
        return self.lifecycle.state()

    @property
    def log(self):
        """The LogBuffers."""
        return self._log

    @property
    def producer_position(self) -> int:
        """Position of the log's tail, in bytes."""
        return self._log.producer_position()

    @property
    def consumer_position(self) -> int:
        """Position of the fastest subscriber, in bytes."""
        return load_relaxed_i64(&self._consumer_position)

    @property
    def is_connected(self) -> bool:
        """Whether publishers are told that somebody listens."""
        return self._log.is_connected()

    @property
    def accepts_subscribers(self) -> bool:
        """Whether a subscriber is likely to be let in; link_subscriber decides."""
        return self.lifecycle.state() <= PUBLICATION_DRAINING
