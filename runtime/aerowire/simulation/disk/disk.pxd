# The disk of a simulated machine: files and names, space, faults, and what is left when the power fails.

cimport cython
from libc.stdint cimport int32_t, int64_t, uint64_t

from aerowire.base.ports cimport ClockPort
from aerowire.simulation.disk.file_content cimport FileContent
from aerowire.system.random cimport SeededRandom


@cython.final
cdef class StoredFile:
    cdef FileContent content
    cdef int64_t inode
    cdef int32_t open_count
    cdef bint is_named              # where processes see it
    cdef bint is_volatile           # in memory alone: no fault of a disk happens to it
    cdef object lock_holder         # the OpenEntry that has the exclusive lock


cdef struct FaultRates:
    double read_error
    double write_error
    double sync_error
    double short_read
    double short_write
    double writeback
    double misdirected_write
    double bit_flip


@cython.final
cdef class SimulatedDisk:
    cdef ClockPort clock
    cdef SeededRandom random
    cdef FaultRates rates
    cdef readonly object tree       # DirectoryTree
    cdef readonly dict counts       # operations and faults by name
    cdef public object on_begin     # called when an operation is begun, unless it is None
    cdef list _ports
    cdef object _faults
    cdef object _memory_in
    cdef int64_t _capacity
    cdef int64_t _pages_taken
    cdef int64_t _damages
    cdef uint64_t _hash

    cdef void note(self, int64_t one, int64_t other)                # into the hash
    cdef void count(self, str name)
    cdef bint happens(self, double chance, str name)                # draws only where there is a chance
    cdef int64_t take_space(self, FileContent content, int64_t offset, int64_t length)     # 0 or -ENOSPC
    cdef int64_t free_pages(self)
    cdef void give_space(self, FileContent content, int64_t length) # beyond a length
    cdef void forget_if_unused(self, StoredFile file)
    cdef void damage(self, StoredFile file, int64_t page)           # by chance, when it has been synced
    cdef int64_t draw_due_ns(self)
