# The files port of one process of a simulated machine.

cimport cython
from libc.stdint cimport int32_t, int64_t

from aerowire.base.file_port cimport FileOperation, FilePort
from aerowire.simulation.disk.disk cimport SimulatedDisk


# An operation that was begun and is not complete.
cdef struct Begun:
    int64_t due_ns
    FileOperation* operation


@cython.final
cdef class SimulatedFiles(FilePort):
    cdef SimulatedDisk _disk
    cdef list _open                 # OpenEntry by handle, None where it is closed
    cdef list _held                 # directories
    cdef Begun* _begun              # in the order of their beginning
    cdef int32_t _begun_count
    cdef int32_t _begun_room
    cdef int64_t _left              # operations until it is killed, 0 for no such end
    cdef bint _is_dying             # in the midst of its last operation: writes are done in part
    cdef bint _is_dead

    cdef int64_t _run_now(self, FileOperation* operation)
    cdef int64_t _dispatch(self, FileOperation* operation)
    cdef int64_t _dispatch_on_path(self, FileOperation* operation) except? -1
    cdef int64_t _open_file(self, FileOperation* operation) except? -1
    cdef int64_t _dispatch_on_file(self, FileOperation* operation)
    cdef int64_t _close(self, int32_t handle)
    cdef void _remember(self, FileOperation* operation)
    cdef FileOperation* _take(self, int32_t index)
