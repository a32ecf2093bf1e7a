# Which of many datagram ports may have something to receive: a plain walk for few, epoll for many.

cimport cython
from aerowire.base.ports cimport DatagramPort


cdef struct WatchedPort:
    void* port                  # borrowed DatagramPort
    void* token
    int descriptor              # -1: none


@cython.final
cdef class PortPoller:
    """add(port, token) / remove(port), both on the polling thread or before it starts; len(poller). A token is a borrowed pointer.

    Up to `walk_limit` ports (1) every port counts as ready; above, epoll says. Ports without a descriptor are always ready."""

    cdef int _epoll
    cdef int count
    cdef int _capacity
    cdef int _walk_limit
    cdef int _next
    cdef int _silent            # ports without a descriptor
    cdef WatchedPort* _watched
    cdef object _holders
    cdef void* _events

    cdef int _watch(self, int first, int end) noexcept nogil
    cdef void _unwatch(self, int first, int end) noexcept nogil

    # nogil forms for agents whose arrays hold borrowed pointers: the caller keeps the port alive. attach: 0 or a negative errno;
    # detach: 1, or 0 when it was not there.
    cdef int attach(self, DatagramPort port, void* token) noexcept nogil
    cdef int detach(self, DatagramPort port) noexcept nogil
    # Fill tokens with those of ports that may be readable now; never blocks. Rotates its start so that no port starves.
    cdef int ready(self, void** tokens, int capacity) noexcept nogil
