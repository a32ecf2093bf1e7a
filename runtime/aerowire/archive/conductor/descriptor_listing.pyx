"""A listing of descriptors of recordings, which go from the catalog's bytes straight into the client's response publication.

All messages of a listing begin with the same bytes; what follows is the descriptor as it lies in the catalog. Index and bytes are arguments
of each call, for another catalog file may have taken the place of the one before. Aeron: AbstractListRecordingsSession.
"""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport INT64_MAX, int64_t, uint8_t

from aerowire.base.idle import YieldingIdleStrategy

from aerowire.archive.files.catalog_index cimport entry_end, has_fragment
from aerowire.client.handles.state cimport STATE_OPEN
from aerowire.codecs.native.archive cimport (
    RECORDING_DESCRIPTOR_HEADER_BLOCK_LENGTH, RECORDING_DESCRIPTOR_RECORDING_ID_OFFSET, recording_descriptor_stream_id)
from aerowire.logbuffer.append cimport Part
from aerowire.logbuffer.descriptor cimport OFFER_ADMIN_ACTION, OFFER_BACK_PRESSURED, OFFER_MESSAGE_TOO_LONG

cdef enum:
    # So that a long listing holds no other client up: a descriptor that is sent takes some 100 ns, one that does not match 10.
    SENT_MAX = 256
    SCANNED_MAX = 4096
    SEND_ATTEMPTS = 3           # a publication that is rotating its terms takes a message at the next one


cdef class DescriptorListing:
    """Descriptors of recordings from an id on, of all or of those of a stream whose original channel holds a fragment.

    Changed by: `send`, call by call.  Invariant: every matching recording below `next_id` was sent, and no other one.
    """

    def __init__(self, bytes head not None, int64_t from_id, int64_t count, *, end_id=None, stream_id=None, bytes channel_fragment=b"",
                 int patience=0):
        """`head` is what stands before each descriptor's recording id in its message; `end_id` the id before which the listing ends. One call
        offers the processor to other threads up to `patience` times where the publication is full."""
        self._head = head
        self._head_start = <const uint8_t*>PyBytes_AS_STRING(head)
        self._head_length = len(head)
        self.next_id = from_id
        self.left = count
        self._end_id = INT64_MAX if end_id is None else end_id
        self._is_filtered = stream_id is not None
        self._stream_id = 0 if stream_id is None else stream_id
        self._fragment = channel_fragment
        self._fragment_start = <const uint8_t*>PyBytes_AS_STRING(channel_fragment)
        self._fragment_length = len(channel_fragment)
        self._patience = patience
        self._yielding = YieldingIdleStrategy()

    def send(self, ExclusivePublication publication not None, CatalogIndex index not None, const uint8_t[::1] data not None) -> int:
        """Send the descriptors that come next until the publication refuses one, or for as long as one call may take.

        `data` are the bytes of the catalog that `index` is of. Returns how many recordings were looked at. Raises MessageTooLongError for a
        descriptor that does not fit into a message.
        """
        if publication.handle_state != STATE_OPEN:
            publication.raise_not_open()
        cdef int64_t scanned
        with nogil:
            scanned = self._send(publication, index, &data[0], data.shape[0])
        if self.refusal == OFFER_MESSAGE_TOO_LONG:
            publication.refuse_length(self._length, publication.max_message_length)
        return scanned

    cdef int64_t _send(self, ExclusivePublication publication, CatalogIndex index, const uint8_t* data, int64_t length) noexcept nogil:
        cdef int row = index.row_from(self.next_id)
        cdef int64_t scanned = 0
        cdef int64_t offset, end
        cdef int yields_left = self._patience
        self.sent = 0
        self.refusal = 0
        while self.left > 0 and self.sent < SENT_MAX and scanned < SCANNED_MAX:
            if row == index.count or index.rows[row].recording_id >= self._end_id:
                self.is_exhausted = True
                break
            offset = index.rows[row].offset
            end = -1 if offset + RECORDING_DESCRIPTOR_HEADER_BLOCK_LENGTH > length else entry_end(data + offset, offset, length, False)
            if end < 0:         # damaged: nothing can be found behind it
                self.next_id = index.rows[row].recording_id
                self.is_exhausted = True
                break
            offset += RECORDING_DESCRIPTOR_HEADER_BLOCK_LENGTH
            if self._matches(data + offset):
                self.refusal = self._offer(publication, data + offset, end - offset)
                if self.refusal == OFFER_BACK_PRESSURED and yields_left > 0:
                    yields_left -= 1        # the next descriptors fit sooner than the conductor's next cycle would come to them
                    self._yielding.step(0)
                    continue
                if self.refusal < 0:
                    break
                self.sent += 1
                self.left -= 1
            self.next_id = index.rows[row].recording_id + 1
            scanned += 1
            row += 1
        return scanned

    cdef bint _matches(self, const uint8_t* descriptor) noexcept nogil:
        return not self._is_filtered or (recording_descriptor_stream_id(descriptor) == self._stream_id
                                         and has_fragment(descriptor, self._fragment_start, self._fragment_length))

    cdef int64_t _offer(self, ExclusivePublication publication, const uint8_t* descriptor, int64_t length) noexcept nogil:
        # 0 once it is sent, else why it is not.
        cdef Part parts[2]
        cdef int64_t result = OFFER_BACK_PRESSURED
        cdef int attempt
        parts[0].address = self._head_start
        parts[0].length = self._head_length
        parts[1].address = descriptor + RECORDING_DESCRIPTOR_RECORDING_ID_OFFSET
        parts[1].length = length - RECORDING_DESCRIPTOR_RECORDING_ID_OFFSET
        self._length = parts[0].length + parts[1].length
        for attempt in range(SEND_ATTEMPTS):
            result = publication.append_parts(parts, 2, NULL, NULL)
            if result > 0:
                return 0
            if result != OFFER_ADMIN_ACTION and result != OFFER_BACK_PRESSURED:
                break
        return result
