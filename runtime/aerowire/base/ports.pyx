"""The ports through which duty cycles see the world: clock, randomness, datagrams, regions, wake-ups.

The classes here are the contracts; each method that an implementation must override aborts nothing and returns "nothing".
The `def` methods are the faces for the control plane and for tests.
"""

from libc.errno cimport ENOSYS
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

import os

from aerowire.base.address cimport Address, address_from, address_to
from aerowire.base.atomics cimport exchange_i32, load_acquire_i32
from aerowire.base.errors import SocketError, StorageError

cdef extern from "<stdlib.h>" nogil:
    int posix_memalign(void** out, size_t alignment, size_t size)

CACHE_LINE = 64
UDP_PAYLOAD_MAX = 65536     # what a batch offers each datagram unless told otherwise: more than UDP can carry


cdef class ClockPort:
    """Time. One reading per duty cycle is the rule; every call asks the source."""

    cdef int64_t nano_time(self) noexcept nogil:
        return 0

    cdef int64_t epoch_ms(self) noexcept nogil:
        return self.epoch_ns() // 1000000

    cdef int64_t epoch_ns(self) noexcept nogil:
        return 0

    def now_ns(self) -> int:
        """Monotonic nanoseconds from an arbitrary origin."""
        return self.nano_time()

    def now_ms(self) -> int:
        """Wall clock: milliseconds since the Unix epoch."""
        return self.epoch_ms()

    def now_epoch_ns(self) -> int:
        """Wall clock: nanoseconds since the Unix epoch."""
        return self.epoch_ns()


cdef class RandomPort:
    """Randomness. Implementations override next_u64; the rest follows from it."""

    cdef uint64_t next_u64(self) noexcept nogil:
        return 0

    cdef uint64_t next_below(self, uint64_t bound) noexcept nogil:
        # rejection of the uneven rest keeps it uniform
        cdef uint64_t threshold
        cdef uint64_t value
        if bound == 0:
            return 0
        threshold = (<uint64_t>0 - bound) % bound
        while True:
            value = self.next_u64()
            if value >= threshold:
                return value % bound

    cdef double next_double(self) noexcept nogil:
        return <double>(self.next_u64() >> 11) * (1.0 / 9007199254740992.0)

    def u64(self) -> int:
        """A uniform integer of 64 bits."""
        return self.next_u64()

    def below(self, uint64_t bound) -> int:
        """A uniform integer in [0, bound)."""
        return self.next_below(bound)

    def double(self) -> float:
        """A uniform float in [0, 1)."""
        return self.next_double()


cdef class DatagramPort:
    """Datagrams in and out, in batches, never blocking."""

    cdef int send(self, Datagram* items, int count) noexcept nogil:
        return -ENOSYS

    cdef int receive(self, Datagram* items, int count) noexcept nogil:
        return -ENOSYS

    cdef int file_descriptor(self) noexcept nogil:
        return -1

    cdef int copy_local_address(self, Address* out) noexcept nogil:
        memset(out, 0, sizeof(Address))
        return -ENOSYS

    cdef int rebind(self, const Address* remote) noexcept nogil:
        return -ENOSYS

    @property
    def local_address(self):
        """(host, port) that the port is bound to, or None."""
        cdef Address address
        _raise_if_negative(self.copy_local_address(&address), "cannot read the local address")
        return address_to(&address)

    def set_peer(self, address):
        """Send datagrams without a destination of their own to `address` from now on."""
        cdef Address remote
        address_from(&remote, address)
        _raise_if_negative(self.rebind(&remote), "cannot change the peer")

    def send_datagrams(self, datagrams) -> int:
        """Send (payload, (host, port) | None) pairs in order; return how many the port took."""
        cdef list payloads = [bytes(payload) for payload, _ in datagrams]
        cdef bytes row = b"".join(payloads)
        cdef DatagramBatch batch = DatagramBatch(max(1, len(payloads)), 1)
        cdef uint8_t* buffer = <uint8_t*><const char*>row
        cdef bytes payload
        cdef int index = 0
        for payload, (_, address) in zip(payloads, datagrams):
            batch.items[index].buffer = buffer
            batch.items[index].length = <int32_t>len(payload)
            address_from(&batch.items[index].address, address)
            buffer += len(payload)
            index += 1
        return _raise_if_negative(self.send(batch.items, index), "send failed")

    def receive_datagrams(self, int count=16, DatagramBatch batch=None) -> list:
        """Return pending datagrams as (payload, (host, port), timestamp_ns): up to `count`, and those that arrived joined to one of them.

        `batch` holds the datagrams and can be used again; without it, 64 KiB for each datagram are allocated and freed in the call.
        """
        if batch is None:
            batch = DatagramBatch(count)
        cdef int received = _raise_if_negative(self.receive(batch.items, min(count, len(batch))), "receive failed")
        cdef Datagram* item
        cdef int index
        out = []
        for index in range(received):
            item = &batch.items[index]
            payload = (<const char*>item.buffer)[:item.length]
            step = max(1, datagram_step(item))
            out += [(payload[at:at + step], address_to(&item.address), item.timestamp_ns) for at in range(0, max(1, item.length), step)]
        return out

    def fileno(self) -> int:
        """Descriptor to wait on, or -1."""
        return self.file_descriptor()

    def close(self) -> None:
        """Release what the port holds; not while an agent uses it. A port that holds nothing has nothing to do."""


cdef int _raise_if_negative(int result, what) except -1:
    if result < 0:
        raise SocketError(what, actual=os.strerror(-result))
    return result


cdef class DatagramBatch:
    """`count` datagrams of `capacity` bytes each in one allocation, every buffer on its own cache lines.

    Changed by its one owner thread; the buffers stay where they are until deallocation.
    """

    def __cinit__(self, int count, int32_t capacity=UDP_PAYLOAD_MAX):
        cdef size_t stride = (<size_t>capacity + CACHE_LINE - 1) // CACHE_LINE * CACHE_LINE
        cdef int index
        cdef void* memory = NULL
        if count <= 0 or capacity <= 0:
            raise ValueError(f"batch: expected a positive count and capacity, actual {count} and {capacity}")
        self.items = <Datagram*>calloc(count, sizeof(Datagram))
        if self.items == NULL or posix_memalign(&memory, CACHE_LINE, stride * count) != 0:
            raise MemoryError(f"datagram batch of {count} x {capacity} bytes")
        self._memory = <uint8_t*>memory
        self.count = count
        self.capacity = capacity
        for index in range(count):
            self.items[index].buffer = self._memory + stride * index
            self.items[index].capacity = capacity

    def __dealloc__(self):
        free(self._memory)
        free(self.items)

    def __len__(self) -> int:
        return self.count


cdef class RegionPort:
    """Where mapped files come from. Subclassed in Python; called by the control plane only."""

    @property
    def page_size(self) -> int:
        raise NotImplementedError

    def create(self, path, length, *, sparse):
        """Create a file of `length` zero bytes; return its Region. StorageSpaceError when there is no room."""
        raise NotImplementedError

    def unchecked(self):
        """Return a port that makes sparse files whether or not there is room for all of them now."""
        return self

    def map(self, path, *, writable=True, minimum_length=1):
        """Map an existing file; return its Region. TruncatedFileError when it is shorter than `minimum_length`."""
        raise NotImplementedError

    def sync(self, region) -> None:
        """Return when what was written to a region is on the disk. Raises FileError; what was written since the last sync is lost then."""
        raise NotImplementedError

    def delete(self, path) -> bool:
        """Remove a file; False when there is none."""
        raise NotImplementedError

    def exists(self, path) -> bool:
        raise NotImplementedError

    def free_space(self, directory) -> int:
        """Bytes that may still be written under `directory`."""
        raise NotImplementedError

    def identity(self, path):
        """Return what distinguishes the file of a path from every other file, whatever they are called. Raises FileNotFoundError."""
        raise NotImplementedError

    def check_owner(self, path) -> None:
        """Raise ForeignDirectoryError for a file of another user's. Memory that has no owner passes."""

    def is_locked(self, path):
        """Return whether a living process holds the exclusive lock of a file; None where there is no such file, or no telling."""
        return None

    def open_file(self, path):
        """Open a file for reading, for system calls such as sendfile. StorageError where there is no file behind the memory."""
        raise StorageError("there is no file behind this memory", where=path, expected="poll_block or block_poll, which read the memory itself")

    def survive_lost_pages(self) -> None:
        """Have guarded regions survive the loss of their pages. Memory that loses none needs nothing."""


cdef class WakeupPort:
    """A bit that a thread, native or not, sets for a sleeper.  As it stands nothing sleeps on it; implementations override signal, sleep, drain."""

    cdef void signal(self) noexcept nogil:
        exchange_i32(&self.signal_bit, 1)

    def wake(self) -> None:
        """Wake the sleeper."""
        self.signal()

    def sleep(self, int64_t timeout_ns) -> None:
        """Sleep until signalled, at most `timeout_ns`, and forget the signal."""
        raise NotImplementedError

    def drain(self) -> bool:
        """Forget the signal; True when there was one. Look for events AFTER this."""
        return exchange_i32(&self.signal_bit, 0) != 0

    @property
    def signalled(self) -> bool:
        """Whether the sleeper was woken and has not drained since."""
        return load_acquire_i32(&self.signal_bit) == 1

    def close(self) -> None:
        """Release what the wake-up holds. Idempotent."""
