"""Memory that the process was done with, given back to the operating system."""

import gc

cdef extern from *:
    """
    #include <stdlib.h>
    #ifdef __GLIBC__
    #include <malloc.h>
    static int heap_trim(void) { return malloc_trim(0); }
    #else
    static int heap_trim(void) { return 0; }
    #endif
    """
    int heap_trim() nogil


def give_back_memory() -> bool:
    """Return unused pages of the C heap to the system; return whether there were any. The heap is walked without the interpreter lock.

    The C library keeps what was freed behind a block that is still in use. Where it has no such call, nothing happens. Python keeps freed
    tuples and dicts for later ones until a full collection, and with them the memory around them. That takes 10 to 20 ms unless what was
    made before was frozen (`gc.freeze`), and is done only then.
    """
    if gc.get_freeze_count():
        gc.collect()
    cdef int released
    with nogil:
        released = heap_trim()
    return released != 0
