"""What a command says before a bus error ends it: a mapped file could not get the memory that was written to.

Files with holes take their memory when it is first written. Where the file system is full by then the kernel sends SIGBUS, and no
check beforehand can rule that out. The official drivers die of it without a word.
"""

from libc.string cimport memcpy, strlen

cdef extern from "<signal.h>" nogil:
    int SIGBUS
    ctypedef void (*handler_type)(int) noexcept nogil
    handler_type signal(int number, handler_type handler)

cdef extern from "<unistd.h>" nogil:
    ssize_t write(int descriptor, const void* bytes, size_t length)
    void _exit(int code)

cdef extern from "<termios.h>" nogil:
    struct termios:
        pass
    int TCSANOW
    int tcgetattr(int descriptor, termios* modes)
    int tcsetattr(int descriptor, int when, const termios* modes)

cdef const char* MESSAGE = (
    b"aerowire: no memory behind a mapped file (SIGBUS): the file system of the driver's directory is full, or a file was cut short "
    b"(hint: free space in /dev/shm or enlarge it, use shorter terms, or aeron.term.buffer.sparse.file=false to have the space reserved)\n"
)
cdef int STANDARD_ERROR = 2
cdef int exit_code_on_bus_error = 2

cdef enum:
    STANDARD_INPUT = 0
    STANDARD_OUTPUT = 1
    LEAVING_LENGTH_MAX = 64     # of the few escape sequences that a terminal is left with

cdef char leaving[LEAVING_LENGTH_MAX]
cdef size_t leaving_length = 0
cdef termios modes
cdef bint has_modes = False


cdef void on_bus_error(int number) noexcept nogil:
    # Only what is safe in a signal handler: memory may be missing anywhere.
    if leaving_length:
        write(STANDARD_OUTPUT, leaving, leaving_length)
    if has_modes:
        tcsetattr(STANDARD_INPUT, TCSANOW, &modes)
    write(STANDARD_ERROR, MESSAGE, strlen(MESSAGE))
    _exit(exit_code_on_bus_error)


def explain_bus_errors(int exit_code) -> None:
    """End this process with `exit_code` and a line on standard error when memory behind a mapped file is missing. For commands only."""
    global exit_code_on_bus_error
    exit_code_on_bus_error = exit_code
    signal(SIGBUS, on_bus_error)


def restore_terminal_on_bus_error(bytes sequence not None) -> None:
    """Have a bus error write `sequence` to standard output and give the terminal at standard input, if there is one, the modes of now.

    To be called BEFORE a command changes them. ValueError for more than 64 bytes.
    """
    global leaving_length, has_modes
    if len(sequence) > LEAVING_LENGTH_MAX:
        raise ValueError(f"sequence that a terminal is left with: expected at most {LEAVING_LENGTH_MAX} bytes, actual {len(sequence)}")
    memcpy(leaving, <const char*>sequence, len(sequence))
    has_modes = tcgetattr(STANDARD_INPUT, &modes) == 0
    leaving_length = len(sequence)


def forget_terminal() -> None:
    """Have a bus error leave the terminal alone, as at first."""
    global leaving_length, has_modes
    leaving_length = 0
    has_modes = False
