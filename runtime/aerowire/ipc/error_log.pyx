"""Distinct errors, each once with its count and times, in the last section of the cnc file.

Records follow each other, aligned; a length of 0 ends the log and is written LAST.  Aeron: DistinctErrorLog, ErrorLogReader.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

import threading
from typing import NamedTuple

from aerowire.codecs.native.cnc cimport (
    ERROR_RECORD_ALIGNMENT, ERROR_RECORD_ENCODED_ERROR_OFFSET, ERROR_RECORD_LAST_OBSERVATION_TIMESTAMP_MS_OFFSET,
    ERROR_RECORD_LENGTH_OFFSET, ERROR_RECORD_OBSERVATION_COUNT_OFFSET, error_record_first_observation_timestamp_ms,
    error_record_set_first_observation_timestamp_ms)
from aerowire.ipc.damage import TIMESTAMP_MAX_MS, Damage
from aerowire.memory.atomics cimport fetch_add_i32, load_acquire_i32, load_acquire_i64, store_release_i32, store_release_i64
from aerowire.memory.region cimport BufferView, borrow


class ErrorObservation(NamedTuple):
    """One distinct error as a reader found it."""

    observation_count: int
    first_timestamp_ms: int
    last_timestamp_ms: int
    text: str


cdef inline int64_t align_record(int64_t length) noexcept nogil:
    return (length + (ERROR_RECORD_ALIGNMENT - 1)) & ~<int64_t>(ERROR_RECORD_ALIGNMENT - 1)


cdef class DistinctErrorLog:
    """The one writer of a log; any Python thread may record.

    Changed by: record().  Invariant: bytes from _next_offset on are zero.
    """

    def __init__(self, buffer):
        cdef BufferView view
        self._holder = borrow(buffer, &view, True)
        self.address = view.address
        self.capacity = view.length
        self._offsets = {}
        self._lock = threading.Lock()
        for offset, observation in _walk(self.address, self.capacity)[0]:
            self._offsets[observation.text] = offset
            self._next_offset = offset + align_record(load_acquire_i32(self.address + <int64_t>offset + ERROR_RECORD_LENGTH_OFFSET))

    def record(self, str text, int64_t epoch_ms, *, key=None) -> bool:
        """Count an error; a text (or `key`, when given) seen before only gets a higher count and a later time.

        Returns False when the log has no room for a new error.
        """
        cdef int64_t offset
        cdef uint8_t* record
        with self._lock:
            identity = text if key is None else key
            known = self._offsets.get(identity)
            if known is None:
                known = self._add(text, epoch_ms)
                if known is None:
                    return False
                self._offsets[identity] = known
            offset = known
            record = self.address + offset
            fetch_add_i32(record + ERROR_RECORD_OBSERVATION_COUNT_OFFSET, 1)
            store_release_i64(record + ERROR_RECORD_LAST_OBSERVATION_TIMESTAMP_MS_OFFSET, epoch_ms)
        return True

    cdef object _add(self, str text, int64_t epoch_ms):
        cdef bytes encoded = text.encode("utf-8", "backslashreplace")
        cdef int64_t length = len(encoded) + ERROR_RECORD_ENCODED_ERROR_OFFSET
        cdef int64_t offset = self._next_offset
        cdef uint8_t* record = self.address + offset
        if offset + length > self.capacity:
            return None
        memcpy(record + ERROR_RECORD_ENCODED_ERROR_OFFSET, <const char*>encoded, len(encoded))
        error_record_set_first_observation_timestamp_ms(record, epoch_ms)
        store_release_i64(record + ERROR_RECORD_LAST_OBSERVATION_TIMESTAMP_MS_OFFSET, epoch_ms)
        self._next_offset = offset + align_record(length)
        store_release_i32(record + ERROR_RECORD_LENGTH_OFFSET, <int32_t>length)
        return offset

    @property
    def distinct_count(self) -> int:
        """Distinct errors recorded."""
        return len(self._offsets)


def read_errors(buffer, int64_t since_ms=0) -> list:
    """Return the errors of a log, in order, that were last seen at `since_ms` or later."""
    cdef BufferView view
    holder = borrow(buffer, &view, False)
    return [seen for _, seen in _walk(view.address, view.length)[0] if seen.last_timestamp_ms >= since_ms]


def scan_errors(buffer) -> tuple:
    """Return the errors of a log, in order, and the Damage that ends them, or None where a length of 0 or the buffer's end does.

    A record that is being written has a length of 0 until it is whole.
    """
    cdef BufferView view
    holder = borrow(buffer, &view, False)
    found, damage = _walk(view.address, view.length)
    return [seen for _, seen in found], damage


cdef tuple _walk(const uint8_t* address, int64_t capacity):
    cdef int64_t offset = 0
    cdef int32_t length
    cdef const uint8_t* record
    out = []
    while offset + ERROR_RECORD_ENCODED_ERROR_OFFSET <= capacity:
        record = address + offset
        length = load_acquire_i32(record + ERROR_RECORD_LENGTH_OFFSET)
        if length == 0:
            break
        damage = _damage(record, offset, length, capacity)
        if damage is not None:
            return out, damage
        text = (<const char*>(record + ERROR_RECORD_ENCODED_ERROR_OFFSET))[:length - ERROR_RECORD_ENCODED_ERROR_OFFSET]
        out.append((offset, ErrorObservation(
            load_acquire_i32(record + ERROR_RECORD_OBSERVATION_COUNT_OFFSET), error_record_first_observation_timestamp_ms(record),
            load_acquire_i64(record + ERROR_RECORD_LAST_OBSERVATION_TIMESTAMP_MS_OFFSET), text.decode("utf-8", "backslashreplace"))))
        offset += align_record(length)
    return out, None


cdef object _damage(const uint8_t* record, int64_t offset, int32_t length, int64_t capacity):
    cdef int32_t count = load_acquire_i32(record + ERROR_RECORD_OBSERVATION_COUNT_OFFSET)
    cdef int64_t first_ms = error_record_first_observation_timestamp_ms(record)
    cdef int64_t last_ms = load_acquire_i64(record + ERROR_RECORD_LAST_OBSERVATION_TIMESTAMP_MS_OFFSET)
    if length < ERROR_RECORD_ENCODED_ERROR_OFFSET or offset + length > capacity:
        return Damage(offset, "length", f"{ERROR_RECORD_ENCODED_ERROR_OFFSET} to {capacity - offset}, or 0 at the end", length)
    if count < 0:   # 0: it is being written, and will be counted
        return Damage(offset, "observation count", "at least 0", count)
    for name, value in (("first timestamp", first_ms), ("last timestamp", last_ms)):
        if not 0 <= value <= TIMESTAMP_MAX_MS:
            return Damage(offset, name, f"0 to {TIMESTAMP_MAX_MS} ms", value)
    return None
