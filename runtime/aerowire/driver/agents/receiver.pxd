# The agent that receives: data into images, set-ups into requests for images, and images' answers to their senders.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t
from aerowire.agents.command_queue cimport Command
from aerowire.agents.pointer_array cimport PointerArray
from aerowire.base.address cimport Address
from aerowire.base.ports cimport ClockPort, Datagram, DatagramBatch
from aerowire.driver.agents.agent_base cimport DriverAgent
from aerowire.driver.queues.events cimport EventQueue
from aerowire.driver.agents.pending_setups cimport PendingSetups
from aerowire.driver.streams.publication_image cimport PublicationImage
from aerowire.driver.media.receive_endpoint cimport ReceiveEndpoint
from aerowire.driver.media.receive_transport cimport ControlChange, ReceiveTransport
from aerowire.driver.queues.system_counters cimport SystemCounters
from aerowire.system.poller cimport PortPoller

# What the conductor asks: ReceiverProxy has a method for each.
cpdef enum:
    ADD_ENDPOINT
    REMOVE_ENDPOINT
    ADD_SUBSCRIPTION
    REMOVE_SUBSCRIPTION
    ADD_IMAGE
    REMOVE_COOL_DOWN
    REMOVE_INIT_IN_PROGRESS
    ADD_DESTINATION
    REMOVE_DESTINATION
    REQUEST_SETUP
    CHANGE_CONTROL


@cython.final
cdef class Receiver(DriverAgent):
    cdef PortPoller _poller
    cdef PointerArray _images
    cdef PointerArray _controlled       # transports with a control address of their own, whose name may come to mean another
    cdef PendingSetups _pending
    cdef DatagramBatch _batch
    cdef int64_t _lookup_interval_ns    # 0: names of control addresses are looked up once
    cdef int64_t _lookup_deadline_ns
    cdef int64_t _cycle_number

    cdef int _poll_datagrams(self, int64_t now_ns) noexcept nogil
    cdef int _poll_socket(self, ReceiveEndpoint endpoint, ReceiveTransport transport, int64_t now_ns, int64_t* bytes_received) noexcept nogil
    cdef int _on_received(self, ReceiveEndpoint endpoint, ReceiveTransport transport, const Datagram* item, int64_t now_ns, int* news) noexcept nogil
    cdef bint _on_datagram(self, ReceiveEndpoint endpoint, ReceiveTransport transport, uint8_t* frame, int32_t length,
                           const Address* source, int64_t now_ns) noexcept nogil
    cdef bint _on_data(self, ReceiveEndpoint endpoint, ReceiveTransport transport, uint8_t* frame, int32_t length,
                       const Address* source, int64_t now_ns) noexcept nogil
    cdef void _on_setup(self, ReceiveEndpoint endpoint, ReceiveTransport transport, const uint8_t* frame, const Address* source,
                        int64_t now_ns) noexcept nogil
    cdef bint _ask_for_image(self, ReceiveEndpoint endpoint, ReceiveTransport transport, const uint8_t* frame, const Address* source) noexcept nogil
    cdef void _refuse_setup_request(self, ReceiveEndpoint endpoint, int32_t stream_id, int32_t session_id, int64_t now_ns) noexcept nogil
    cdef void _on_rtt_measurement(self, ReceiveEndpoint endpoint, ReceiveTransport transport, const uint8_t* frame, const Address* source,
                                  int64_t now_ns) noexcept nogil
    cdef int _serve_images(self, int64_t now_ns) noexcept nogil
    cdef void _release(self, PublicationImage image, int index, int64_t now_ns) noexcept nogil
    cdef void _add_endpoint(self, ReceiveEndpoint endpoint, int64_t now_ns) noexcept nogil
    cdef void _remove_endpoint(self, ReceiveEndpoint endpoint) noexcept nogil
    cdef void _add_destination(self, ReceiveEndpoint endpoint, ReceiveTransport transport, int64_t now_ns) noexcept nogil
    cdef void _remove_destination(self, ReceiveEndpoint endpoint, ReceiveTransport transport, int64_t now_ns) noexcept nogil
    cdef void _listen(self, ReceiveEndpoint endpoint, ReceiveTransport transport, int64_t now_ns) noexcept nogil
    cdef void _add_subscription(self, ReceiveEndpoint endpoint, int32_t stream_id, int32_t session_id, bint all_sessions,
                            int64_t now_ns) noexcept nogil
    cdef void _remove_subscription(self, ReceiveEndpoint endpoint, int32_t stream_id, int32_t session_id, bint all_sessions,
                               int64_t now_ns) noexcept nogil
    cdef void _request_setup(self, ReceiveEndpoint endpoint, int32_t stream_id, int32_t session_id, int64_t now_ns) noexcept nogil
    cdef void _change_control(self, ControlChange change) noexcept nogil
    cdef void _check_names(self, int64_t now_ns) noexcept nogil
    cdef void _add_image(self, PublicationImage image, int64_t now_ns) noexcept nogil
