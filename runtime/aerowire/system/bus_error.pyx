"""What a command says before a bus error ends it: a mapped file could not get the memory that was written to.

Files with holes take their memory when it is first written. Where the file system is full by then the kernel sends SIGBUS, and no
check beforehand can rule that out. The official drivers die of it without a word.
"""

from libc.string cimport strlen

cdef extern from "<signal.h>" nogil:
    int SIGBUS
    ctypedef void (*handler_type)(int) noexcept nogil
    handler_type signal(int number, handler_type handler)

cdef extern from "<unistd.h>" nogil:
    ssize_t write(int descriptor, const void* bytes, size_t length)
    void _exit(int code)

cdef const char* MESSAGE = (
    b"aerowire: no memory behind a mapped file (SIGBUS): the file system of the driver's directory is full, or a file was cut short "
    b"(hint: free space in /dev/shm or enlarge it, use shorter terms, or aeron.term.buffer.sparse.file=false to have the space reserved)\n"
)
cdef int STANDARD_ERROR = 2
cdef int exit_code_on_bus_error = 2


cdef void on_bus_error(int number) noexcept nogil:
    # Only what is safe in a signal handler: memory may be missing anywhere.
    write(STANDARD_ERROR, MESSAGE, strlen(MESSAGE))
    _exit(exit_code_on_bus_error)


def explain_bus_errors(int exit_code) -> None:
    """End this process with `exit_code` and a line on standard error when memory behind a mapped file is missing. For commands only."""
    global exit_code_on_bus_error
    exit_code_on_bus_error = exit_code
    signal(SIGBUS, on_bus_error)
