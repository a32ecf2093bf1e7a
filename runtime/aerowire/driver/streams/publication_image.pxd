# A received stream: the receiver's side, the conductor agent's side, and what crosses between them.

cimport cython
from libc.stdint cimport int32_t, int64_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport ClockPort
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


# Addresses of its counters.
cdef struct ImageCounters:
    int64_t* hwm_position               # writer: the receiver; reader: the conductor agent
    int64_t* rebuild_position           # writer: the conductor agent; reader: the receiver
    int64_t* naks_sent                  # writer: the receiver

# Writer and only reader: the receiver.
cdef struct ImageReceiverSide:
    int64_t last_packet_ns
    int64_t last_loss_change
    bint is_end_of_stream
    int64_t end_position                # of the end of stream
    int heartbeats_past_end             # in a row, without the end
    bint ended_draining                 # it drains because its stream ended
    bint is_sending_eos                 # status messages tell the sender that its stream has ended here

# Writer: the receiver. Reader: the conductor agent, by acquire.
cdef struct ImageFromReceiver:
    int32_t is_released

# Writer: the conductor agent. Reader: the receiver, by acquire but for `end_asked`.
cdef struct ImageFromConductorAgent:
    int32_t release_asked               # the receiver shall let go
    int32_t end_asked                   # tell the end now
    StatusChange status_change
    LossChange loss_change

# Writer: the conductor. Readers: the receiver and, of `is_lost`, the conductor agent, by acquire.
cdef struct ImageFromConductor:
    int64_t response_session            # of the stream that answers this one; NO_RESPONSE when there is none to tell of
    int32_t status_asked                # let the next status message go at once; the receiver clears it
    int32_t is_lost                     # the log's file was cut short
    int32_t is_rejected                 # written after the text
    int32_t rejection_length
    char* rejection                     # NULL: not rejected; belongs to the image


@cython.final
cdef class PublicationImage(Subscribable):
    # fixed
    cdef readonly LogBuffers log
    cdef object _log_holder
    cdef readonly ReceiveEndpoint endpoint
    cdef SystemCounters system
    cdef StreamEvents stream_events     # None: nothing of it is noted
    cdef ClockPort clock                # for round trips and stamps; None: round trips as precise as the agent's cycle, no stamps
    cdef bint is_stamping
    cdef int32_t stamp_offset           # from the payload of a frame that begins a message
    cdef readonly int64_t correlation_id
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t initial_term_id
    cdef readonly str source_identity
    cdef int32_t term_length
    cdef int bits
    cdef bint is_reliable
    cdef int64_t _liveness_timeout_ns
    cdef ImageCounters counters
    cdef CongestionControl congestion_control
    # what crosses
    cdef ImageLifecycle lifecycle
    cdef int32_t is_rebuilding          # two writers: both agents clear it, the receiver sets it again when an end is taken back
    cdef ImageFromConductorAgent from_conductor_agent
    cdef ImageFromReceiver from_receiver
    cdef ImageFromConductor from_conductor
    # the receiver's side
    cdef ReceiveWindow window
    cdef MissingRanges missing
    cdef StatusTimer status_timer
    cdef ImageConnections connections
    cdef ImageReceiverSide receiver
    # the conductor agent's side
    cdef ConsumptionSchedule _consumption
    cdef LossDetector _loss
    cdef int32_t _gap_max               # bytes of a gap that are looked for: no sender in order leaves a longer one
    cdef int64_t _clean_position
    cdef LossReporter _losses
    cdef object __weakref__

    # receiver's thread
    cdef void add_connection(self, int transport_index, const Address* source, int64_t now_ns) noexcept nogil
    cdef void add_destination(self, ReceiveTransport transport, int64_t now_ns) noexcept nogil
    cdef void remove_destination(self, int transport_index, int64_t now_ns) noexcept nogil
    cdef void activate(self, int64_t now_ns) noexcept nogil
    cdef void deactivate(self, int64_t now_ns) noexcept nogil
    cdef bint is_wanted(self, int64_t now_ns) noexcept nogil            # False: let go of it
    cdef void stop_status_messages(self) noexcept nogil
    cdef void receiver_release(self) noexcept nogil
    cdef int64_t receiver_deadline_ns(self) noexcept nogil
    cdef void count_transports(self, int64_t now_ns) noexcept nogil
    cdef bint is_rebuilt_to_end(self) noexcept nogil
    # conductor agent's thread
    cdef int track_rebuild(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil
    cdef bint on_time_event(self, int64_t now_ns, EventQueue events) noexcept nogil    # True: forget it now
    cdef int64_t conductor_agent_deadline_ns(self) noexcept nogil
    cdef bint _is_drained(self) noexcept nogil
    cdef bint _is_over(self) noexcept nogil
    cdef void _check_frame(self, int state, EventQueue events) noexcept nogil
    cdef int64_t _untethered_limit(self) noexcept nogil
