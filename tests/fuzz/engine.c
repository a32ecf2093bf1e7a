/* The native half of the fuzzer: which edges ran, which values were compared, mutations, and limits of time.
 *
 * Built by tests/fuzz/engine.py with the system's C compiler and preloaded, so that modules which gcc has compiled with
 * -fsanitize-coverage=trace-pc,trace-cmp find the callbacks here. One thread fuzzes; callbacks of other threads are ignored.
 * Every choice follows from the seed.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MAP_SIZE (1u << 17)
#define PAIRS 1024u /* compared values that are kept */
#define GUARDED 4096u
#define PAGE 4096u

typedef struct {
    uint64_t a, b;
    uint32_t size;
} Pair;

static uint8_t edges[MAP_SIZE] __attribute__((aligned(64)));
static uint8_t seen[MAP_SIZE] __attribute__((aligned(64)));
/* The edges of this execution: an execution runs some hundred of them, so that all of the map need not be looked at. */
static uint32_t run[MAP_SIZE];
static uint32_t run_count;
static Pair pairs[PAIRS];
static uint32_t pair_count;
static volatile int is_active;
static volatile int is_guarding;
static uintptr_t previous;
/* Preloaded, so there is room in the static block; a sanitizer would look at each look-up of a dynamic one. */
static __thread int is_fuzzing_thread __attribute__((tls_model("initial-exec")));
static uint64_t random_state = 1;

/* ---- coverage ---- */

void __sanitizer_cov_trace_pc(void) {
    if (!is_active || !is_fuzzing_thread) return;
    uintptr_t place = (uintptr_t)__builtin_return_address(0);
    place = (place * 0x9E3779B97F4A7C15ull) >> 40;
    uint32_t edge = (uint32_t)((place ^ previous) & (MAP_SIZE - 1));
    if (edges[edge] == 0) run[run_count++] = edge;
    if (edges[edge] != 255) ++edges[edge];
    previous = place >> 1;
}

static inline void compared(uint64_t a, uint64_t b, uint32_t size) {
    if (!is_active || !is_fuzzing_thread || a == b) return;
    /* Where the table is full, later comparisons replace some of the earlier ones. */
    uint32_t at = pair_count < PAIRS ? pair_count : (uint32_t)((a * 31 + b * 17 + pair_count) % PAIRS);
    pair_count++;
    pairs[at] = (Pair){a, b, size};
}

void __sanitizer_cov_trace_cmp1(uint8_t a, uint8_t b) { compared(a, b, 1); }
void __sanitizer_cov_trace_cmp2(uint16_t a, uint16_t b) { compared(a, b, 2); }
void __sanitizer_cov_trace_cmp4(uint32_t a, uint32_t b) { compared(a, b, 4); }
void __sanitizer_cov_trace_cmp8(uint64_t a, uint64_t b) { compared(a, b, 8); }
void __sanitizer_cov_trace_const_cmp1(uint8_t a, uint8_t b) { compared(a, b, 1); }
void __sanitizer_cov_trace_const_cmp2(uint16_t a, uint16_t b) { compared(a, b, 2); }
void __sanitizer_cov_trace_const_cmp4(uint32_t a, uint32_t b) { compared(a, b, 4); }
void __sanitizer_cov_trace_const_cmp8(uint64_t a, uint64_t b) { compared(a, b, 8); }
void __sanitizer_cov_trace_cmpf(float a, float b) { (void)a, (void)b; }
void __sanitizer_cov_trace_cmpd(double a, double b) { (void)a, (void)b; }

void __sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases) {
    for (uint64_t i = 0; i < cases[0] && i < 16; i++) compared(value, cases[2 + i], (uint32_t)(cases[1] / 8));
}

static uint8_t bucket(uint8_t count) {
    if (count <= 2) return count ? (uint8_t)(1 << (count - 1)) : 0;
    if (count == 3) return 4;
    if (count < 8) return 8;
    if (count < 16) return 16;
    if (count < 32) return 32;
    return count < 128 ? 64 : 128;
}

/* Begin an execution: counts from 0. */
void fuzz_begin(void) {
    for (uint32_t i = 0; i < run_count; i++) edges[run[i]] = 0;
    run_count = 0;
    pair_count = 0;
    previous = 0;
    is_fuzzing_thread = 1;
    is_active = 1;
}

void fuzz_end(void) { is_active = 0; }

/* Merge the edges of the last execution into those seen; return how many (edge, bucket of counts) are new. */
uint32_t fuzz_news(void) {
    uint32_t news = 0;
    for (uint32_t i = 0; i < run_count; i++) {
        uint8_t fresh = bucket(edges[run[i]]) & (uint8_t)~seen[run[i]];
        if (fresh) {
            seen[run[i]] |= fresh;
            news++;
        }
    }
    return news;
}

uint32_t fuzz_edges_seen(void) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < MAP_SIZE; i++) count += seen[i] != 0;
    return count;
}

void fuzz_forget(void) { memset(seen, 0, sizeof seen); }

/* Write the (edge, bucket of counts) of the last execution as numbers, for minimising a corpus; return how many. */
uint32_t fuzz_trace(uint32_t *out, uint32_t capacity) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < run_count && count < capacity; i++)
        out[count++] = run[i] * 8u + (uint32_t)__builtin_ctz(bucket(edges[run[i]]));
    return count;
}

/* ---- limits ---- */

static void on_time(int number) {
    (void)number;
    static const char said[] = "fuzz: execution exceeds its time limit\n";
    if (write(2, said, sizeof said - 1) < 0) _exit(78);
    abort(); /* the sanitizer prints the stack */
}

/* Abort when the process has used `milliseconds` of processor time from now on; 0 ends the limit. */
void fuzz_limit(uint32_t milliseconds) {
    static int is_ready;
    if (!is_ready) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_handler = on_time;
        sigaction(SIGVTALRM, &action, NULL);
        is_ready = 1;
    }
    struct itimerval timer = {{0, 0}, {milliseconds / 1000, (milliseconds % 1000) * 1000}};
    setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

uint64_t fuzz_cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

/* ---- mappings between pages that cannot be touched ---- */

static struct {
    uintptr_t address;
    size_t length;
} guarded[GUARDED];
static pthread_mutex_t guard_lock = PTHREAD_MUTEX_INITIALIZER;

void fuzz_guard(int on) { is_guarding = on; }

static void *guard(size_t length, int protection, int flags, int fd, off_t offset) {
    size_t rounded = (length + PAGE - 1) & ~(size_t)(PAGE - 1);
    pthread_mutex_lock(&guard_lock);
    for (uint32_t i = 0; i < GUARDED; i++) {
        if (guarded[i].address) continue;
        uintptr_t whole = (uintptr_t)syscall(SYS_mmap, NULL, rounded + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        void *inner = MAP_FAILED;
        if (whole != (uintptr_t)MAP_FAILED) {
            inner = (void *)syscall(SYS_mmap, whole + PAGE, length, protection, flags | MAP_FIXED, fd, offset);
            if (inner == MAP_FAILED) {
                syscall(SYS_munmap, whole, rounded + 2 * PAGE);
            } else {
                guarded[i].address = (uintptr_t)inner;
                guarded[i].length = rounded;
            }
        }
        pthread_mutex_unlock(&guard_lock);
        return inner;
    }
    pthread_mutex_unlock(&guard_lock);
    return (void *)syscall(SYS_mmap, NULL, length, protection, flags, fd, offset);
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
    if (is_guarding && address == NULL && !(flags & (MAP_FIXED | MAP_STACK))) return guard(length, protection, flags, fd, offset);
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off_t offset) {
    return mmap(address, length, protection, flags, fd, offset);
}

int munmap(void *address, size_t length) {
    if (is_guarding) {
        pthread_mutex_lock(&guard_lock);
        for (uint32_t i = 0; i < GUARDED; i++) {
            if (guarded[i].address != (uintptr_t)address) continue;
            size_t whole = guarded[i].length;
            guarded[i].address = 0;
            pthread_mutex_unlock(&guard_lock);
            /* An allocator trims what it mapped: the rest stays, and is no longer watched. */
            if (((length + PAGE - 1) & ~(size_t)(PAGE - 1)) != whole) return (int)syscall(SYS_munmap, (uintptr_t)address, length);
            return (int)syscall(SYS_munmap, (uintptr_t)address - PAGE, whole + 2 * PAGE);
        }
        pthread_mutex_unlock(&guard_lock);
    }
    return (int)syscall(SYS_munmap, address, length);
}

/* ---- mutations ---- */

void fuzz_seed(uint64_t seed) { random_state = seed * 2862933555777941757ull + 3037000493ull; }

static uint64_t next_random(void) { /* splitmix64 */
    uint64_t z = (random_state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

static uint32_t below(uint32_t bound) { return bound ? (uint32_t)(next_random() % bound) : 0; }

static const int64_t INTERESTING[] = {
    0, 1, -1, 2, 4, 7, 8, 15, 16, 31, 32, 33, 36, 40, 63, 64, 100, 127, 128, -128, 255, 256, 512, 1000, 1024, 1376, 1408, 4096, 32767, 32768,
    -32768, 65535, 65536, 65504, 65568, 131072, 1 << 20, 1 << 24, 1 << 28, 1 << 29, 1 << 30, (1ll << 30) + 1, 0x7fffffff, 0x7ffffffe, 0x7fffffe0,
    0x7fffffc0, 0x7fffffdf, -0x7fffffffll - 1, -0x7fffffffll, -64, -32, -31, 0xffffffffll, 1ll << 32, 1ll << 62, INT64_MAX, INT64_MIN,
    INT64_MAX - 31,
};
#define INTERESTING_COUNT (sizeof INTERESTING / sizeof *INTERESTING)

static void put(uint8_t *at, uint64_t value, uint32_t size, int is_big) {
    for (uint32_t i = 0; i < size; i++) at[is_big ? size - 1 - i : i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get(const uint8_t *at, uint32_t size, int is_big) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < size; i++) value |= (uint64_t)at[is_big ? size - 1 - i : i] << (8 * i);
    return value;
}

/* A place for a field of `size` bytes; most fields are aligned to their size. */
static uint32_t place(uint32_t length, uint32_t size) {
    uint32_t at = below(length - size + 1);
    return below(4) ? at / size * size : at;
}

static uint32_t size_of_field(uint32_t length) {
    static const uint8_t SIZES[] = {1, 1, 2, 4, 4, 4, 8, 8};
    uint32_t size = SIZES[below(8)];
    return size <= length ? size : 1;
}

/* Put one side of a comparison where the other side stands in the input; anywhere when it does not. */
static void use_comparison(uint8_t *data, uint32_t length) {
    uint32_t count = pair_count < PAIRS ? pair_count : PAIRS;
    if (!count) return;
    Pair pair = pairs[below(count)];
    uint32_t size = pair.size ? pair.size : 1;
    if (size > length) return;
    uint64_t mask = size == 8 ? ~0ull : (1ull << (8 * size)) - 1;
    uint64_t from = pair.a & mask, to = pair.b & mask;
    if (below(2)) {
        from = pair.b & mask;
        to = pair.a & mask;
    }
    if (!below(3)) to += (uint64_t)((int64_t)below(3) - 1);
    uint32_t start = below(length), is_big = !below(4);
    for (uint32_t i = 0; i < length; i++) {
        uint32_t at = (start + i) % length;
        /* A small value may stand in a field that is narrower than the comparison. */
        for (uint32_t width = size; width >= 1; width /= 2) {
            if (at + width > length || (width < size && from >> (8 * width))) break;
            if (get(data + at, width, (int)is_big) == (from & (width == 8 ? ~0ull : (1ull << (8 * width)) - 1))) {
                put(data + at, to, width, (int)is_big);
                return;
            }
        }
    }
    put(data + place(length, size), to, size, (int)is_big);
}

static uint32_t remove_some(uint8_t *data, uint32_t length) {
    if (length < 2) return length;
    uint32_t count = 1 + below(length / 2), at = below(length - count + 1);
    memmove(data + at, data + at + count, length - at - count);
    return length - count;
}

static uint32_t insert_some(uint8_t *data, uint32_t length, uint32_t capacity, const uint8_t *from, uint32_t from_length) {
    if (length >= capacity || !from_length) return length;
    uint32_t most = from_length < capacity - length ? from_length : capacity - length;
    uint32_t count = 1 + below(below(2) ? most : (most < 64 ? most : 64)), at = below(length + 1);
    uint8_t copied[4096];
    if (count > sizeof copied) count = sizeof copied;
    memcpy(copied, from + below(from_length - count + 1), count);
    memmove(data + at + count, data + at, length - at);
    memcpy(data + at, copied, count);
    return length + count;
}

static uint32_t mutate_once(uint8_t *data, uint32_t length, uint32_t capacity, const uint8_t *other, uint32_t other_length,
                            const uint8_t *words, uint32_t word_count) {
    if (!length) {
        data[0] = (uint8_t)next_random();
        return 1;
    }
    uint32_t size = size_of_field(length), at, count;
    int is_big = !below(4);
    switch (below(16)) {
    case 0:
        data[below(length)] ^= (uint8_t)(1 << below(8));
        break;
    case 1:
        data[below(length)] = (uint8_t)next_random();
        break;
    case 2:
    case 3:
        put(data + place(length, size), (uint64_t)INTERESTING[below(INTERESTING_COUNT)], size, is_big);
        break;
    case 4:
    case 5:
        at = place(length, size);
        put(data + at, get(data + at, size, is_big) + (uint64_t)((int64_t)below(71) - 35), size, is_big);
        break;
    case 6:
    case 7:
    case 8:
        use_comparison(data, length);
        break;
    case 9:
        length = remove_some(data, length);
        break;
    case 10:
        length = insert_some(data, length, capacity, data, length);
        break;
    case 11:
        length = insert_some(data, length, capacity, other, other_length);
        break;
    case 12:
        if (other_length) {
            count = 1 + below(other_length < length ? other_length : length);
            memcpy(data + below(length - count + 1), other + below(other_length - count + 1), count);
        }
        break;
    case 13:
        count = 1 + below(length);
        memmove(data + below(length - count + 1), data + below(length - count + 1), count);
        break;
    case 14: /* one field as another, as a length that is used twice */
        at = place(length, size);
        put(data + place(length, size), get(data + at, size, 0), size, 0);
        break;
    default: /* a word of the target: a byte of length, then as many bytes, in slots of 32 */
        if (word_count) {
            const uint8_t *word = words + 32 * below(word_count);
            count = word[0];
            if (below(3) && count <= length) {
                memcpy(data + place(length, count), word + 1, count);
            } else if (length + count <= capacity) {
                at = below(length + 1);
                memmove(data + at + count, data + at, length - at);
                memcpy(data + at, word + 1, count);
                length += count;
            }
        }
    }
    return length;
}

/* Mutate data[:length] in place with 1 to 16 steps; return the new length, which is at least 1. */
uint32_t fuzz_mutate(uint8_t *data, uint32_t length, uint32_t capacity, const uint8_t *other, uint32_t other_length, const uint8_t *words,
                     uint32_t word_count) {
    uint32_t steps = 1u << below(5);
    if (length > capacity) length = capacity;
    if (other_length && length && !below(16)) { /* splice: the head of one, the tail of the other */
        uint32_t head = below(length), from = below(other_length), tail = other_length - from;
        if (head + tail > capacity) tail = capacity - head;
        memcpy(data + head, other + from, tail);
        length = head + tail;
    }
    while (steps--) length = mutate_once(data, length, capacity, other, other_length, words, word_count);
    return length ? length : 1;
}

uint64_t fuzz_random(void) { return next_random(); }
