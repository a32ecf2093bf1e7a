"""Where the valid recordings of a catalog are, by recording id; and the searches through all of them.

The catalog's bytes are an argument: entries lie in them as in the file. A search costs some ten nanoseconds an entry. Aeron: CatalogIndex.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memchr, memcmp, memmove

from typing import NamedTuple

from aerowire.codecs.native.archive cimport (
    RECORDING_DESCRIPTOR_BLOCK_LENGTH, RECORDING_DESCRIPTOR_HEADER_BLOCK_LENGTH, RECORDING_STATE_DELETED, RECORDING_STATE_INVALID,
    RECORDING_STATE_VALID, recording_descriptor_header_length, recording_descriptor_header_state, recording_descriptor_mtu_length,
    recording_descriptor_recording_id, recording_descriptor_segment_file_length, recording_descriptor_session_id,
    recording_descriptor_start_position, recording_descriptor_stop_position, recording_descriptor_stream_id,
    recording_descriptor_term_buffer_length)
from aerowire.codecs.native.archive_files cimport (
    CATALOG_ALIGNMENT, CATALOG_CAPACITY_MAX, CATALOG_LEGACY_ENTRY_LENGTH, NULL_POSITION, SEGMENT_LENGTH_MAX, SEGMENT_LENGTH_MIN)
from aerowire.codecs.native.transport cimport FRAME_ALIGNMENT, MAX_UDP_PAYLOAD, TERM_LENGTH_MAX, TERM_LENGTH_MIN
from aerowire.memory.growing cimport grow

cdef enum:
    TEXTS = 3
    TEXT_LENGTH = 4             # bytes of the length that stands before each text
    ROWS_MAX = CATALOG_CAPACITY_MAX // 128


class CatalogScan(NamedTuple):
    """What a scan of a catalog's entries has found: where they end, and which places need another look.

    `end` is where the next entry may begin. `suspects` are offsets of entries that are implausible or out of order, though not marked as
    unusable; they are in no index.
    `gaps` are (offset, length) of bytes that are no entry with others behind them. `active` are ids of recordings without a stop position,
    and `last_recording_id` is the highest id of all plausible entries, -1 without any.
    """

    end: int
    suspects: list[int]
    gaps: list[tuple[int, int]]
    active: list[int]
    last_recording_id: int


cdef class CatalogIndex:
    """Ids of valid recordings and the offsets of their entries. Invariant: ids ascend."""

    def __dealloc__(self):
        free(self.rows)

    def __len__(self):
        return self.count

    def scan(self, const uint8_t[::1] data, int64_t first, bint is_legacy):
        """Add the valid entries of a catalog whose first one is at an offset; return the CatalogScan.

        The scan ends where there is no entry, nor a plausible one of a higher id anywhere behind.
        """
        cdef const uint8_t* entry
        cdef int64_t offset = first
        cdef int64_t end
        cdef int64_t recording_id
        cdef int64_t last = -1
        cdef int64_t step = CATALOG_LEGACY_ENTRY_LENGTH if is_legacy else CATALOG_ALIGNMENT
        suspects, gaps, active = [], [], []
        while offset + RECORDING_DESCRIPTOR_HEADER_BLOCK_LENGTH <= data.shape[0]:
            entry = &data[offset]
            end = entry_end(entry, offset, data.shape[0], is_legacy)
            if end < 0:
                end = next_entry(&data[0], offset + step, data.shape[0], step, is_legacy, last)
                if end < 0:
                    break
                gaps.append((offset, end - offset))
                offset = end
                continue
            recording_id = recording_descriptor_recording_id(entry + RECORDING_DESCRIPTOR_HEADER_BLOCK_LENGTH)
            if recording_id <= last or not is_plausible(entry, end - offset):
                if (recording_descriptor_header_state(entry) != RECORDING_STATE_DELETED
                        and recording_descriptor_header_state(entry) != RECORDING_STATE_INVALID):
                    suspects.append(offset)
            else:
                last = recording_id
                if recording_descriptor_header_state(entry) == RECORDING_STATE_VALID:
                    self.add(recording_id, offset)
                    if recording_descriptor_stop_position(entry + RECORDING_DESCRIPTOR_HEADER_BLOCK_LENGTH) == NULL_POSITION:
                        active.append(recording_id)
            offset = end
        return CatalogScan(offset, suspects, gaps, active, last)

    def add(self, int64_t recording_id, int64_t offset) -> None:
        """Add a recording, whose id is above all others. Raises ValueError for another one."""
        if recording_id < 0 or (self.count and recording_id <= self.rows[self.count - 1].recording_id):
            raise ValueError(f"recording {recording_id} is not above the last one")
        if self.count == self._capacity and not grow(<void**>&self.rows, &self._capacity, sizeof(IndexRow), ROWS_MAX):
            raise MemoryError(f"no room for more than {self.count} recordings")
        self.rows[self.count].recording_id = recording_id
        self.rows[self.count].offset = offset
        self.count += 1

    def remove(self, int64_t recording_id) -> int:
        """Remove a recording; return the offset of its entry, -1 where there is none."""
        cdef int row = self.row_from(recording_id)
        cdef int64_t offset
        if row == self.count or self.rows[row].recording_id != recording_id:
            return -1
        offset = self.rows[row].offset
        self.count -= 1
        memmove(&self.rows[row], &self.rows[row + 1], <size_t>(self.count - row) * sizeof(IndexRow))
        return offset

    def offset_of(self, int64_t recording_id) -> int:
        """Return the offset of a recording's entry, -1 where there is none."""
        cdef int row = self.row_from(recording_id)
        return self.rows[row].offset if row < self.count and self.rows[row].recording_id == recording_id else -1

    def ids_from(self, int64_t recording_id, int64_t count) -> list[int]:
        """Return up to `count` ids in ascending order, from a given one on."""
        cdef int row = self.row_from(recording_id)
        cdef int end = <int>min(<int64_t>self.count, row + max(count, 0))
        return [self.rows[index].recording_id for index in range(row, end)]

    def find_last(self, const uint8_t[::1] data, int64_t minimum_id, int32_t session_id, int32_t stream_id, const uint8_t[::1] fragment):
        """Return the highest id, `minimum_id` at least, of a recording with these ids and a fragment in its original channel; else -1."""
        cdef int row = self.count - 1
        cdef const uint8_t* descriptor
        cdef const uint8_t* sought = &fragment[0] if fragment.shape[0] else NULL
        cdef int64_t found = -1
        with nogil:
            while row >= 0 and self.rows[row].recording_id >= minimum_id and found < 0:
                descriptor = &data[self.rows[row].offset + RECORDING_DESCRIPTOR_HEADER_BLOCK_LENGTH]
                if (recording_descriptor_session_id(descriptor) == session_id and recording_descriptor_stream_id(descriptor) == stream_id
                        and has_fragment(descriptor, sought, fragment.shape[0])):
                    found = self.rows[row].recording_id
                row -= 1
        return found

    cdef int row_from(self, int64_t recording_id) noexcept nogil:
        cdef int low = 0
        cdef int high = self.count
        cdef int middle
        while low < high:
            middle = (low + high) // 2
            if self.rows[middle].recording_id < recording_id:
                low = middle + 1
            else:
                high = middle
        return low


cdef int64_t entry_end(const uint8_t* entry, int64_t offset, int64_t limit, bint is_legacy) noexcept nogil:
    cdef int64_t length = recording_descriptor_header_length(entry)
    cdef int64_t end = offset + (CATALOG_LEGACY_ENTRY_LENGTH if is_legacy else RECORDING_DESCRIPTOR_HEADER_BLOCK_LENGTH + length)
    return -1 if length < RECORDING_DESCRIPTOR_BLOCK_LENGTH or end > limit else end


cdef int64_t next_entry(const uint8_t* data, int64_t offset, int64_t limit, int64_t step, bint is_legacy, int64_t last) noexcept nogil:
    # The offset of the next plausible entry, whose id is above the last one; -1 without any.
    cdef int64_t end
    while offset + RECORDING_DESCRIPTOR_HEADER_BLOCK_LENGTH <= limit:
        end = entry_end(data + offset, offset, limit, is_legacy)
        if (end > 0 and is_plausible(data + offset, end - offset)
                and recording_descriptor_recording_id(data + offset + RECORDING_DESCRIPTOR_HEADER_BLOCK_LENGTH) > last):
            return offset
        offset += step
    return -1


cdef bint is_plausible(const uint8_t* entry, int64_t length) noexcept nogil:
    # What decode_entry of aerowire.recordings finds no damage in, with texts that are there: a torn entry has zeros in their place.
    cdef const uint8_t* descriptor = entry + RECORDING_DESCRIPTOR_HEADER_BLOCK_LENGTH
    cdef int32_t state = recording_descriptor_header_state(entry)
    cdef int64_t start = recording_descriptor_start_position(descriptor)
    cdef int64_t stop = recording_descriptor_stop_position(descriptor)
    cdef int64_t at = RECORDING_DESCRIPTOR_HEADER_BLOCK_LENGTH + RECORDING_DESCRIPTOR_BLOCK_LENGTH
    cdef int64_t text
    cdef int number
    if state != RECORDING_STATE_VALID and state != RECORDING_STATE_INVALID and state != RECORDING_STATE_DELETED:
        return False
    if not is_power_of_two(recording_descriptor_term_buffer_length(descriptor), TERM_LENGTH_MIN, TERM_LENGTH_MAX):
        return False
    if not is_power_of_two(recording_descriptor_segment_file_length(descriptor), SEGMENT_LENGTH_MIN, SEGMENT_LENGTH_MAX):
        return False
    if not FRAME_ALIGNMENT < recording_descriptor_mtu_length(descriptor) <= MAX_UDP_PAYLOAD:
        return False
    if recording_descriptor_recording_id(descriptor) < 0 or start < 0 or start % FRAME_ALIGNMENT:
        return False
    if stop != NULL_POSITION and (stop < start or stop % FRAME_ALIGNMENT):
        return False
    for number in range(TEXTS):
        if at + TEXT_LENGTH > length:
            return False
        text = text_length(entry + at)
        at += TEXT_LENGTH
        if text == 0 or text > length - at or memchr(entry + at, 0, <size_t>text) is not NULL:
            return False
        at += text
    return True


cdef inline bint is_power_of_two(int32_t value, int32_t low, int32_t high) noexcept nogil:
    return low <= value <= high and value & (value - 1) == 0


cdef inline int64_t text_length(const uint8_t* at) noexcept nogil:
    return at[0] | <int64_t>at[1] << 8 | <int64_t>at[2] << 16 | <int64_t>at[3] << 24


cdef bint has_fragment(const uint8_t* descriptor, const uint8_t* fragment, int64_t length) noexcept nogil:
    cdef const uint8_t* channel = descriptor + RECORDING_DESCRIPTOR_BLOCK_LENGTH
    cdef int64_t left
    cdef const uint8_t* found
    if length == 0:
        return True
    channel += TEXT_LENGTH + text_length(channel)
    left = text_length(channel)
    channel += TEXT_LENGTH
    while left >= length:
        found = <const uint8_t*>memchr(channel, fragment[0], <size_t>(left - length + 1))
        if found is NULL:
            return False
        if memcmp(found, fragment, <size_t>length) == 0:
            return True
        left -= found + 1 - channel
        channel = found + 1
    return False
