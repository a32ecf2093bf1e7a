"""Which of an agent's datagram ports may have something to receive.

Asking a few sockets in turn costs less than asking the system which to ask; asking many does not. An empty look at a socket takes 300 ns and
at an epoll of any size 110, but a socket that epoll watches pays some 600 ns more for each datagram. Aeron: DataTransportPoller.
"""

from libc.errno cimport EEXIST, ENOMEM, errno
from libc.stdint cimport uint32_t
from libc.stdlib cimport calloc, free

import os

from aerowire.base.errors import SocketError
from aerowire.base.ports cimport DatagramPort
from aerowire.memory.growing cimport grow

cdef extern from "<sys/epoll.h>" nogil:
    ctypedef union epoll_data_t:
        void* ptr
    cdef struct epoll_event:
        uint32_t events
        epoll_data_t data
    int epoll_create1(int flags)
    int epoll_ctl(int epoll, int operation, int fd, epoll_event* event)
    int epoll_wait(int epoll, epoll_event* events, int count, int timeout_ms)
    int EPOLL_CLOEXEC, EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLLIN

cdef extern from "<unistd.h>" nogil:
    int close(int fd)

WALK_LIMIT = 1          # ports up to which every one is asked: right where datagrams are rare

cdef enum:
    EVENTS_MAX = 64     # ports reported by one epoll call; the next call reports the others first
    WATCHED_MAX = 1 << 20   # more than a process may have descriptors


cdef class PortPoller:
    """Ports with a token each, in no order that matters.

    Changed by: the one thread that polls.  Invariant: every port with a descriptor is registered with epoll exactly while more ports are
    here than are walked.
    """

    def __init__(self, *, int walk_limit=WALK_LIMIT):
        self._epoll = epoll_create1(EPOLL_CLOEXEC)
        if self._epoll < 0:
            raise SocketError("cannot make a poller", actual=os.strerror(errno))
        self._walk_limit = walk_limit
        self._holders = {}
        self._events = calloc(EVENTS_MAX, sizeof(epoll_event))
        if self._events == NULL:
            raise MemoryError("poll events")

    def __dealloc__(self):
        if self._epoll >= 0:
            close(self._epoll)
        free(self._watched)
        free(self._events)

    cdef int attach(self, DatagramPort port, void* token) noexcept nogil:
        cdef int outcome, index
        for index in range(self.count):
            if self._watched[index].port == <void*>port:
                return -EEXIST
        if self.count == self._capacity and not grow(<void**>&self._watched, &self._capacity, sizeof(WatchedPort), WATCHED_MAX):
            return -ENOMEM
        self._watched[self.count].port = <void*>port
        self._watched[self.count].token = token
        self._watched[self.count].descriptor = port.file_descriptor()
        if self.count >= self._walk_limit:
            outcome = self._watch(0 if self.count == self._walk_limit else self.count, self.count + 1)
            if outcome < 0:
                return outcome
        self._silent += self._watched[self.count].descriptor < 0
        self.count += 1
        return 0

    cdef int _watch(self, int first, int end) noexcept nogil:
        # all of them, or none and a negative errno
        cdef epoll_event event
        cdef int index, error
        event.events = EPOLLIN
        for index in range(first, end):
            if self._watched[index].descriptor < 0:
                continue
            event.data.ptr = self._watched[index].token
            if epoll_ctl(self._epoll, EPOLL_CTL_ADD, self._watched[index].descriptor, &event) < 0:
                error = errno
                self._unwatch(first, index)
                return -error
        return 0

    cdef void _unwatch(self, int first, int end) noexcept nogil:
        # of a socket that is closed the system knows nothing any more: an error that means done
        cdef epoll_event event
        cdef int index
        for index in range(first, end):
            if self._watched[index].descriptor >= 0:
                epoll_ctl(self._epoll, EPOLL_CTL_DEL, self._watched[index].descriptor, &event)

    cdef int detach(self, DatagramPort port) noexcept nogil:
        cdef int index
        for index in range(self.count):
            if self._watched[index].port == <void*>port:
                if self.count == self._walk_limit + 1:
                    self._unwatch(0, self.count)
                elif self.count > self._walk_limit:
                    self._unwatch(index, index + 1)
                self._silent -= self._watched[index].descriptor < 0
                self.count -= 1
                self._watched[index] = self._watched[self.count]
                return 1
        return 0

    cdef int ready(self, void** tokens, int capacity) noexcept nogil:
        cdef int found = 0
        cdef int events, index
        cdef bint walk = self.count <= self._walk_limit
        if self.count == 0:
            return 0
        if walk or self._silent:
            if self._next >= self.count:
                self._next = 0
            for index in range(self.count):
                if found == capacity:
                    break
                if walk or self._watched[(self._next + index) % self.count].descriptor < 0:
                    tokens[found] = self._watched[(self._next + index) % self.count].token
                    found += 1
            self._next += 1
        if walk or found == capacity:
            return found
        events = epoll_wait(self._epoll, <epoll_event*>self._events, min(capacity - found, <int>EVENTS_MAX), 0)
        for index in range(events):
            tokens[found] = (<epoll_event*>self._events)[index].data.ptr
            found += 1
        return found

    # -- Python faces --------------------------------------------------------------------------------------------------------------

    def add(self, DatagramPort port not None, token=None) -> None:
        """Watch a port; `token` (the port itself without one) is what poll() reports. Kept alive until remove()."""
        held = port if token is None else token
        result = self.attach(port, <void*>held)
        if result < 0:
            raise SocketError("cannot watch port", where=f"descriptor {port.fileno()}", actual=os.strerror(-result))
        self._holders[id(port)] = (port, held)

    def remove(self, DatagramPort port not None) -> bool:
        """Stop watching a port; False when it was not watched."""
        removed = self.detach(port) == 1
        self._holders.pop(id(port), None)
        return removed

    def poll(self) -> list:
        """Tokens of the ports that may have something to receive."""
        cdef void* tokens[EVENTS_MAX]
        cdef int index
        cdef int found = self.ready(tokens, EVENTS_MAX)
        return [<object>tokens[index] for index in range(found)]

    def __len__(self) -> int:
        return self.count
