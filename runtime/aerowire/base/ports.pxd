# The ports: everything that a duty cycle asks of the world outside. Real ones live in system/, simulated ones in simulation/.
#
# All cdef methods are virtual, noexcept and nogil; the def methods (in the .pyx) are the faces for tests and control plane.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from aerowire.base.address cimport Address


cdef class ClockPort:
    cdef object __weakref__

    cdef int64_t nano_time(self) noexcept nogil            # monotonic ns; Python: now_ns()
    cdef int64_t epoch_ms(self) noexcept nogil             # wall clock ms; Python: now_ms()
    cdef int64_t epoch_ns(self) noexcept nogil             # wall clock ns; Python: now_epoch_ns()


cdef class RandomPort:
    cdef object __weakref__

    cdef uint64_t next_u64(self) noexcept nogil
    cdef uint64_t next_below(self, uint64_t bound) noexcept nogil   # uniform in [0, bound); 0 for bound 0
    cdef double next_double(self) noexcept nogil                    # uniform in [0, 1)


cdef struct Datagram:
    uint8_t* buffer         # send: payload; receive: where to put it (the caller's memory)
    int32_t length          # send: bytes to send; receive: set to bytes received
    int32_t capacity        # receive: bytes available at buffer
    int32_t segment_size    # receive: size of each coalesced segment, 0 = a single datagram; send: 0
    int32_t result          # send: bytes the OS accepted (< length is a short send), 0 = not attempted
    int64_t timestamp_ns    # receive: kernel or media timestamp (epoch ns), 0 = none
    Address address         # send: destination (length 0: the connected peer); receive: source


# Length of each datagram but the last of those that the kernel joined; of the one, where it joined none.
cdef inline int32_t datagram_step(const Datagram* item) noexcept nogil:
    return item.segment_size if 0 < item.segment_size < item.length else item.length


# A datagram to send to the port's own peer.
cdef inline void datagram_to_peer(Datagram* item, uint8_t* buffer, int32_t length) noexcept nogil:
    item.buffer = buffer
    item.length = length
    item.segment_size = 0
    item.result = 0
    item.address.length = 0


cdef class DatagramPort:
    cdef object __weakref__

    # Send items[0:count] in order. Returns how many the OS took (each with `result` set); when none, 0 for "would block"
    # or a negative errno. An ICMP refusal of an earlier datagram is retried once and is not an error.
    cdef int send(self, Datagram* items, int count) noexcept nogil
    # Fill up to count items; returns how many, 0 = nothing there, negative errno on failure (ICMP refusals are skipped).
    cdef int receive(self, Datagram* items, int count) noexcept nogil
    cdef int file_descriptor(self) noexcept nogil          # -1: none, the poller treats it as always ready
    cdef int copy_local_address(self, Address* out) noexcept nogil   # 0, or a negative errno
    # Send to another peer from now on (a re-resolved name). 0 or a negative errno.
    cdef int rebind(self, const Address* remote) noexcept nogil


@cython.final
cdef class DatagramBatch:
    """`count` Datagram items over one allocation, each with `capacity` bytes; one owner thread."""

    cdef Datagram* items
    cdef int count
    cdef int32_t capacity
    cdef uint8_t* _memory


cdef class RegionPort:
    """create(path, length, sparse) / map(path, writable) -> Region; delete(path); free_space(path) -> int; exists(path); page_size;
    identity(path), check_owner(path), is_locked(path); open_file(path); survive_lost_pages().
    Called with the GIL, by the conductor and worker threads; subclassable from Python."""

    cdef object __weakref__


cdef class WakeupPort:
    """wake(), sleep(timeout_ns), drain() -> bool, signalled, close().  signal() is for native threads, with or without the GIL."""

    cdef int32_t signal_bit
    cdef object __weakref__

    cdef void signal(self) noexcept nogil               # idempotent until drained; no allocation
