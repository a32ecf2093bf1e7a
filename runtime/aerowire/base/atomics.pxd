# Atomic loads, stores and read-modify-writes on shared memory, as C11-style builtins.
#
# Any pointer is accepted; the caller keeps it naturally aligned (an atomic that crosses a cache line tears).
# `acquire` pairs with `release`; `relaxed` orders nothing but never tears.  Nothing here takes the interpreter lock.

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef extern from *:
    """
    #ifndef AEROWIRE_ATOMICS
    #define AEROWIRE_ATOMICS
    #include <stdint.h>
    static inline uint8_t aw_load_acquire_u8(const void *p) { return __atomic_load_n((const uint8_t *)p, __ATOMIC_ACQUIRE); }
    static inline int32_t aw_load_acquire_i32(const void *p) { return __atomic_load_n((const int32_t *)p, __ATOMIC_ACQUIRE); }
    static inline int64_t aw_load_acquire_i64(const void *p) { return __atomic_load_n((const int64_t *)p, __ATOMIC_ACQUIRE); }
    static inline int32_t aw_load_relaxed_i32(const void *p) { return __atomic_load_n((const int32_t *)p, __ATOMIC_RELAXED); }
    static inline int64_t aw_load_relaxed_i64(const void *p) { return __atomic_load_n((const int64_t *)p, __ATOMIC_RELAXED); }
    static inline void aw_store_release_u8(void *p, uint8_t v) { __atomic_store_n((uint8_t *)p, v, __ATOMIC_RELEASE); }
    static inline void aw_store_release_i32(void *p, int32_t v) { __atomic_store_n((int32_t *)p, v, __ATOMIC_RELEASE); }
    static inline void aw_store_release_i64(void *p, int64_t v) { __atomic_store_n((int64_t *)p, v, __ATOMIC_RELEASE); }
    static inline void aw_store_relaxed_i32(void *p, int32_t v) { __atomic_store_n((int32_t *)p, v, __ATOMIC_RELAXED); }
    static inline void aw_store_relaxed_i64(void *p, int64_t v) { __atomic_store_n((int64_t *)p, v, __ATOMIC_RELAXED); }
    static inline void aw_store_seq_cst_i32(void *p, int32_t v) { __atomic_store_n((int32_t *)p, v, __ATOMIC_SEQ_CST); }
    static inline void aw_store_seq_cst_i64(void *p, int64_t v) { __atomic_store_n((int64_t *)p, v, __ATOMIC_SEQ_CST); }
    static inline int32_t aw_fetch_add_i32(void *p, int32_t v) { return __atomic_fetch_add((int32_t *)p, v, __ATOMIC_SEQ_CST); }
    static inline int64_t aw_fetch_add_i64(void *p, int64_t v) { return __atomic_fetch_add((int64_t *)p, v, __ATOMIC_SEQ_CST); }
    static inline int32_t aw_exchange_i32(void *p, int32_t v) { return __atomic_exchange_n((int32_t *)p, v, __ATOMIC_SEQ_CST); }
    static inline int64_t aw_exchange_i64(void *p, int64_t v) { return __atomic_exchange_n((int64_t *)p, v, __ATOMIC_SEQ_CST); }
    static inline int aw_cas_i32(void *p, int32_t expected, int32_t desired)
    { return __atomic_compare_exchange_n((int32_t *)p, &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); }
    static inline int aw_cas_i64(void *p, int64_t expected, int64_t desired)
    { return __atomic_compare_exchange_n((int64_t *)p, &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); }
    static inline void aw_acquire_fence(void) { __atomic_thread_fence(__ATOMIC_ACQUIRE); }
    static inline void aw_release_fence(void) { __atomic_thread_fence(__ATOMIC_RELEASE); }
    static inline void aw_full_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
    static inline void aw_cpu_relax(void)
    {
    #if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();  /* immintrin.h, which has a name for it, takes longer to read than most modules */
    #elif defined(__aarch64__)
        __asm__ __volatile__("isb" ::: "memory");
    #else
        __asm__ __volatile__("" ::: "memory");
    #endif
    }
    #endif
    """
    uint8_t load_acquire_u8 "aw_load_acquire_u8"(const void* p) noexcept nogil
    int32_t load_acquire_i32 "aw_load_acquire_i32"(const void* p) noexcept nogil
    int64_t load_acquire_i64 "aw_load_acquire_i64"(const void* p) noexcept nogil
    int32_t load_relaxed_i32 "aw_load_relaxed_i32"(const void* p) noexcept nogil
    int64_t load_relaxed_i64 "aw_load_relaxed_i64"(const void* p) noexcept nogil
    void store_release_u8 "aw_store_release_u8"(void* p, uint8_t v) noexcept nogil
    void store_release_i32 "aw_store_release_i32"(void* p, int32_t v) noexcept nogil
    void store_release_i64 "aw_store_release_i64"(void* p, int64_t v) noexcept nogil
    void store_relaxed_i32 "aw_store_relaxed_i32"(void* p, int32_t v) noexcept nogil
    void store_relaxed_i64 "aw_store_relaxed_i64"(void* p, int64_t v) noexcept nogil
    void store_seq_cst_i32 "aw_store_seq_cst_i32"(void* p, int32_t v) noexcept nogil
    void store_seq_cst_i64 "aw_store_seq_cst_i64"(void* p, int64_t v) noexcept nogil
    # read-modify-write: sequentially consistent; fetch_add and exchange return the value before
    int32_t fetch_add_i32 "aw_fetch_add_i32"(void* p, int32_t v) noexcept nogil
    int64_t fetch_add_i64 "aw_fetch_add_i64"(void* p, int64_t v) noexcept nogil
    int32_t exchange_i32 "aw_exchange_i32"(void* p, int32_t v) noexcept nogil
    int64_t exchange_i64 "aw_exchange_i64"(void* p, int64_t v) noexcept nogil
    bint cas_i32 "aw_cas_i32"(void* p, int32_t expected, int32_t desired) noexcept nogil
    bint cas_i64 "aw_cas_i64"(void* p, int64_t expected, int64_t desired) noexcept nogil
    void acquire_fence "aw_acquire_fence"() noexcept nogil
    void release_fence "aw_release_fence"() noexcept nogil
    void full_fence "aw_full_fence"() noexcept nogil
    void cpu_relax "aw_cpu_relax"() noexcept nogil
