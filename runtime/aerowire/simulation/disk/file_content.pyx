"""The bytes of a simulated file, twice: as processes see them, and as they are on the disk.

A page that is written is dirty until a sync succeeds. The system may write dirty pages back before that, in any order. When the power fails
each page that is not synced is found as it was, as it was written last, or as a mixture of the two in units that the disk writes at once.
"""

from libc.errno cimport EFBIG, ENOMEM
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy, memset

cdef enum:
    GROWS_TO = 1 << 20          # memory of a file that is not mapped: its power of two, and at least this
    MAPPED_GROWS_TO = 1 << 26   # one that is mapped stays where it is, and may become so long at least

# What is found of the pages that were not synced.
cdef enum Survival:
    NONE_SURVIVES
    ALL_SURVIVE
    FIRST_SURVIVE               # those before a random one: they were written back in order
    ANY_SURVIVE                 # each by chance
    SURVIVALS


cdef class FileContent:
    """Content of one file. Changed by the disk that holds it; a mapping shares the memory of `seen`."""

    def __dealloc__(self):
        free(self._states)

    def map(self, int64_t length, path):
        """Return a Region of the first `length` bytes, which shares memory with what is read and written. Raises StorageError."""
        if not self.is_mapped and self.reserve(max(2 * length, <int64_t>MAPPED_GROWS_TO)) < 0:
            raise MemoryError
        self.is_mapped = True
        return self._seen.first(length, path)

    cdef int64_t reserve(self, int64_t length):
        cdef int64_t capacity = GROWS_TO
        cdef int64_t pages
        cdef uint8_t* states
        cdef Region seen
        cdef Region durable
        if length > <int64_t>1 << CONTENT_BITS_MAX or (self.is_mapped and length > self._pages * PAGE):
            return -EFBIG
        if length <= self._pages * PAGE:
            return 0
        while capacity < length:
            capacity *= 2
        pages = capacity // PAGE
        states = <uint8_t*>calloc(pages, 1)
        if states == NULL:
            return -ENOMEM
        seen, durable = Region.anonymous(capacity), Region.anonymous(capacity)
        if self._pages:
            # Only what was written: untouched pages of the new memory stay without any behind them.
            self._move(seen.address, self._seen.address)
            self._move(durable.address, self._durable.address)
            memcpy(states, self._states, self._pages)
        free(self._states)
        self._states, self._seen, self._durable, self._pages = states, seen, durable, pages
        return 0

    cdef int64_t pages_in_use(self) noexcept nogil:
        return min(self._pages, (max(self.length, self.durable_length) + PAGE - 1) // PAGE)

    cdef int64_t pages_taken(self) noexcept nogil:
        cdef int64_t page
        cdef int64_t taken = 0
        for page in range(self._pages):
            taken += self._states[page] & PAGE_TAKEN
        return taken

    cdef void copy_durable(self, int64_t page, int64_t other) noexcept nogil:
        # The page went to another place. Processes see it there, as the system reads a page anew at any time.
        memcpy(self._durable.address + other * PAGE, self._durable.address + page * PAGE, PAGE)
        self._read_anew(other)

    cdef void flip_durable(self, int64_t page, int64_t bit) noexcept nogil:
        cdef uint8_t* octet = self._durable.address + page * PAGE + bit // 8
        octet[0] ^= <uint8_t>(1 << bit % 8)
        self._read_anew(page)

    cdef void _read_anew(self, int64_t page) noexcept nogil:
        if not self.is_mapped and not self._states[page] & (PAGE_DIRTY | PAGE_GIVEN_UP):
            memcpy(self._seen.address + page * PAGE, self._durable.address + page * PAGE, PAGE)

    cdef int64_t read(self, int64_t offset, uint8_t* out, int64_t length) noexcept nogil:
        cdef int64_t count = min(length, self.length - offset)
        if count <= 0:
            return 0
        memcpy(out, self._seen.address + offset, count)
        return count

    cdef void write(self, int64_t offset, const uint8_t* octets, int64_t length) noexcept nogil:
        cdef int64_t page
        if length <= 0:
            return
        memcpy(self._seen.address + offset, octets, length)
        for page in range(offset // PAGE, (offset + length - 1) // PAGE + 1):
            # A page that was given up is dirty again, and a later sync writes all of it.
            self._states[page] = PAGE_TAKEN | PAGE_DIRTY
        if offset + length > self.length:
            self.length = offset + length

    cdef void set_length(self, int64_t length) noexcept nogil:
        cdef int64_t page
        cdef int64_t end = min(self.length, self._pages * PAGE)
        if length < end:
            memset(self._seen.address + length, 0, end - length)
            for page in range(length // PAGE, (end - 1) // PAGE + 1):
                self._states[page] = (self._states[page] & ~PAGE_GIVEN_UP) | PAGE_DIRTY       # as one that is written
        self.length = length

    cdef int64_t pages_missing(self, int64_t offset, int64_t length) noexcept nogil:
        cdef int64_t page
        cdef int64_t missing = 0
        for page in range(offset // PAGE, (offset + length + PAGE - 1) // PAGE):
            missing += page >= self._pages or not self._states[page] & PAGE_TAKEN
        return missing

    cdef int64_t take_pages(self, int64_t offset, int64_t length) noexcept nogil:
        cdef int64_t page
        cdef int64_t missing = self.pages_missing(offset, length)
        for page in range(offset // PAGE, (offset + length + PAGE - 1) // PAGE):
            self._states[page] |= PAGE_TAKEN
        return missing

    cdef int64_t give_pages(self, int64_t length) noexcept nogil:
        cdef int64_t page
        cdef int64_t given = 0
        for page in range((length + PAGE - 1) // PAGE, self._pages):
            if self._states[page] & PAGE_TAKEN:
                self._states[page] &= ~PAGE_TAKEN
                given += 1
        return given

    cdef bint is_unsynced(self, int64_t page) noexcept nogil:
        # What is written through a mapping is seen by comparing only.
        if self._states[page] & (PAGE_DIRTY | PAGE_GIVEN_UP):
            return True
        return self.is_mapped and memcmp(self._seen.address + page * PAGE, self._durable.address + page * PAGE, PAGE) != 0

    cdef void persist_page(self, int64_t page) noexcept nogil:
        memcpy(self._durable.address + page * PAGE, self._seen.address + page * PAGE, PAGE)
        self._states[page] &= ~(PAGE_DIRTY | PAGE_GIVEN_UP)

    cdef void persist_some(self, SeededRandom random, double chance) noexcept nogil:
        cdef int64_t page
        for page in range(self.pages_in_use()):
            if self._states[page] & PAGE_DIRTY and random.next_double() < chance:
                # On the disk, and dirty still: that it is there is known after a sync only.
                memcpy(self._durable.address + page * PAGE, self._seen.address + page * PAGE, PAGE)

    cdef void sync(self) noexcept nogil:
        cdef int64_t page
        for page in range(self.pages_in_use()):
            if self.is_unsynced(page) and not self._states[page] & PAGE_GIVEN_UP:
                self.persist_page(page)
        self.durable_length = self.length

    cdef void fail_sync(self, SeededRandom random) noexcept nogil:
        # As the systems do: some pages reached the disk, and all count as clean.
        cdef int64_t page
        for page in range(self.pages_in_use()):
            if self.is_unsynced(page):
                if random.next_below(2):
                    self.persist_page(page)
                else:
                    self._states[page] = (self._states[page] & ~PAGE_DIRTY) | PAGE_GIVEN_UP

    cdef void lose_power(self, SeededRandom random, int64_t unit):
        """Leave what the disk has; `unit` is what it writes at once, a divisor of a page."""
        cdef int64_t page
        cdef int64_t at
        cdef int64_t count = self.pages_in_use()
        cdef int64_t kept = <int64_t>random.next_below(count + 1)
        cdef int survival = <int>random.next_below(SURVIVALS)
        cdef bint is_torn
        cdef int64_t length = self._surviving_length(random)
        for page in range(count):
            if not self.is_unsynced(page):
                continue
            if survival == ALL_SURVIVE or (survival == FIRST_SURVIVE and page < kept) or (
                    survival == ANY_SURVIVE and random.next_below(2)):
                is_torn = unit < PAGE and random.next_below(4) == 0
                for at in range(page * PAGE, (page + 1) * PAGE, unit):
                    if not is_torn or random.next_below(2):
                        memcpy(self._durable.address + at, self._seen.address + at, unit)
        if length < self.durable_length:
            memset(self._durable.address + length, 0, self.durable_length - length)
        # Bytes behind the end that did get to the disk do not show.
        if length < count * PAGE:
            memset(self._durable.address + length, 0, count * PAGE - length)
        if self.is_mapped:
            # Mappings of dead processes may still be looked at: they keep the memory they had.
            self._seen = Region.anonymous(self._pages * PAGE)
            self.is_mapped = False
        if self._pages:
            memcpy(self._seen.address, self._durable.address, count * PAGE)
        for page in range(count):
            self._states[page] &= PAGE_TAKEN
        self.length = self.durable_length = length

    cdef int64_t _surviving_length(self, SeededRandom random):
        # The old one, the new one, or one between: writes that made the file longer one after the other.
        cdef int64_t low = min(self.length, self.durable_length)
        cdef int64_t span = max(self.length, self.durable_length) - low
        cdef uint64_t drawn = random.next_below(3)
        if drawn == 0:
            return self.durable_length
        return self.length if drawn == 1 else low + <int64_t>random.next_below(span + 1)

    cdef void _move(self, uint8_t* target, const uint8_t* source) noexcept nogil:
        cdef int64_t page
        for page in range(self._pages):
            if self._states[page]:
                memcpy(target + page * PAGE, source + page * PAGE, PAGE)
