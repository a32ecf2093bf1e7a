# How a native thread rests, and the time it does so by.

from libc.stdint cimport int64_t

cdef extern from "<sched.h>" nogil:
    int sched_yield()

cdef extern from *:
    """
    #include <time.h>
    #ifdef __linux__
    #include <sys/prctl.h>
    static inline void aw_precise_sleep(void) { prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0); }
    #else
    static inline void aw_precise_sleep(void) {}
    #endif
    static inline int64_t aw_now_ns(void)
    {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    }
    """
    void aw_precise_sleep() nogil       # this thread's sleeps end within a microsecond; the default is 50
    int64_t aw_now_ns() nogil
