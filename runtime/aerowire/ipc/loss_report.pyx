"""The loss report: for each stream and source, how often and how much was lost and when, in loss-report.dat.

Entries follow each other, aligned; an observation count of 0 ends the report and the first count is written LAST.
Aeron: LossReport, LossReportReader.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memset

from typing import NamedTuple

from aerowire.codecs.native.cnc cimport (
    LOSS_RECORD_ALIGNMENT, LOSS_RECORD_CHANNEL_LENGTH_OFFSET, LOSS_RECORD_CHANNEL_OFFSET,
    LOSS_RECORD_LAST_OBSERVATION_TIMESTAMP_MS_OFFSET, LOSS_RECORD_OBSERVATION_COUNT_OFFSET, LOSS_RECORD_TOTAL_BYTES_LOST_OFFSET,
    loss_record_channel_length, loss_record_first_observation_timestamp_ms, loss_record_session_id,
    loss_record_set_channel_length, loss_record_set_first_observation_timestamp_ms, loss_record_set_last_observation_timestamp_ms,
    loss_record_set_session_id, loss_record_set_stream_id, loss_record_set_total_bytes_lost, loss_record_stream_id)
from aerowire.ipc.damage import TIMESTAMP_MAX_MS, Damage
from aerowire.memory.atomics cimport fetch_add_i64, load_acquire_i64, store_release_i64
from aerowire.memory.region cimport BufferView, borrow


class LossEntry(NamedTuple):
    """Loss on one stream from one source."""

    observation_count: int
    total_bytes_lost: int
    first_timestamp_ms: int
    last_timestamp_ms: int
    session_id: int
    stream_id: int
    channel: str
    source: str


cdef inline int64_t align_to(int64_t value, int64_t alignment) noexcept nogil:
    return (value + alignment - 1) & ~(alignment - 1)


cdef class LossReport:
    """The one writer of a report.  Invariant: bytes from _next_offset on are zero."""

    def __init__(self, buffer):
        cdef BufferView view
        self._holder = borrow(buffer, &view, True)
        self.address = view.address
        self.capacity = view.length
        for end, _ in _walk(self.address, self.capacity)[0]:
            self._next_offset = end

    cdef uint8_t* create_entry(self, int64_t bytes_lost, int64_t epoch_ms, int32_t session_id, int32_t stream_id, const char* channel,
                               int32_t channel_length, const char* source, int32_t source_length) noexcept nogil:
        # The C reader does not align the channel when it steps to the next entry.  Where that would lead it elsewhere than the Java
        # reader, the channel is filled up with spaces, so that both find the next entry.
        cdef int32_t spaces = <int32_t>(align_to(channel_length, sizeof(int32_t)) - channel_length)
        cdef int64_t fixed = LOSS_RECORD_CHANNEL_OFFSET + sizeof(int32_t) + source_length
        cdef int64_t required = fixed + channel_length + spaces
        cdef uint8_t* entry = self.address + self._next_offset
        cdef uint8_t* text
        if required > self.capacity - self._next_offset:
            return NULL
        if align_to(required, LOSS_RECORD_ALIGNMENT) == align_to(required - spaces, LOSS_RECORD_ALIGNMENT):
            spaces = 0
        loss_record_set_total_bytes_lost(entry, bytes_lost)
        loss_record_set_first_observation_timestamp_ms(entry, epoch_ms)
        loss_record_set_last_observation_timestamp_ms(entry, epoch_ms)
        loss_record_set_session_id(entry, session_id)
        loss_record_set_stream_id(entry, stream_id)
        loss_record_set_channel_length(entry, channel_length + spaces)
        text = entry + LOSS_RECORD_CHANNEL_OFFSET
        memcpy(text, channel, channel_length)
        memset(text + channel_length, c' ', spaces)
        text += align_to(channel_length, sizeof(int32_t))
        memcpy(text, &source_length, sizeof(int32_t))
        memcpy(text + sizeof(int32_t), source, source_length)
        store_release_i64(entry + LOSS_RECORD_OBSERVATION_COUNT_OFFSET, 1)
        self._next_offset += align_to(required, LOSS_RECORD_ALIGNMENT)
        return entry

    def create(self, int64_t bytes_lost, int64_t epoch_ms, int32_t session_id, int32_t stream_id, str channel, str source):
        """Begin an entry; return it for observe(), or None when the report is full."""
        cdef bytes channel_text = channel.encode("ascii", "replace")
        cdef bytes source_text = source.encode("ascii", "replace")
        cdef uint8_t* entry = self.create_entry(bytes_lost, epoch_ms, session_id, stream_id, channel_text, <int32_t>len(channel_text),
                                                source_text, <int32_t>len(source_text))
        return None if entry == NULL else entry - self.address

    def observe(self, int64_t entry, int64_t bytes_lost, int64_t epoch_ms) -> None:
        """Add an observation to an entry of create()."""
        if not 0 <= entry < self._next_offset or entry % LOSS_RECORD_ALIGNMENT:
            raise ValueError(f"loss entry: expected one that create returned, actual {entry}")
        loss_entry_observe(self.address + entry, bytes_lost, epoch_ms)


cdef void loss_entry_observe(uint8_t* entry, int64_t bytes_lost, int64_t epoch_ms) noexcept nogil:
    store_release_i64(entry + LOSS_RECORD_LAST_OBSERVATION_TIMESTAMP_MS_OFFSET, epoch_ms)
    fetch_add_i64(entry + LOSS_RECORD_TOTAL_BYTES_LOST_OFFSET, bytes_lost)
    fetch_add_i64(entry + LOSS_RECORD_OBSERVATION_COUNT_OFFSET, 1)


def read_loss(buffer) -> list:
    """Return the entries of a report in order."""
    return scan_loss(buffer)[0]


def scan_loss(buffer) -> tuple:
    """Return the entries of a report in order, and the Damage that ends them, or None where a count of 0 or the buffer's end does.

    An entry that is being written has a count of 0 until it is whole.
    """
    cdef BufferView view
    holder = borrow(buffer, &view, False)
    found, damage = _walk(view.address, view.length)
    return [entry for _, entry in found], damage


cdef tuple _walk(const uint8_t* address, int64_t capacity):
    cdef int64_t offset = 0
    cdef int64_t count, source_offset
    cdef int32_t channel_length, source_length
    cdef const uint8_t* entry
    out = []
    while offset + LOSS_RECORD_CHANNEL_OFFSET <= capacity:
        entry = address + offset
        count = load_acquire_i64(entry + LOSS_RECORD_OBSERVATION_COUNT_OFFSET)
        channel_length = loss_record_channel_length(entry)
        source_offset = offset + LOSS_RECORD_CHANNEL_OFFSET + align_to(channel_length, sizeof(int32_t))
        if count == 0:
            break
        damage = _damage(entry, offset, count)
        if damage is not None:
            return out, damage
        if channel_length < 0 or source_offset + <int64_t>sizeof(int32_t) > capacity:
            return out, Damage(offset, "channel length", f"0 to {capacity - offset - LOSS_RECORD_CHANNEL_OFFSET}", channel_length)
        memcpy(&source_length, address + source_offset, sizeof(int32_t))
        source_offset += sizeof(int32_t)
        if source_length < 0 or source_offset + source_length > capacity:
            return out, Damage(offset, "source length", f"0 to {capacity - source_offset}", source_length)
        channel = (<const char*>(entry + LOSS_RECORD_CHANNEL_OFFSET))[:channel_length]
        source = (<const char*>(address + source_offset))[:source_length]
        offset += align_to(source_offset + source_length - offset, LOSS_RECORD_ALIGNMENT)
        out.append((offset, LossEntry(
            count, load_acquire_i64(entry + LOSS_RECORD_TOTAL_BYTES_LOST_OFFSET), loss_record_first_observation_timestamp_ms(entry),
            load_acquire_i64(entry + LOSS_RECORD_LAST_OBSERVATION_TIMESTAMP_MS_OFFSET), loss_record_session_id(entry),
            loss_record_stream_id(entry), channel.decode("ascii", "backslashreplace").rstrip(" "),
            source.decode("ascii", "backslashreplace"))))
    return out, None


cdef object _damage(const uint8_t* entry, int64_t offset, int64_t count):
    if count < 0:
        return Damage(offset, "observation count", "at least 0", count)
    cdef int64_t lost = load_acquire_i64(entry + LOSS_RECORD_TOTAL_BYTES_LOST_OFFSET)
    if lost < 0:
        return Damage(offset, "bytes lost", "at least 0", lost)
    cdef int64_t first_ms = loss_record_first_observation_timestamp_ms(entry)
    cdef int64_t last_ms = load_acquire_i64(entry + LOSS_RECORD_LAST_OBSERVATION_TIMESTAMP_MS_OFFSET)
    for name, value in (("first timestamp", first_ms), ("last timestamp", last_ms)):
        if not 0 <= value <= TIMESTAMP_MAX_MS:
            return Damage(offset, name, f"0 to {TIMESTAMP_MAX_MS} ms", value)
    return None
