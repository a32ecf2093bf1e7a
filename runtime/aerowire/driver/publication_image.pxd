# A received stream: the receiver's half and the tracker's half.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.address cimport Address
from aerowire.codecs.native.transport cimport ERROR_TEXT_LENGTH_MAX
from aerowire.driver.events cimport EventQueue
from aerowire.driver.receive_endpoint cimport ReceiveEndpoint
from aerowire.driver.subscriber_positions cimport SubscriberPositions
from aerowire.driver.system_counters cimport SystemCounters
from aerowire.ipc.counters cimport CountersReader
from aerowire.ipc.loss_report cimport LossReport
from aerowire.logbuffer.log cimport LogBuffers
from aerowire.protocol.congestion_control cimport CongestionControl
from aerowire.protocol.lifecycle cimport ImageLifecycle
from aerowire.protocol.loss_detector cimport LossDetector
from aerowire.protocol.receive_window cimport ReceiveWindow
from aerowire.protocol.status_schedule cimport ConsumptionSchedule, StatusTimer

cdef enum:
    IMAGE_TRANSPORTS_MAX = 16           # destinations of one subscription that can bring the same stream

cdef struct ImageConnection:
    Address control                     # where status messages and NAKs of this transport go
    int64_t last_activity_ns
    int64_t end_position
    bint known
    bint ended


@cython.final
cdef class PublicationImage:
    # fixed
    cdef LogBuffers _log
    cdef object _log_holder
    cdef ReceiveEndpoint _endpoint
    cdef CountersReader _counters
    cdef SystemCounters _system
    cdef readonly int64_t correlation_id
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t initial_term_id
    cdef readonly str source_identity
    cdef bytes _source
    cdef bytes _channel
    cdef const char* _source_text
    cdef const char* _channel_text
    cdef int32_t _source_length
    cdef int32_t _channel_length
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
    cdef int32_t _release_asked         # tracker writes: the receiver shall let go
    cdef int32_t _receiver_released     # receiver writes
    cdef int32_t _end_asked             # tracker writes: tell the end now
    cdef int32_t _rejected              # registrar writes, after the text
    cdef int32_t _rejection_length
    cdef char _rejection[ERROR_TEXT_LENGTH_MAX]
    cdef int64_t _begin_sm_change       # tracker writes: begin, position and window, end
    cdef int64_t _end_sm_change
    cdef int64_t _sm_position
    cdef int32_t _sm_window
    cdef int64_t _begin_loss_change     # tracker writes: begin, gap, end
    cdef int64_t _end_loss_change
    cdef int32_t _loss_term_id
    cdef int32_t _loss_term_offset
    cdef int32_t _loss_length
    # receiver
    cdef ReceiveWindow _window
    cdef StatusTimer _status
    cdef ImageConnection _connections[IMAGE_TRANSPORTS_MAX]
    cdef int _connection_count
    cdef int64_t _last_packet_ns
    cdef int64_t _last_loss_change
    cdef bint _end_of_stream
    cdef bint _telling_end
    # tracker
    cdef SubscriberPositions _subscribers
    cdef ConsumptionSchedule _consumption
    cdef LossDetector _loss
    cdef int64_t _clean_position
    cdef LossReport _loss_report
    cdef uint8_t* _loss_entry
    cdef int32_t _reported_term_id
    cdef int32_t _reported_end
    cdef object __weakref__

    # receiver's thread
    cdef void insert_packet(self, const uint8_t* packet, int32_t length, int transport_index, const Address* source, int64_t now_ns) noexcept nogil
    cdef void add_connection(self, int transport_index, const Address* source, int64_t now_ns) noexcept nogil
    cdef void activate(self, int64_t now_ns) noexcept nogil
    cdef void deactivate(self, int64_t now_ns) noexcept nogil
    cdef bint is_wanted(self, int64_t now_ns) noexcept nogil            # False: let go of it
    cdef int work(self, int64_t now_ns) noexcept nogil                  # status messages, NAKs, end of stream
    cdef void stop_status_messages(self) noexcept nogil
    cdef void receiver_release(self) noexcept nogil
    cdef int64_t receiver_deadline_ns(self) noexcept nogil
    cdef void on_rtt_measurement(self, int64_t echo_timestamp_ns, int64_t reception_delta_ns, int64_t now_ns) noexcept nogil
    # tracker's thread
    cdef int track_rebuild(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil
    cdef bint on_time_event(self, int64_t now_ns, EventQueue events) noexcept nogil    # True: forget it now
    cdef int64_t link_subscriber(self, int32_t counter_id, int64_t registration_id) noexcept nogil
    cdef bint unlink_subscriber(self, int32_t counter_id) noexcept nogil
    cdef int64_t tracker_deadline_ns(self) noexcept nogil
    # private
    cdef void _on_heartbeat(self, const uint8_t* packet, int64_t position, int transport_index, const Address* source, int64_t now_ns) noexcept nogil
    cdef ImageConnection* _track_connection(self, int transport_index, const Address* source, int64_t now_ns) noexcept nogil
    cdef bint _all_ended(self) noexcept nogil
    cdef int _send_status(self, int64_t now_ns) noexcept nogil
    cdef int _send_loss(self, int64_t now_ns) noexcept nogil
    cdef void _count_transports(self, int64_t now_ns) noexcept nogil
    cdef bint _rebuilt_to_end(self) noexcept nogil
    cdef bint _is_drained(self) noexcept nogil
    cdef void _schedule_status(self, int64_t position, int32_t window) noexcept nogil
    cdef void _schedule_loss(self, int64_t epoch_ms) noexcept nogil
    cdef void _report_loss(self, int64_t bytes_lost, int64_t epoch_ms) noexcept nogil
    cdef void _clean_to(self, int64_t position) noexcept nogil
