"""Watches addresses in shared memory for an event loop: what changes there becomes one readiness of one descriptor.

The loop arms a watch and goes to sleep on the descriptor; the watcher's thread, which never takes the interpreter lock, looks at all that is
armed, notes what has come true and rings. It judges by what stands in memory, not by events: what has come true before it was armed
fires at the first look, so that nothing can be missed between a look of the loop's and its arming.

Knows addresses and conditions; what they mean is for `handles` and the loop's side to know.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

from aerowire.memory.atomics cimport (
    acquire_fence, cas_i64, full_fence, load_acquire_i32, load_acquire_i64, load_relaxed_i64, store_relaxed_i64, store_release_i32,
    store_release_i64, store_seq_cst_i64)
from aerowire.memory.region cimport BufferView, borrow

from collections import deque

from aerowire.base.errors import AerowireError

FRAME = WATCH_FRAME
I32_CHANGE = WATCH_I32_CHANGE
I64_CHANGE = WATCH_I64_CHANGE
I64_ABOVE = WATCH_I64_ABOVE

# An image, a window and a connection take one each; their memory is touched only as far as it is used.
CAPACITY_DEFAULT = 16384
_WIDTHS = {WATCH_FRAME: 4, WATCH_I32_CHANGE: 4, WATCH_I64_CHANGE: 8, WATCH_I64_ABOVE: 8}


cdef inline bint is_true(int64_t condition, const void* address, int64_t value) noexcept nogil:
    if condition == WATCH_FRAME:
        return load_acquire_i32(address) > 0
    if condition == WATCH_I64_ABOVE:
        return load_acquire_i64(address) > value
    if condition == WATCH_I64_CHANGE:
        return load_acquire_i64(address) != value
    return load_acquire_i32(address) != <int32_t>value


@cython.final
cdef class Watcher(NativeAgent):
    """One loop's watches. The loop's thread arms and takes what has fired; `do_work` runs on the watcher's own.

    A watch is a number: `add()` one, arm it as often as needed, `remove()` it. It fires once per arming, and a reader may find a firing
    of an arming that it has replaced since: look again at what it stands for.

    Invariant: an address is read only while its watch is armed, or within the look in which it was disarmed; `purge()` lets go of what
    kept it mapped after that look.
    """

    def __init__(self, Wakeup bell not None, *, int capacity=CAPACITY_DEFAULT, Parking parking=None):
        if capacity <= 0:
            raise ValueError(f"a watcher has room for at least one watch, not {capacity}")
        self.bell = bell
        self.parking = parking if parking is not None else Parking()
        self.capacity = capacity
        self._holds = []
        self._free = []
        self._retired = deque()
        self._watches = <Watch*>calloc(capacity, sizeof(Watch))
        # Twice, because a watch may have fired for its last arming and for this one.
        self._fired = <int32_t*>calloc(2 * <size_t>capacity, sizeof(int32_t))
        if self._watches is NULL or self._fired is NULL:
            raise MemoryError("watches")

    def __dealloc__(self):
        free(self._watches)
        free(self._fired)

    @property
    def role_name(self):
        """Name of the agent, for its thread."""
        return "aeron-aio-watcher"

    @property
    def look_count(self):
        """Looks completed so far."""
        return load_acquire_i64(&self._looks)

    @property
    def watch_count(self):
        """Watches in use, those included whose memory is not let go yet."""
        return len(self._holds) - len(self._free)

    # ---- the loop's thread

    def add(self):
        """Return the number of a watch that is not armed. Raises AerowireError when all are taken."""
        cdef int watch
        if not self._free:
            self.purge()
        if self._free:
            return self._free.pop()
        watch = <int>len(self._holds)
        if watch == self.capacity:
            raise AerowireError("no watch is left", where="the event loop's watcher", expected=f"at most {self.capacity}",
                                hint="close images, publications and subscriptions that are not used, or connect another client")
        self._holds.append(None)
        store_release_i32(&self._used, watch + 1)
        return watch

    def arm_memory(self, int watch, Condition condition, source, int64_t offset=0, int64_t value=0):
        """Fire `watch` as soon as `condition` holds for what stands at `offset` of `source`, a buffer; it must be aligned."""
        cdef BufferView view
        hold = borrow(source, &view, False)
        width = _WIDTHS[condition]
        if not 0 <= watch < len(self._holds):
            raise IndexError(f"no watch has the number {watch}")
        if offset < 0 or offset + width > view.length or (<size_t>view.address + <size_t>offset) % <size_t>width:
            raise ValueError(f"offset {offset} is not that of {width} aligned bytes in a buffer of {view.length}")
        self.arm(watch, condition, view.address + offset, value, hold)

    def disarm(self, int watch):
        """Let the watch fire no more; a firing that has happened is still there to be taken."""
        cdef int64_t state = load_relaxed_i64(&self._watches[watch].state)
        if state & 1:
            cas_i64(&self._watches[watch].state, state, state + 1)

    def is_armed(self, int watch):
        """Return whether the watch is armed and has not fired."""
        return load_acquire_i64(&self._watches[watch].state) & 1 == 1

    def remove(self, int watch):
        """Give the watch back. What it held is let go by a `purge()` after the watcher's next look."""
        self.disarm(watch)
        self.retire(watch, self._holds[watch])

    def purge(self, bint is_stopped=False):
        """Let go of what removed watches held, as far as the watcher cannot be reading it; return how many are left.

        `is_stopped`: the watcher's thread has ended, so that nobody reads anything.
        """
        cdef int64_t looks = load_acquire_i64(&self._looks)
        cdef int watch
        while self._retired and (is_stopped or self._retired[0][0] < looks):
            watch = self._retired.popleft()[1]
            if watch >= 0:
                self._holds[watch] = None
                self._free.append(watch)
        return len(self._retired)

    def take_fired(self):
        """Return the watches that have fired since the last call, in order. Drain the bell BEFORE."""
        cdef int64_t head = self._fired_head
        cdef int64_t tail = load_acquire_i64(&self._fired_tail)
        fired = []
        while head < tail:
            fired.append(self._fired[head % (2 * <int64_t>self.capacity)])
            head += 1
        store_release_i64(&self._fired_head, head)
        return fired

    cdef int arm(self, int watch, Condition condition, const void* address, int64_t value, object hold) except -1:
        cdef Watch* entry = &self._watches[watch]
        if (load_acquire_i64(&entry.state) & 1 and entry.address == <int64_t><size_t>address and entry.value == value
                and entry.condition == condition):
            return 0        # for the same already, and it has not fired
        self.disarm(watch)
        if self._holds[watch] is not hold:
            if self._holds[watch] is not None:
                self.retire(-1, self._holds[watch])
            self._holds[watch] = hold
        store_relaxed_i64(&entry.address, <int64_t><size_t>address)
        store_relaxed_i64(&entry.value, value)
        store_relaxed_i64(&entry.condition, condition)
        store_seq_cst_i64(&entry.state, load_relaxed_i64(&entry.state) + 1)
        self.parking.call()
        return 0

    cdef int retire(self, int watch, object hold) except -1:
        # The look that is going on may read what was armed before; the count says which one that is.
        full_fence()
        self._retired.append((load_acquire_i64(&self._looks), watch, hold))
        return 0

    # ---- the watcher's thread

    cdef void on_start(self) noexcept nogil:
        self.parking.start()

    cdef int do_work(self, int64_t now_ns, int64_t epoch_ms) noexcept nogil:
        return self.look()

    cdef int look(self) noexcept nogil:
        cdef int32_t watch, used = load_acquire_i32(&self._used)
        cdef int armed = 0, fired = 0
        cdef int64_t state, address, value, condition
        cdef Watch* entry
        self.parking.begin_look()
        for watch in range(used):
            entry = &self._watches[watch]
            state = load_acquire_i64(&entry.state)
            if not state & 1:
                continue
            address = load_relaxed_i64(&entry.address)
            value = load_relaxed_i64(&entry.value)
            condition = load_relaxed_i64(&entry.condition)
            acquire_fence()
            if load_relaxed_i64(&entry.state) != state:
                continue    # armed anew meanwhile: the three may not belong together, and the call that came with it brings another look
            armed += 1
            if is_true(condition, <const void*><size_t>address, value) and self.fire(watch, state):
                fired += 1
        store_release_i64(&self._looks, self._looks + 1)
        full_fence()
        self.parking.end_look(armed > fired)
        if fired:
            self.bell.signal()
        return fired

    cdef bint fire(self, int32_t watch, int64_t state) noexcept nogil:
        cdef int64_t tail = self._fired_tail
        if tail - load_acquire_i64(&self._fired_head) == 2 * <int64_t>self.capacity:
            return False    # the loop has not looked for long: the watch stays armed until it does
        if not cas_i64(&self._watches[watch].state, state, state + 1):
            return False
        self._fired[tail % (2 * <int64_t>self.capacity)] = watch
        store_release_i64(&self._fired_tail, tail + 1)
        return True
