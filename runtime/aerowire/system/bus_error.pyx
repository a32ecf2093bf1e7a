"""SIGBUS: an access to a page that a mapped file does not have, because the file was cut short or its file system is full.

Files with holes take their memory when it is first written, and every process that may write to a file may cut it; no check beforehand
can rule either out.  The official drivers and clients die of it without a word.  Here a driver or a client in a process of the user's has the
lost page of one of its own mappings replaced by zeros, goes on, and ends what used the file with an error.  A command that has nothing
else to do says which file it was and ends.  What happens at any other address is left to the handler that was there before.
"""

from libc.errno cimport errno
from libc.string cimport memcpy

from aerowire.memory.lost_pages cimport MappedRange, range_at, replace_page

cdef extern from * nogil:
    """
    #include <errno.h>
    #include <signal.h>
    #include <string.h>
    #include <sys/uio.h>

    static struct sigaction aw_previous_action;

    static int aw_install(void (*handler)(int, siginfo_t *, void *)) {
        struct sigaction action;
        memset(&action, 0, sizeof(action));
        action.sa_sigaction = handler;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        return sigaction(SIGBUS, &action, &aw_previous_action);
    }

    /* What was there before us decides; without it the access is repeated, or the signal sent again, under the default action. */
    static void aw_leave_to_previous(int number, siginfo_t *info, void *context) {
        if (aw_previous_action.sa_flags & SA_SIGINFO) {
            aw_previous_action.sa_sigaction(number, info, context);
        } else if (aw_previous_action.sa_handler != SIG_DFL && aw_previous_action.sa_handler != SIG_IGN) {
            aw_previous_action.sa_handler(number);
        } else {
            sigaction(SIGBUS, &aw_previous_action, NULL);
            if (info->si_code <= 0) raise(number);
        }
    }

    static void aw_restore_previous(void) { sigaction(SIGBUS, &aw_previous_action, NULL); }

    static void aw_set_errno(int value) { errno = value; }

    static void aw_write_line(const char *begin, const char *name, const char *end) {
        struct iovec parts[3] = {{(void *)begin, strlen(begin)}, {(void *)name, strlen(name)}, {(void *)end, strlen(end)}};
        ssize_t written = writev(2, parts, 3);
        (void)written;
    }
    """
    ctypedef struct siginfo_t:
        int si_code
        void* si_addr
    int aw_install(void (*handler)(int, siginfo_t*, void*) noexcept nogil)
    void aw_leave_to_previous(int number, siginfo_t* info, void* context)
    void aw_restore_previous()
    void set_errno "aw_set_errno"(int value)
    void aw_write_line(const char* begin, const char* name, const char* end)

cdef extern from "<unistd.h>" nogil:
    ssize_t write(int descriptor, const void* bytes, size_t length)
    void _exit(int code)

cdef extern from "<termios.h>" nogil:
    struct termios:
        pass
    int TCSANOW
    int tcgetattr(int descriptor, termios* modes)
    int tcsetattr(int descriptor, int when, const termios* modes)

cdef const char* MESSAGE_BEGIN = b"aerowire: no memory behind a mapped file (SIGBUS): "
cdef const char* MESSAGE_END = (
    b": the file system of the driver's directory is full, or a file was cut short "
    b"(hint: free space in /dev/shm or enlarge it, use shorter terms, or aeron.term.buffer.sparse.file=false to have the space reserved)\n"
)
cdef const char* UNKNOWN_FILE = b"unknown file"

cdef bint is_installed = False
cdef bint survives = False              # guarded mappings get new pages
cdef bint exits = False                 # a command: says what happened, and ends
cdef int exit_code_on_bus_error = 2

cdef enum:
    STANDARD_INPUT = 0
    STANDARD_OUTPUT = 1
    ERROR_OF_FILE = 1           # a code above 0 is the kernel's, and names an address
    LEAVING_LENGTH_MAX = 64     # of the few escape sequences that a terminal is left with

cdef char leaving[LEAVING_LENGTH_MAX]
cdef size_t leaving_length = 0
cdef termios modes
cdef bint has_modes = False


cdef void on_bus_error(int number, siginfo_t* info, void* context) noexcept nogil:
    # Only what is safe in a signal handler: memory may be missing anywhere.
    cdef int saved = errno
    cdef MappedRange* found = range_at(info.si_addr) if info.si_code >= ERROR_OF_FILE else NULL
    if survives and found is not NULL and found.is_guarded and replace_page(found, info.si_addr):
        set_errno(saved)
        return
    if exits:
        if leaving_length:
            write(STANDARD_OUTPUT, leaving, leaving_length)
        if has_modes:
            tcsetattr(STANDARD_INPUT, TCSANOW, &modes)
    if exits or found is not NULL:
        aw_write_line(MESSAGE_BEGIN, UNKNOWN_FILE if found is NULL else found.name, MESSAGE_END)
    if exits:
        _exit(exit_code_on_bus_error)
    if found is not NULL:
        aw_restore_previous()               # the access is repeated, and is that handler's
    else:
        aw_leave_to_previous(number, info, context)


cdef int install() except -1:
    # Once: a handler that came later has ours as the one before it, and must not become ours.
    global is_installed
    if not is_installed:
        if aw_install(on_bus_error) != 0:
            raise OSError("cannot handle SIGBUS")
        is_installed = True
    return 0


def explain_bus_errors(int exit_code) -> None:
    """End this process with `exit_code` and a line on standard error when memory behind a mapped file is missing. For commands only."""
    global exits, exit_code_on_bus_error
    exit_code_on_bus_error = exit_code
    exits = True
    install()


def survive_bus_errors() -> None:
    """Give guarded mappings zero pages for those that their files have lost; see `Region.guard`.

    Once for the process. Has no effect after `explain_bus_errors`; a command that survives calls this one first.
    """
    global survives
    if not exits:
        survives = True
    install()


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
