# An open file of a simulated disk.

cimport cython
from libc.stdint cimport int64_t

from aerowire.base.file_port cimport FileOperation
from aerowire.simulation.disk.disk cimport SimulatedDisk, StoredFile


@cython.final
cdef class OpenEntry:
    cdef StoredFile file
    cdef bint is_writable

    # Results are those of the operations, negative ones errnos.
    cdef int64_t read(self, SimulatedDisk disk, FileOperation* operation)
    cdef int64_t write(self, SimulatedDisk disk, FileOperation* operation, bint is_dying)   # in part when its process is dying
    cdef int64_t resize(self, SimulatedDisk disk, FileOperation* operation)
    cdef int64_t lock(self)
    cdef int64_t unlock(self)


cdef int64_t sync_file(SimulatedDisk disk, StoredFile file)
