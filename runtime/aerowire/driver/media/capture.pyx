"""The driver's own packet capture: every datagram, into a file, without privileges.

Agents append whole records to one buffer under a lock held for the length of a copy, so records stand in the order of their times.
Another buffer is written out meanwhile, by the owner's flush or by who filled the first. A full disk ends the capture, never the driver.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc

cimport cython

import os

from aerowire.base.errors import StorageError, StorageSpaceError
from aerowire.system import files

from aerowire.driver.media.capture_records cimport (
    CAPTURE_PLAIN, PAYLOAD_LENGTH_MAX, RECORD_LENGTH_MAX, append_classic, append_pcapng, begin_classic, begin_pcapng)
from aerowire.base.address cimport Address, address_from
from aerowire.memory.atomics cimport cpu_relax, exchange_i32, load_acquire_i32, store_release_i32
from aerowire.system.descriptors cimport close_descriptor, write_all

cdef enum:
    BUFFER_LENGTH = 1 << 20             # bytes gathered before a write


cdef inline void acquire(int32_t* lock) noexcept nogil:
    while exchange_i32(lock, 1) != 0:
        cpu_relax()

cdef inline void release(int32_t* lock) noexcept nogil:
    store_release_i32(lock, 0)


@cython.final
cdef class CaptureWriter:
    """Created and closed by the driver's owner. Invariant: both buffers begin and end on record boundaries while unlocked."""

    def __cinit__(self, path, ClockPort clock not None, *, bint overwrites=False):
        self._fd = -1
        self._clock = clock
        self._path = os.fspath(path)
        self._classic = str(self._path).endswith(".pcap")
        self._filling.bytes_ = <uint8_t*>malloc(BUFFER_LENGTH)
        self._writing.bytes_ = <uint8_t*>malloc(BUFFER_LENGTH)
        if self._filling.bytes_ is NULL or self._writing.bytes_ is NULL:
            raise MemoryError
        try:
            self._fd = files.open_output(self._path, overwrites)
        except OSError as error:
            hint = "give another file, in a folder that exists"
            if isinstance(error, FileExistsError):
                hint = "give another file, or --capture-overwrite to replace it"
            raise StorageError("capture cannot be written", where=self._path, expected="a file that can be made", actual=error.strerror,
                               hint=hint) from None
        if self._classic:
            begin_classic(&self._filling)
        else:
            begin_pcapng(&self._filling)
        self.flush()

    def __dealloc__(self):
        if self._fd >= 0:
            close_descriptor(self._fd)
        free(self._filling.bytes_)
        free(self._writing.bytes_)

    def flush(self) -> None:
        """Write out what was gathered; StorageSpaceError when the capture ended because it could not be written."""
        with nogil:
            self._write_out()
        if self.error:
            raise StorageSpaceError("capture ended before the driver did", where=self._path, expected="room for every datagram",
                                    actual=os.strerror(self.error), hint="free space, or capture to another file system")

    def close(self) -> None:
        """Write out the rest and close the file; packets that come later are ignored."""
        cdef int fd
        with nogil:
            self._write_out()
            acquire(&self._file_lock)
            acquire(&self._lock)
            fd = self._fd
            self._fd = -1
            release(&self._lock)
            release(&self._file_lock)
        if fd >= 0:
            files.close(fd)

    def add(self, source, target, const uint8_t[::1] payload not None) -> None:
        """Record a datagram as sent, at the clock's time; addresses as (host, port). ValueError for one that is too long."""
        cdef Address sender
        cdef Address receiver
        cdef int32_t length = <int32_t>min(len(payload), PAYLOAD_LENGTH_MAX + 1)
        if not 0 < length <= PAYLOAD_LENGTH_MAX:
            raise ValueError(f"a datagram has 1 to {PAYLOAD_LENGTH_MAX} bytes, got {len(payload)}")
        address_from(&sender, source)
        address_from(&receiver, target)
        with nogil:
            self.write_packet(True, CAPTURE_PLAIN, &sender, &receiver, &payload[0], length)

    @property
    def packet_count(self) -> int:
        """Packets recorded, lost ones included."""
        return self._packets

    @property
    def error(self) -> int:
        """errno that ended the capture, 0 while it goes on."""
        return load_acquire_i32(&self._error)

    @property
    def path(self):
        """The file."""
        return self._path

    cdef void write_packet(self, bint outgoing, int mark, const Address* source, const Address* target, const uint8_t* payload,
                           int32_t length) noexcept nogil:
        if length > PAYLOAD_LENGTH_MAX:
            return
        acquire(&self._lock)
        while self._filling.used + RECORD_LENGTH_MAX > BUFFER_LENGTH and self._fd >= 0:
            release(&self._lock)
            self._write_out()
            acquire(&self._lock)
        if self._fd >= 0 and not load_acquire_i32(&self._error):
            if self._classic:
                append_classic(&self._filling, self._clock.epoch_ns(), outgoing, mark, source, target, payload, length)
            else:
                append_pcapng(&self._filling, self._clock.epoch_ns(), outgoing, mark, source, target, payload, length)
            self._packets += 1
        release(&self._lock)

    cdef void _write_out(self) noexcept nogil:
        # The file's lock is held all along, so that buffers are written in the order in which they were filled.
        cdef uint8_t* spare
        acquire(&self._file_lock)
        acquire(&self._lock)
        spare = self._writing.bytes_
        self._writing = self._filling
        self._filling.bytes_ = spare
        self._filling.used = 0
        release(&self._lock)
        self._write_file()
        release(&self._file_lock)

    cdef void _write_file(self) noexcept nogil:
        cdef int error
        if self._fd >= 0 and not self._error:
            error = write_all(self._fd, self._writing.bytes_, self._writing.used)
            if error:
                store_release_i32(&self._error, error)
        self._writing.used = 0
