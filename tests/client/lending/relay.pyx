"""A native agent on loans of a client: it reads images, sends on what they bring, and counts, without the interpreter lock."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t

cimport cython

from aerowire.agents.command_queue cimport Command
from aerowire.agents.event_ring cimport EVENT_FINAL, EventHeader, EventRing
from aerowire.agents.pointer_array cimport PointerArray
from aerowire.agents.queued_agent cimport QueuedAgent
from aerowire.client.lending.lent_counter cimport LentCounter
from aerowire.client.lending.lent_image cimport LentImage
from aerowire.client.lending.lent_publication cimport LentPublication
from aerowire.codecs.native.transport cimport DATA_HEADER_LENGTH
from aerowire.logbuffer.block_reader cimport LogBlock
from aerowire.logbuffer.descriptor cimport OFFER_ADMIN_ACTION
from aerowire.logbuffer.frame cimport frame_length_acquire, frame_step
from aerowire.memory.atomics cimport load_acquire_i64, store_release_i64

# Operations, each with a loan as its subject.
cpdef enum:
    TAKE_IMAGE
    TAKE_PUBLICATION
    TAKE_COUNTER

# The final event of a loan: it was given back.
cpdef enum:
    GIVEN_BACK = 1 | EVENT_FINAL

cdef enum:
    BLOCK_LENGTH = 65536


@cython.final
cdef class RelayRing(EventRing):
    """Events of relays: (code, loan)."""

    def __cinit__(self):
        self.set_up(sizeof(EventHeader), 1024)

    cdef object event_of(self, const EventHeader* header, object subject):
        return header.code, subject


@cython.final
cdef class Relay(QueuedAgent):
    """Reads its images in turn. With a publication each message is sent on; without, blocks are only counted as read."""

    cdef RelayRing _events_of_relay
    cdef PointerArray _images
    cdef void* _publication
    cdef void* _counter
    cdef int64_t _bytes_read
    cdef readonly int64_t moves_refused
    cdef readonly int64_t lost          # final events that found no room

    def __cinit__(self, RelayRing events not None):
        self.set_up_queues(events)
        self._events_of_relay = events
        self._images = PointerArray()

    @property
    def role_name(self) -> str:
        return "relay"

    @property
    def bytes_read(self) -> int:
        """Bytes of all blocks that were counted as read; any thread."""
        return load_acquire_i64(&self._bytes_read)

    cdef int64_t next_deadline_ns(self) noexcept nogil:
        return INT64_MAX

    cdef void on_command(self, Command* command, int64_t now_ns) noexcept nogil:
        if command.operation == TAKE_IMAGE:
            self._images.add(command.subject)
        elif command.operation == TAKE_PUBLICATION:
            self._publication = command.subject
        else:
            self._counter = command.subject

    cdef int do_work(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        cdef int work = self.take_commands(now_ns)
        cdef int i = self._images.count
        if self._publication != NULL and not (<LentPublication>self._publication).is_out():
            (<LentPublication>self._publication).give_back()
            self._final(self._publication)
            self._publication = NULL
        if self._counter != NULL and not (<LentCounter>self._counter).is_out():
            (<LentCounter>self._counter).give_back()
            self._final(self._counter)
            self._counter = NULL
        while i > 0:
            i -= 1
            if not (<LentImage>self._images.items[i]).is_out():
                (<LentImage>self._images.items[i]).give_back()
                self._final(self._images.items[i])
                self._images.remove_at(i)
                work += 1
            else:
                work += self._read(<LentImage>self._images.items[i])
        return work

    cdef int _read(self, LentImage image) noexcept nogil:
        cdef LogBlock block
        cdef int64_t begin = image.position()
        cdef int32_t length = image.read(begin, INT64_MAX, BLOCK_LENGTH, &block)
        cdef int32_t done = 0
        if length <= 0:
            return 0
        if self._publication == NULL or block.is_padding:
            done = length
        while done < length and self._send(block.address + done, block.length - done, &done):
            pass
        if done == 0:
            return 0
        if not image.move_to(begin + done):
            self.moves_refused += 1
            return 0
        store_release_i64(&self._bytes_read, self._bytes_read + done)
        if self._counter != NULL:
            (<LentCounter>self._counter).add(done)
        return 1

    cdef bint _send(self, const uint8_t* frame, int32_t room, int32_t* done) noexcept nogil:
        cdef int32_t length = frame_length_acquire(frame)
        cdef int64_t result = OFFER_ADMIN_ACTION
        while result == OFFER_ADMIN_ACTION:
            result = (<LentPublication>self._publication).offer(frame + DATA_HEADER_LENGTH, length - DATA_HEADER_LENGTH, NULL, NULL)
        if result < 0:
            return False
        done[0] += frame_step(length, room)
        return True

    cdef void _final(self, void* loan) noexcept nogil:
        cdef EventHeader* header = self._events_of_relay.claim_record(GIVEN_BACK, loan)
        if header is NULL:
            self.lost += 1
        else:
            self._events_of_relay.publish_record(header)
