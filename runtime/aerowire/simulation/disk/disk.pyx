"""The disk of a simulated machine: files and names, space, faults, and what is left when the power fails.

Processes use it through files ports (SimulatedFiles) and mapped regions (SimulatedRegions) of their own. Everything follows from the seed,
the clock and the order of operations. One thread.
"""

from libc.errno cimport ENOSPC
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t

from aerowire.simulation.disk.directory_tree import DirectoryTree
from aerowire.simulation.disk.disk_faults import DiskFaults

from aerowire.simulation.digest cimport digest_number
from aerowire.simulation.draws cimport draw_chance
from aerowire.simulation.disk.file_content cimport PAGE

CAPACITY = 1 << 40


cdef class StoredFile:
    """A file, whatever its name: its content, and how many processes have it open."""

    def __cinit__(self, int64_t inode, bint is_volatile):
        self.content = FileContent()
        self.inode = inode
        self.is_volatile = is_volatile
        self.is_named = True


cdef class SimulatedDisk:
    """The disk of one machine, of `capacity` bytes.

    Changed by: the ports of processes, and by whoever makes it fail. Faults may be set at any time, for the operations from then on.
    What is in one of the directories `memory_in` is in memory: it has no faults but the lack of space, and is lost with the power.
    """

    def __init__(self, ClockPort clock not None, *, seed, capacity=CAPACITY, faults=None, memory_in=()):
        self.clock = clock
        self.random = SeededRandom(seed)
        self._memory_in = tuple(memory_in)
        self.tree = DirectoryTree(self._memory_in)
        self.counts = {}
        self._ports = []
        self._capacity = capacity // PAGE
        self.faults = DiskFaults() if faults is None else faults

    @property
    def faults(self):
        """The DiskFaults that hold now."""
        return self._faults

    @faults.setter
    def faults(self, faults):
        self._faults = faults
        self.rates.read_error = faults.read_error
        self.rates.write_error = faults.write_error
        self.rates.sync_error = faults.sync_error
        self.rates.short_read = faults.short_read
        self.rates.short_write = faults.short_write
        self.rates.writeback = faults.writeback
        self.rates.misdirected_write = faults.misdirected_write
        self.rates.bit_flip = faults.bit_flip

    @property
    def hash(self) -> int:
        """A digest of all operations so far and their results."""
        return self._hash

    @property
    def damages(self) -> int:
        """How many pages have been damaged without a word."""
        return self._damages

    @property
    def free_bytes(self) -> int:
        """Bytes that may still be written."""
        return self.free_pages() * PAGE

    def paths(self):
        """Return the paths of all files."""
        return frozenset(path for path, node in self.tree.entries() if isinstance(node, StoredFile))

    def locked(self):
        """Return the paths of files and directories whose lock a process holds, sorted."""
        cdef StoredFile file
        found = []
        for path, node in self.tree.entries():
            if isinstance(node, StoredFile):
                file = node
                holder = file.lock_holder
            else:
                holder = node.holder
            if holder is not None:
                found.append(path)
        return sorted(found)

    def attach(self, port) -> None:
        """Have a files port of a process take part in the disk's time and failures."""
        self._ports.append(port)

    def detach(self, port) -> None:
        """Forget a files port."""
        self._ports.remove(port)

    def next_completion_ns(self) -> int:
        """Return when an operation that was begun completes next, 2^63-1 when none is under way."""
        return min((port.next_completion_ns() for port in self._ports), default=INT64_MAX)

    def complete_due(self) -> int:
        """Complete the operations whose time has come; return how many."""
        return sum(port.complete_due() for port in self._ports)

    def lose_power(self) -> None:
        """Kill all processes and leave what the disk has: synced content and names, and of the others some."""
        cdef StoredFile file
        for port in list(self._ports):
            port.kill()
        before = set(self.tree.files())
        self.tree.lose_power(self.random)
        after = list(self.tree.files())
        for file in after:
            file.is_named = True
            file.content.lose_power(self.random, self._faults.sector)
        # Space is counted anew: deleted files whose deletion was lost are back, others are gone.
        self._pages_taken = 0
        for file in after:
            self._pages_taken += file.content.pages_taken()
        self.count("power_failure")
        self.note(len(before), len(after))

    def wipe(self) -> None:
        """Kill all processes and put an empty disk in its place."""
        for port in list(self._ports):
            port.kill()
        self.tree = DirectoryTree(self._memory_in)
        self._pages_taken = 0
        self.count("wiped")
        self.note(-1, -1)

    cdef void note(self, int64_t one, int64_t other):
        self._hash = digest_number(digest_number(self._hash, <uint64_t>one), <uint64_t>other)

    cdef void count(self, str name):
        self.counts[name] = self.counts.get(name, 0) + 1

    cdef bint happens(self, double chance, str name):
        if not draw_chance(self.random, chance):
            return False
        self.count(name)
        return True

    cdef int64_t free_pages(self):
        return self._capacity - self._pages_taken

    cdef int64_t take_space(self, FileContent content, int64_t offset, int64_t length):
        if content.pages_missing(offset, length) > self.free_pages():
            return -ENOSPC
        self._pages_taken += content.take_pages(offset, length)
        return 0

    cdef void give_space(self, FileContent content, int64_t length):
        self._pages_taken -= content.give_pages(length)

    cdef void forget_if_unused(self, StoredFile file):
        # Its pages stay marked: a deletion that is lost brings the file back.
        if not file.is_named and file.open_count == 0:
            self._pages_taken -= file.content.pages_taken()

    cdef void damage(self, StoredFile file, int64_t page):
        cdef int64_t other
        if self._damages >= self._faults.damage_max:
            return
        if self.happens(self.rates.misdirected_write, "misdirected_write"):
            other = <int64_t>self.random.next_below(max(1, file.content.pages_in_use()))
            if other != page:
                file.content.copy_durable(page, other)
                self._damages += 1
        elif self.happens(self.rates.bit_flip, "bit_flip"):
            file.content.flip_durable(page, <int64_t>self.random.next_below(8 * PAGE))
            self._damages += 1

    cdef int64_t draw_due_ns(self):
        cdef int64_t delay_ns = self._faults.latency_ns + <int64_t>self.random.next_below(<uint64_t>self._faults.jitter_ns + 1)
        if self._faults.slow_one_in and self.random.next_below(self._faults.slow_one_in) == 0:
            delay_ns += self._faults.slow_ns
            self.count("slow")
        return self.clock.nano_time() + delay_ns

