"""Images of one subscription that an agent reads in turn. Aeron: Subscription.controlledPoll."""

from libc.stdint cimport int32_t, int64_t

from aerowire.cluster.agents.agent_events cimport EVENT_IMAGE_RETURNED
from aerowire.cluster.agents.message_image cimport MessageImage


cdef class ImageGroup:
    """The images that an agent has of a subscription.

    Changed by: the agent. Invariant: an image is here from its command until its final event.
    """

    def __cinit__(self, ClusterAgentEvents events not None):
        self._events = events
        self._images = PointerArray()

    cdef void add(self, void* image) noexcept nogil:
        if self._images.add(image):
            self.count += 1
        else:                                               # no memory: it goes back unread
            (<MessageImage>image).loan.give_back()
            self._events.post(EVENT_IMAGE_RETURNED, image, 0, 0)

    cdef void* at(self, int index) noexcept nogil:
        return self._images.items[(self._first + index) % self.count]

    cdef void turn(self) noexcept nogil:
        cdef int i = 0
        cdef void* image
        while i < self._images.count:
            image = self._images.items[i]
            if (<MessageImage>image).loan.is_out() and not (<MessageImage>image).is_malformed:
                i += 1
                continue
            (<MessageImage>image).loan.give_back()
            if self._events.post(EVENT_IMAGE_RETURNED, image, (<MessageImage>image).is_malformed, 0):
                self._images.remove_at(i)
            else:                                           # it is posted in another cycle
                i += 1
        self.count = self._images.count
        self._first = (self._first + 1) % self.count if self.count else 0

    cdef void resume(self, void* image) noexcept nogil:
        cdef int i
        for i in range(self._images.count):
            if self._images.items[i] is image:
                (<MessageImage>image).is_held = False

    cdef void give_back(self) noexcept nogil:
        cdef int i
        for i in range(self._images.count):
            (<MessageImage>self._images.items[i]).loan.give_back()
