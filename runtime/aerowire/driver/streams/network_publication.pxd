# A stream that is sent over a network: the sender's side, the conductor agent's side, and what crosses between them.

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


# Addresses of its counters.
cdef struct PublicationCounters:
    int64_t* publisher_position         # writer: the conductor agent
    int64_t* publisher_limit            # writer: the conductor agent
    int64_t* sender_position            # writer: the sender; reader: the conductor agent
    int64_t* sender_limit               # writer: the sender
    int64_t* sender_bpe                 # writer: the sender
    int64_t* naks_received              # writer: the sender

# Writer: the sender. Reader: the conductor agent, by acquire.
cdef struct PublicationFromSender:
    int32_t has_receivers
    int32_t unicast_eos                 # the only receiver has had the end
    int32_t is_released

# Writer: the conductor agent. Reader: the sender, by acquire.
cdef struct PublicationFromConductorAgent:
    int32_t is_end_of_stream
    int32_t has_spies
    int64_t spy_position                # of the fastest spy while the stream was active

# Writer and only reader: the sender.
cdef struct ResendBudget:
    int64_t byte_rate                   # 0: no limit
    int64_t allowance                   # bytes that may be sent again now
    int64_t filled_ns

# What peers said, told to the conductor: how often since then. Writer and only reader: the sender.
cdef struct ReportBudget:
    int64_t since_ns
    int count

# Writer and only reader: the sender.
cdef struct PublicationSenderSide:
    bint is_blocked                     # the last send found data but no window for it
    int64_t over_run_limit              # a unicast receiver drops what ends past it, whatever window it granted
    int64_t status_message_ns           # when a receiver was last heard
    Address response_address            # length 0: no set-up has been requested yet
    bint connection_told                # of a response publication: the conductor knows that it has a receiver


@cython.final
cdef class NetworkPublication(Subscribable):
    # fixed
    cdef readonly LogBuffers log
    cdef readonly SendEndpoint endpoint
    cdef SystemCounters system
    cdef StreamEvents stream_events         # None: nothing of it is noted
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
    cdef int32_t max_message_length
    cdef bint _signal_eos
    cdef int setup_flags
    cdef bint is_response                   # of a response channel: its peer is the receiver that requested its set-up
    cdef bint _spies_simulate_connection
    cdef int _messages_per_send
    cdef int64_t _connection_timeout_ns
    cdef PublicationCounters counters
    # what crosses
    cdef PublicationFromSender from_sender
    cdef PublicationFromConductorAgent from_conductor_agent
    # the sender's side
    cdef SendSchedule schedule
    cdef ReceiverLiveness receiver_liveness
    cdef RetransmitHandler retransmit_handler
    cdef ResendBudget resend_budget
    cdef ReportBudget report_budget
    cdef FlowControl flow_control
    cdef bint _track_limits
    cdef PublicationSenderSide sender
    # the conductor agent's side; other threads may read `lifecycle.state`
    cdef PublicationLifecycle lifecycle
    cdef UnblockTimer _unblock
    cdef int64_t _clean_position
    cdef bint _linger_posted
    cdef bint _done_posted
    cdef object __weakref__

    # sender's thread
    cdef int64_t send(self, int64_t now_ns) noexcept nogil                  # bytes sent
    cdef int transmit(self, Datagram* items, int count, int64_t* bytes_sent, int64_t now_ns) noexcept nogil
    cdef bint transmit_frame(self, uint8_t* frame, int32_t length, int64_t now_ns) noexcept nogil
    cdef void sender_release(self) noexcept nogil
    cdef int64_t sender_deadline_ns(self) noexcept nogil
    # conductor agent's thread
    cdef int update_limit(self) noexcept nogil
    cdef bint on_time_event(self, int64_t now_ns, EventQueue events) noexcept nogil    # True: forget it now
    cdef void on_closed(self) noexcept nogil
    # both
    cdef bint has_subscribers(self) noexcept nogil
    # private
    cdef int64_t _send_data(self, int64_t position, int64_t now_ns) noexcept nogil
    cdef void _send_setup(self, int64_t position, int64_t now_ns) noexcept nogil
    cdef void _send_heartbeat(self, int64_t position, int64_t now_ns) noexcept nogil
    cdef void _count_limit(self) noexcept nogil
    cdef void _drain(self, int64_t now_ns) noexcept nogil
    cdef int64_t _follow_spies(self, int64_t position) noexcept nogil
    cdef bint _free_blocked(self, int64_t position) noexcept nogil      # whether the log goes on now
    cdef void _check_frames(self, int64_t now_ns) noexcept nogil
    cdef bint _spies_are_done(self, int64_t producer_position) noexcept nogil
