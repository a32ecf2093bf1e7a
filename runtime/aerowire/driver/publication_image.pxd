# A received stream: the receiver's half and the tracker's half.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.address cimport Address
from aerowire.codecs.native.transport cimport ERROR_TEXT_LENGTH_MAX
from aerowire.driver.events cimport EventQueue
from aerowire.driver.image_news cimport LossNews, StatusNews
from aerowire.driver.image_transports cimport ImageTransports
from aerowire.driver.loss_account cimport LossAccount
from aerowire.driver.receive_endpoint cimport ReceiveEndpoint
from aerowire.driver.subscriber_positions cimport SubscriberPositions
from aerowire.driver.system_counters cimport SystemCounters
from aerowire.ipc.counters cimport CountersReader
from aerowire.logbuffer.log cimport LogBuffers
from aerowire.protocol.congestion_control cimport CongestionControl
from aerowire.protocol.lifecycle cimport ImageLifecycle
from aerowire.protocol.loss_detector cimport LossDetector
from aerowire.protocol.receive_window cimport ReceiveWindow
from aerowire.protocol.status_schedule cimport ConsumptionSchedule, StatusTimer


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
    cdef StatusNews _status_news        # tracker writes
    cdef LossNews _loss_news            # tracker writes
    # receiver
    cdef ReceiveWindow _window
    cdef StatusTimer _status
    cdef ImageTransports _transports
    cdef int64_t _last_packet_ns
    cdef int64_t _last_loss_change
    cdef bint _end_of_stream
    cdef bint _telling_end
    # tracker
    cdef SubscriberPositions _subscribers
    cdef ConsumptionSchedule _consumption
    cdef LossDetector _loss
    cdef int64_t _clean_position
    cdef LossAccount _losses
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
    cdef int _send_status(self, int64_t now_ns) noexcept nogil
    cdef int _send_loss(self, int64_t now_ns) noexcept nogil
    cdef bint _rebuilt_to_end(self) noexcept nogil
    cdef bint _is_drained(self) noexcept nogil
