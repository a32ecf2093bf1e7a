"""An open file of a simulated disk: what operations on it do, and the faults that happen to them."""

from libc.errno cimport EAGAIN, EBADF, EFBIG, EINVAL, EIO, ENOSPC
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.base.file_port cimport FILE_PREALLOCATE, FileOperation
from aerowire.simulation.digest cimport digest_octets
from aerowire.simulation.disk.disk cimport SimulatedDisk, StoredFile
from aerowire.simulation.disk.file_content cimport CONTENT_BITS_MAX, PAGE, FileContent


cdef class OpenEntry:
    """What a handle of a process stands for."""

    cdef int64_t read(self, SimulatedDisk disk, FileOperation* operation):
        cdef int64_t wanted = total(operation)
        cdef int64_t done = 0
        cdef int64_t count
        cdef int32_t index
        if happens(disk, self.file, disk.rates.read_error, "read_error"):
            return -EIO
        if wanted > 1 and happens(disk, self.file, disk.rates.short_read, "short_read"):
            wanted = 1 + <int64_t>disk.random.next_below(wanted - 1)
        for index in range(operation.piece_count):
            count = self.file.content.read(operation.offset + done, <uint8_t*>operation.pieces[index].iov_base,
                                            min(<int64_t>operation.pieces[index].iov_len, wanted - done))
            done += count
            if count < <int64_t>operation.pieces[index].iov_len:
                break
        disk.note(operation.offset, done)
        return done

    cdef int64_t write(self, SimulatedDisk disk, FileOperation* operation, bint is_dying):
        cdef FileContent content = self.file.content
        cdef int64_t wanted = total(operation)
        cdef int64_t done = 0
        cdef int64_t count
        cdef int64_t failure
        cdef int32_t index
        cdef bint fails
        if not self.is_writable:
            return -EBADF
        if wanted == 0:
            return 0
        failure = content.reserve(operation.offset + wanted) if operation.offset < <int64_t>1 << CONTENT_BITS_MAX else -EFBIG
        if failure < 0:
            return failure
        if disk.rates.writeback > 0.0 and not self.file.is_volatile:
            content.persist_some(disk.random, disk.rates.writeback)
        fails = happens(disk, self.file, disk.rates.write_error, "write_error")
        if fails:
            wanted = <int64_t>disk.random.next_below(wanted + 1)
        elif wanted > 1 and (is_dying or happens(disk, self.file, disk.rates.short_write, "short_write")):
            wanted = 1 + <int64_t>disk.random.next_below(wanted - 1)
        for index in range(operation.piece_count):
            count = min(<int64_t>operation.pieces[index].iov_len, wanted - done)
            count = take_room(disk, content, operation.offset + done, count)
            content.write(operation.offset + done, <uint8_t*>operation.pieces[index].iov_base, count)
            disk.note(<int64_t>digest_octets(0, <uint8_t*>operation.pieces[index].iov_base, <int>count), count)
            done += count
            if count < <int64_t>operation.pieces[index].iov_len:
                break
        disk.note(operation.offset, done)
        if fails:
            return -EIO
        return done if done else -ENOSPC

    cdef int64_t resize(self, SimulatedDisk disk, FileOperation* operation):
        cdef FileContent content = self.file.content
        cdef int64_t failure
        cdef bint reserves = operation.code == FILE_PREALLOCATE
        if not self.is_writable:
            return -EBADF if reserves else -EINVAL
        failure = content.reserve(operation.length)
        if failure < 0:
            return failure
        if reserves:
            if disk.take_space(content, 0, operation.length) < 0:
                disk.count("full")
                return -ENOSPC
            if operation.length > content.length:
                content.set_length(operation.length)
        else:
            content.set_length(operation.length)
            disk.give_space(content, operation.length)
        disk.note(operation.length, content.length)
        return 0

    cdef int64_t lock(self):
        if self.file.lock_holder is not None and self.file.lock_holder is not self:
            return -EAGAIN
        self.file.lock_holder = self
        return 0

    cdef int64_t unlock(self):
        if self.file.lock_holder is self:
            self.file.lock_holder = None
        return 0


cdef int64_t sync_file(SimulatedDisk disk, StoredFile file):
    # Put what was written to a file on the disk; a negative errno.
    cdef int64_t page
    cdef list written
    if file.is_volatile:
        return 0
    if disk.happens(disk.rates.sync_error, "sync_error"):
        file.content.fail_sync(disk.random)
        return -EIO
    if disk.rates.misdirected_write > 0.0 or disk.rates.bit_flip > 0.0:
        written = [page for page in range(file.content.pages_in_use()) if file.content.is_unsynced(page)]
        file.content.sync()
        for page in written:
            disk.damage(file, page)
    else:
        file.content.sync()
    return 0


cdef bint happens(SimulatedDisk disk, StoredFile file, double chance, str name):
    return not file.is_volatile and disk.happens(chance, name)


cdef int64_t take_room(SimulatedDisk disk, FileContent content, int64_t offset, int64_t length):
    # How many of the bytes there is space for, which is taken.
    cdef int64_t part
    cdef int64_t done = 0
    while done < length:
        part = min(length - done, PAGE - (offset + done) % PAGE)
        if disk.take_space(content, offset + done, part) < 0:
            disk.count("full")
            break
        done += part
    return done


cdef int64_t total(const FileOperation* operation) noexcept nogil:
    cdef int32_t index
    cdef int64_t length = 0
    for index in range(operation.piece_count):
        length += <int64_t>operation.pieces[index].iov_len
    return length
