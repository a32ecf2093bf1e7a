# A stream that is sent over a network: the sender's half and the conductor agent's half.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.base.address cimport Address
from aerowire.base.ports cimport Datagram
from aerowire.driver.queues.events cimport EventQueue
from aerowire.driver.media.send_endpoint cimport SendEndpoint
from aerowire.driver.event_log.stream_events cimport StreamEvents
from aerowire.driver.streams.subscribable cimport Subscribable
from aerowire.driver.queues.system_counters cimport SystemCounters
from aerowire.logbuffer.log cimport LogBuffers
from aerowire.protocol.flow_control cimport FlowControl
from aerowire.protocol.lifecycle cimport PublicationLifecycle, UnblockTimer
from aerowire.protocol.receiver_liveness cimport ReceiverLiveness
from aerowire.protocol.retransmit_handler cimport RetransmitHandler
from aerowire.protocol.send_schedule cimport SendSchedule

cdef enum:
    MESSAGES_PER_SEND_MAX = 16


@cython.final
cdef class NetworkPublication(Subscribable):
    # fixed
    cdef LogBuffers _log
    cdef SendEndpoint _endpoint
    cdef SystemCounters _system
    cdef StreamEvents _stream_events         # None: nothing of it is noted
    cdef object _log_holder
    cdef readonly int64_t registration_id
    cdef readonly int32_t session_id
    cdef readonly int32_t stream_id
    cdef readonly int32_t initial_term_id
    cdef readonly int32_t mtu
    cdef readonly bint is_exclusive
    cdef int32_t term_length
    cdef int bits
    cdef int32_t _window_length
    cdef int32_t _max_message_length
    cdef bint _signal_eos
    cdef int _setup_flags
    cdef bint _is_response                  # it answers: its peer is whoever asked for its set-up
    cdef bint _spies_simulate_connection
    cdef int _messages_per_send
    cdef int64_t _connection_timeout_ns
    cdef int64_t* _publisher_position
    cdef int64_t* _publisher_limit
    cdef int64_t* _sender_position
    cdef int64_t* _sender_limit
    cdef int64_t* _sender_bpe
    cdef int64_t* _naks_received
    # between threads
    cdef int32_t _has_receivers             # sender writes
    cdef int32_t _unicast_eos               # sender writes
    cdef int32_t _end_of_stream             # conductor agent writes
    cdef int32_t _has_spies                 # conductor agent writes
    cdef int64_t _spy_position              # conductor agent writes: of the fastest spy while the stream was active
    cdef int32_t _sender_released           # sender writes
    # sender
    cdef SendSchedule _schedule
    cdef ReceiverLiveness _liveness
    cdef RetransmitHandler _retransmit
    cdef int64_t _resend_byte_rate          # 0: no limit
    cdef int64_t _resend_allowance          # bytes that may be sent again now
    cdef int64_t _resend_filled_ns
    cdef int64_t _told_since_ns             # what peers said, told to the conductor: how often since then
    cdef int _told_count
    cdef FlowControl _flow_control
    cdef bint _track_limits
    cdef bint is_blocked                    # the last send found data but no window for it
    cdef int64_t _over_run_limit            # a unicast receiver drops what ends past it, whatever window it granted
    cdef int64_t status_message_ns          # when a receiver was last heard
    cdef Address _response_address          # length 0: nobody has asked yet
    cdef bint _connection_told              # of a response publication: the conductor knows that it has a receiver
    # conductor agent
    cdef PublicationLifecycle lifecycle
    cdef UnblockTimer _unblock
    cdef int64_t _clean_position
    cdef bint _linger_posted
    cdef bint _done_posted
    cdef object __weakref__

    # sender's thread
    cdef int64_t send(self, int64_t now_ns) noexcept nogil                  # bytes sent
    cdef void sender_release(self) noexcept nogil
    cdef int64_t sender_deadline_ns(self) noexcept nogil
    # conductor agent's thread
    cdef int update_limit(self) noexcept nogil
    cdef bint on_time_event(self, int64_t now_ns, EventQueue events) noexcept nogil    # True: forget it now
    cdef void on_closed(self) noexcept nogil
    # private
    cdef int _transmit(self, Datagram* items, int count, int64_t* bytes_sent, int64_t now_ns) noexcept nogil
    cdef bint _transmit_frame(self, uint8_t* frame, int32_t length, int64_t now_ns) noexcept nogil
    cdef int64_t _send_data(self, int64_t position, int64_t now_ns) noexcept nogil
    cdef void _send_setup(self, int64_t position, int64_t now_ns) noexcept nogil
    cdef void _send_heartbeat(self, int64_t position, int64_t now_ns) noexcept nogil
    cdef void _count_limit(self) noexcept nogil
    cdef bint _has_subscribers(self) noexcept nogil
    cdef void _drain(self, int64_t now_ns) noexcept nogil
    cdef int64_t _follow_spies(self, int64_t position) noexcept nogil
    cdef bint _free_blocked(self, int64_t position) noexcept nogil      # whether the log goes on now
    cdef void _check_frames(self, int64_t now_ns) noexcept nogil
    cdef bint _spies_are_done(self, int64_t producer_position) noexcept nogil
