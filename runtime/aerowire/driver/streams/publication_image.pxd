# A received stream: the receiver's half and the conductor agent's half.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport ClockPort
from aerowire.codecs.native.transport cimport ERROR_TEXT_LENGTH_MAX
from aerowire.driver.queues.events cimport EventQueue
from aerowire.driver.streams.image_changes cimport LossChange, StatusChange
from aerowire.driver.media.image_connections cimport ImageConnections
from aerowire.driver.streams.loss_reporter cimport LossReporter
from aerowire.driver.media.receive_endpoint cimport ReceiveEndpoint
from aerowire.driver.media.receive_transport cimport ReceiveTransport
from aerowire.driver.event_log.stream_events cimport StreamEvents
from aerowire.driver.streams.subscribable cimport Subscribable
from aerowire.driver.queues.system_counters cimport SystemCounters
from aerowire.logbuffer.log cimport LogBuffers
from aerowire.protocol.congestion_control cimport CongestionControl
from aerowire.protocol.lifecycle cimport ImageLifecycle
from aerowire.protocol.loss_detector cimport LossDetector
from aerowire.protocol.missing_ranges cimport MissingRanges
from aerowire.protocol.receive_window cimport ReceiveWindow
from aerowire.protocol.status_schedule cimport ConsumptionSchedule, StatusTimer

cdef int64_t NO_RESPONSE                # outside the range of sessions


@cython.final
cdef class PublicationImage(Subscribable):
    # fixed
    cdef LogBuffers _log
    cdef object _log_holder
    cdef ReceiveEndpoint _endpoint
    cdef SystemCounters _system
    cdef StreamEvents _stream_events      # None: nothing of it is noted
    cdef ClockPort _clock               # for round trips and stamps; None: round trips as precise as the agent's cycle, no stamps
    cdef bint _is_stamping
    cdef int32_t _stamp_offset          # from the payload of a frame that begins a message
    cdef readonly int64_t correlation_id
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t initial_term_id
    cdef readonly str source_identity
    cdef int32_t term_length
    cdef int bits
    cdef bint _reliable
    cdef int64_t _liveness_timeout_ns
    cdef int64_t* _hwm_position
    cdef int64_t* _rebuild_position
    cdef int64_t* _naks_sent
    cdef CongestionControl _congestion_control
    # between threads
    cdef ImageLifecycle lifecycle
    cdef int32_t _rebuilding            # 0: nothing is tracked any more; any of the two clears it
    cdef int32_t _release_asked         # conductor agent writes: the receiver shall let go
    cdef int32_t _receiver_released     # receiver writes
    cdef int32_t _end_asked             # conductor agent writes: tell the end now
    cdef int64_t _response_session      # conductor writes: of the stream that answers this one; NO_RESPONSE when there is none to tell of
    cdef int32_t _status_asked          # conductor writes: let the next status message go at once
    cdef int32_t _is_lost               # conductor writes: the log's file was cut short
    cdef int32_t _rejected              # conductor writes, after the text
    cdef int32_t _rejection_length
    cdef char* _rejection               # NULL: not rejected; belongs to the image
    cdef StatusChange _status_change        # conductor agent writes
    cdef LossChange _loss_change            # conductor agent writes
    # receiver
    cdef ReceiveWindow _window
    cdef MissingRanges _missing
    cdef StatusTimer _status
    cdef ImageConnections _transports
    cdef int64_t _last_packet_ns
    cdef int64_t _last_loss_change
    cdef bint _end_of_stream
    cdef int64_t _end_position              # of _end_of_stream
    cdef int _heartbeats_past_end           # in a row, without the end
    cdef bint _ended_draining               # it drains because its stream ended
    cdef bint _telling_end
    # conductor agent
    cdef ConsumptionSchedule _consumption
    cdef LossDetector _loss
    cdef int32_t _gap_max                   # bytes of a gap that are looked for: no sender in order leaves a longer one
    cdef int64_t _clean_position
    cdef LossReporter _losses
    cdef object __weakref__

    # receiver's thread
    # whether it said something new; a heartbeat seldom does
    cdef bint insert_packet(self, uint8_t* packet, int32_t length, int transport_index, const Address* source, int64_t now_ns) noexcept nogil
    cdef bint _end(self, bint is_revoked, int64_t now_ns) noexcept nogil
    cdef void _take_back_end(self, int64_t now_ns) noexcept nogil
    cdef void _disbelieve_end(self, int64_t now_ns) noexcept nogil
    cdef void add_connection(self, int transport_index, const Address* source, int64_t now_ns) noexcept nogil
    cdef void add_destination(self, ReceiveTransport transport, int64_t now_ns) noexcept nogil
    cdef void remove_destination(self, int transport_index, int64_t now_ns) noexcept nogil
    cdef void activate(self, int64_t now_ns) noexcept nogil
    cdef void deactivate(self, int64_t now_ns) noexcept nogil
    cdef bint is_wanted(self, int64_t now_ns) noexcept nogil            # False: let go of it
    cdef void stop_status_messages(self) noexcept nogil
    cdef void receiver_release(self) noexcept nogil
    cdef int64_t receiver_deadline_ns(self) noexcept nogil
    cdef void on_rtt_measurement(self, int64_t echo_timestamp_ns, int64_t reception_delta_ns, int64_t now_ns) noexcept nogil
    # conductor agent's thread
    cdef int track_rebuild(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil
    cdef bint on_time_event(self, int64_t now_ns, EventQueue events) noexcept nogil    # True: forget it now
    cdef int64_t conductor_agent_deadline_ns(self) noexcept nogil
    # receiver's thread: fill [begin, begin + length) with padding if nothing of it is there; whether it was
    cdef bint fill_missing(self, int32_t term_id, int32_t term_offset, int32_t length) noexcept nogil
    # private
    cdef void _insert(self, const uint8_t* packet, int32_t length, int64_t position, int32_t covered) noexcept nogil
    cdef void _insert_frames(self, const uint8_t* packet, int32_t length, int64_t position) noexcept nogil
    cdef bint _on_heartbeat(self, const uint8_t* packet, int64_t position, int transport_index, const Address* source, int64_t now_ns) noexcept nogil
    cdef void _count_transports(self, int64_t now_ns) noexcept nogil
    cdef bint _rebuilt_to_end(self) noexcept nogil
    cdef bint _is_drained(self) noexcept nogil
    cdef bint _is_over(self) noexcept nogil
    cdef void _check_frame(self, int state, EventQueue events) noexcept nogil
    cdef int64_t _untethered_limit(self) noexcept nogil
