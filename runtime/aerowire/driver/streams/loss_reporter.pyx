"""What an image lost, told to the loss report: each lost byte once, however often it is asked for. Aeron: PublicationImage.reportLoss."""

from libc.stdint cimport int32_t, int64_t

cimport cython

from aerowire.ipc.loss_report cimport loss_entry_observe


@cython.final
cdef class LossReporter:
    """Invariant: everything before the reported end of the reported term is in the report, as far as it has room."""

    def __cinit__(self, LossReport report, *, int32_t session_id, int32_t stream_id, int32_t initial_term_id, str channel, str source):
        self._report = report
        self._session_id = session_id
        self._stream_id = stream_id
        self._channel = channel.encode("ascii", "replace")
        self._source = source.encode("ascii", "replace")
        self._channel_text = self._channel
        self._source_text = self._source
        self._channel_length = <int32_t>len(self._channel)
        self._source_length = <int32_t>len(self._source)
        self._reported_term_id = initial_term_id

    cdef void on_gap(self, int32_t term_id, int32_t term_offset, int32_t length, int64_t epoch_ms) noexcept nogil:
        cdef int32_t end = term_offset + length
        cdef int32_t bytes_lost = length
        if term_id == self._reported_term_id and term_offset < self._reported_end:
            bytes_lost = end - self._reported_end
        if bytes_lost > 0:
            self._reported_term_id = term_id
            self._reported_end = end
            self._observe(bytes_lost, epoch_ms)

    cdef void _observe(self, int64_t bytes_lost, int64_t epoch_ms) noexcept nogil:
        if self._entry is not NULL:
            loss_entry_observe(self._entry, bytes_lost, epoch_ms)
        elif self._report is not None:
            self._entry = self._report.create_entry(bytes_lost, epoch_ms, self._session_id, self._stream_id, self._channel_text,
                                                    self._channel_length, self._source_text, self._source_length)
