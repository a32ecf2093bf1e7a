"""What there is to watch in the client's handles: where in shared memory it shows that waiting is over.

Knows the client's handles from inside, and nothing of who waits. Functions of the loop's thread.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.aio.watcher cimport WATCH_FRAME, WATCH_I32_CHANGE, WATCH_I64_ABOVE, WATCH_I64_CHANGE, Watcher
from aerowire.client.handles.counter cimport Counter
from aerowire.client.subscriptions.image cimport Image
from aerowire.client.publications.publication cimport PublicationBase
from aerowire.client.handles.state cimport STATE_OPEN
from aerowire.codecs.native.cnc cimport BROADCAST_TRAILER_LENGTH, BROADCAST_TRAILER_TAIL_OFFSET
from aerowire.codecs.native.logbuffer cimport LOG_METADATA_IS_CONNECTED_OFFSET
from aerowire.ipc.counters cimport counter_get
from aerowire.logbuffer.descriptor cimport index_by_position
from aerowire.memory.atomics cimport load_acquire_i64
from aerowire.memory.region cimport BufferView, borrow


def watch_image(Watcher watcher not None, int watch, Image image not None) -> bool:
    """Fire when the image has something to be polled; False when it has ended, and there is nothing to wait for."""
    cdef int64_t position
    if image.handle_state != STATE_OPEN:
        return False
    position = counter_get(image.subscriber_position)
    watcher.arm(watch, WATCH_FRAME, image.log.terms[index_by_position(position, image.position_bits_to_shift)]
                + <int32_t>(position & (image.term_buffer_length - 1)), 0, image)
    return True


def watch_window(Watcher watcher not None, int watch, PublicationBase publication not None) -> bool:
    """Fire when the publication's limit is above its position; False when it has ended."""
    if publication.handle_state != STATE_OPEN:
        return False
    watcher.arm(watch, WATCH_I64_ABOVE, publication.limit, publication.appender_position(), publication)
    return True


def watch_connection(Watcher watcher not None, int watch, PublicationBase publication not None, bint connected) -> bool:
    """Fire when the publication is no longer what `connected` says, connected or not; False when it has ended."""
    if publication.handle_state != STATE_OPEN:
        return False
    watcher.arm(watch, WATCH_I32_CHANGE, publication.logs.metadata + LOG_METADATA_IS_CONNECTED_OFFSET, 1 if connected else 0, publication)
    return True


def watch_counter(Watcher watcher not None, int watch, Counter counter not None, int64_t value) -> bool:
    """Fire when the counter's value is not `value`; False when it has ended."""
    if counter.handle_state != STATE_OPEN:
        return False
    watcher.arm(watch, WATCH_I64_CHANGE, counter.address, value, counter)
    return True


@cython.final
cdef class DriverAnswers:
    """Where the driver writes what it has to say to its clients: `tail()` tells how much that is."""

    cdef const uint8_t* _tail
    cdef object _hold

    def __init__(self, to_clients):
        cdef BufferView view
        self._hold = borrow(to_clients, &view, False)
        self._tail = view.address + view.length - BROADCAST_TRAILER_LENGTH + BROADCAST_TRAILER_TAIL_OFFSET

    def tail(self):
        """Return how much has been said."""
        return load_acquire_i64(self._tail)

    def watch(self, Watcher watcher not None, int watch, int64_t seen):
        """Fire when more than `seen` has been said."""
        watcher.arm(watch, WATCH_I64_CHANGE, self._tail, seen, self)
