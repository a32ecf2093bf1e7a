# The operating system's files as a FilePort, and threads that perform operations for another port.

cimport cython
from libc.stdint cimport int32_t

from aerowire.base.file_port cimport FileOperation, FilePort

cdef extern from "<pthread.h>" nogil:
    ctypedef struct pthread_t:
        pass
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass


@cython.final
cdef class FileSystem(FilePort):
    pass


# Operations in the order of their beginning: what the threads share with those who begin them.
cdef struct OperationQueue:
    pthread_mutex_t mutex
    pthread_cond_t changed
    FileOperation* first
    FileOperation* last
    int32_t is_closing
    void* files             # the FilePort that performs them, which FileWorkers keeps


@cython.final
cdef class FileWorkers(FilePort):
    cdef FilePort _files
    cdef OperationQueue _queue
    cdef pthread_t* _threads
    cdef int32_t _count
    cdef int _process
