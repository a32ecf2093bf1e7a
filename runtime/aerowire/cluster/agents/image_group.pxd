# Images of one subscription that an agent reads in turn.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.agents.pointer_array cimport PointerArray
from aerowire.cluster.agents.agent_events cimport ClusterAgentEvents


@cython.final
cdef class ImageGroup:
    """ImageGroup(events). MessageImages; the agent's."""

    cdef ClusterAgentEvents _events
    cdef PointerArray _images
    cdef int count
    cdef int _first                     # whose turn it is

    cdef void add(self, void* image) noexcept nogil
    cdef void* at(self, int index) noexcept nogil       # of this cycle's turn
    cdef void turn(self) noexcept nogil                 # once a cycle: give back what was recalled or is malformed; another one is first
    cdef void resume(self, void* image) noexcept nogil  # the conductor has taken the image's message
    cdef void give_back(self) noexcept nogil            # all of them, without events: the agent ends
