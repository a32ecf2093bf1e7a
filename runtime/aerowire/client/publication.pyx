"""The sending handles: what an application offers messages to. Aeron: Publication, ConcurrentPublication, ExclusivePublication.

A publication writes straight into the log that the driver mapped for it; the driver is not asked. It knows positions and lengths, and
nothing of commands, counters' meaning or threads: the conductor makes it, and ends it.
"""

cimport cython
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.client.claim cimport BufferClaim, new_claim
from aerowire.client.fast_call cimport FastFunction, precede
from aerowire.client.numbers cimport number_of, numbers_clear
from aerowire.client.state cimport STATE_OPEN, Handle
from aerowire.ipc.counters cimport CountersReader, counter_get
from aerowire.logbuffer.append cimport Part, ReservedValue
from aerowire.logbuffer.concurrent_appender cimport ConcurrentAppender
from aerowire.logbuffer.descriptor cimport (
    OFFER_ADMIN_ACTION, OFFER_BACK_PRESSURED, OFFER_CLOSED, OFFER_MAX_POSITION_EXCEEDED, OFFER_MESSAGE_TOO_LONG, OFFER_NOT_CONNECTED,
    max_possible_position)
from aerowire.logbuffer.exclusive_appender cimport ExclusiveAppender
from aerowire.logbuffer.log cimport LogBuffers

from aerowire.base.errors import MessageTooLongError, PublicationClosedError

cdef extern from "Python.h":
    PyObject** PySequence_Fast_ITEMS(object) noexcept
    Py_ssize_t PySequence_Fast_GET_SIZE(object) noexcept
    object PySequence_Fast(object, const char*)

NOT_CONNECTED = OFFER_NOT_CONNECTED
BACK_PRESSURED = OFFER_BACK_PRESSURED
ADMIN_ACTION = OFFER_ADMIN_ACTION
CLOSED = OFFER_CLOSED
MAX_POSITION_EXCEEDED = OFFER_MAX_POSITION_EXCEEDED

_RESULT_NAMES = {
    OFFER_NOT_CONNECTED: "NOT_CONNECTED",
    OFFER_BACK_PRESSURED: "BACK_PRESSURED",
    OFFER_ADMIN_ACTION: "ADMIN_ACTION",
    OFFER_CLOSED: "CLOSED",
    OFFER_MAX_POSITION_EXCEEDED: "MAX_POSITION_EXCEEDED",
}

cdef enum:
    # Parts of a batch that are prepared at a time: 16 bytes each on the stack, and the borrowed buffers of other than bytes beside them.
    BATCH_PARTS = 128
    # A copy of this many bytes takes longer than handing over the interpreter lock (some 100 ns).
    UNLOCKED_LENGTH = 65536


def error_string(int64_t result) -> str:
    """Return the name of an offer's negative result, NONE for a position. Aeron: Publication.errorString."""
    return "NONE" if result >= 0 else _RESULT_NAMES.get(result, "UNKNOWN")


cdef int64_t fixed_reserved_value(void* context, uint8_t* term, int32_t term_offset, int32_t frame_length) noexcept nogil:
    return (<int64_t*>context)[0]


cdef class PublicationBase(Handle):
    """What both publications share. Made by the client's conductor only.

    Invariant: while open, `_logs` and the position limit are mapped; `_hold` keeps them mapped until the last call in progress returns.
    """

    NOT_CONNECTED = OFFER_NOT_CONNECTED
    BACK_PRESSURED = OFFER_BACK_PRESSURED
    ADMIN_ACTION = OFFER_ADMIN_ACTION
    CLOSED = OFFER_CLOSED
    MAX_POSITION_EXCEEDED = OFFER_MAX_POSITION_EXCEEDED

    error_string = staticmethod(error_string)

    def __init__(self, conductor, LogBuffers logs not None, CountersReader counters not None, *, str channel not None, int32_t stream_id,
                 int32_t session_id, int64_t registration_id, int64_t original_registration_id, int32_t position_limit_id,
                 int32_t channel_status_id):
        self._position_limit = counters.value_address(position_limit_id)
        if self._position_limit is NULL:
            raise ValueError(f"position limit counter {position_limit_id} is outside the counters buffer")
        self._conductor = conductor
        self._logs = logs
        self._hold = (logs.hold(), counters)
        self.channel = channel
        self.stream_id = stream_id
        self.session_id = session_id
        self.registration_id = registration_id
        self.original_registration_id = original_registration_id
        self.position_limit_id = position_limit_id
        self.channel_status_id = channel_status_id
        self.initial_term_id = logs.initial_term_id
        self.term_buffer_length = logs.term_length
        self.position_bits_to_shift = logs.bits
        self.max_possible_position = max_possible_position(logs.term_length)

    def __dealloc__(self):
        numbers_clear(&self._numbers)

    def __enter__(self):
        return self

    def __exit__(self, error_type, error, traceback):
        self.close()

    def __repr__(self):
        return (f"{type(self).__name__}(channel={self.channel!r}, stream_id={self.stream_id}, session_id={self.session_id}, "
                f"registration_id={self.registration_id}, is_closed={self.is_closed})")

    @cython.embedsignature(True)
    @cython.embedsignature.format("clinic")
    @cython.binding(False)      # called as a plain C function: some 15 ns less a message
    def offer(self, buffer, Py_ssize_t offset=0, length=None, reserved_value=None):
        """Copy a message into the stream, without waiting.

        `buffer` is any contiguous buffer; bytes are quickest. `offset` and `length` choose a part of it in bytes, `reserved_value` (64 bits,
        signed) goes into the frame header. A message longer than `max_payload_length` is sent as fragments.

        Returns the stream position after the message, or a negative reason why nothing was sent: NOT_CONNECTED (no subscriber),
        BACK_PRESSURED (a subscriber or the network is behind: try again), ADMIN_ACTION (the term was turned over: try again at once),
        MAX_POSITION_EXCEEDED (the stream is at its end). Raises PublicationClosedError, MessageTooLongError, and once the client has ended
        the error that ended it.
        """
        if self._state != STATE_OPEN:
            self.raise_not_open()
        return self.offer_buffer(buffer, offset, length, reserved_value)

    def offer_parts(self, *buffers, reserved_value=None):
        """Send one message made of several buffers, gathered without an intermediate copy. Results and errors as `offer`."""
        cdef Part parts[BATCH_PARTS]
        cdef Py_buffer views[BATCH_PARTS]
        cdef int borrowed = 0
        cdef int64_t result, reserved = 0
        cdef ReservedValue supplier = NULL
        cdef Py_ssize_t total = 0
        if self._state != STATE_OPEN:
            self.raise_not_open()
        if len(buffers) > BATCH_PARTS:
            raise ValueError(f"{len(buffers)} parts, at most {BATCH_PARTS} make a message")
        if reserved_value is not None:
            reserved = reserved_value
            supplier = fixed_reserved_value
        try:
            for buffer in buffers:
                PyObject_GetBuffer(buffer, &views[borrowed], PyBUF_SIMPLE)
                parts[borrowed].address = <const uint8_t*>views[borrowed].buf
                parts[borrowed].length = views[borrowed].len
                total += views[borrowed].len
                borrowed += 1
            result = self.append_parts(parts, borrowed, supplier, &reserved)
        finally:
            while borrowed > 0:
                borrowed -= 1
                PyBuffer_Release(&views[borrowed])
        if result == OFFER_MESSAGE_TOO_LONG:
            self.refuse_length(total, self.max_message_length)
        return result

    def offer_many(self, messages):
        """Copy many messages into the stream with one call: a sequence of buffers, or an array whose first axis counts the messages.

        An array (anything with a C-contiguous buffer of two or more dimensions, or of items longer than a byte, such as a structured array)
        sends one message per item of its first axis. Term changes are handled inside.

        Returns how many were sent, in order from the first; when not even one was, the reason as in `offer`. Send the rest again later:
        `messages[sent:]`. Raises as `offer`; what stood before a message that is too long has been sent.
        """
        if self._state != STATE_OPEN:
            self.raise_not_open()
        if PyObject_CheckBuffer(messages):
            return self.offer_rows(messages)
        return self.offer_sequence(messages)

    def try_claim(self, Py_ssize_t length):
        """Claim space for a message of `length` bytes, at most `max_payload_length`, to be written in place.

        Returns a BufferClaim. It is true when there is space; otherwise its `result` says why not, as in `offer`. Raises
        PublicationClosedError, MessageTooLongError.
        """
        cdef uint8_t* frame = NULL
        cdef int64_t result
        if self._state != STATE_OPEN:
            self.raise_not_open()
        if length < 0:
            raise ValueError(f"length of a claim is negative: {length}")
        result = self.claim_space(length, &frame)
        if result == OFFER_MESSAGE_TOO_LONG:
            self.refuse_length(length, self.max_payload_length)
        return new_claim(frame if result > 0 else NULL, result, <int32_t>length, self)

    @property
    def position(self):
        """Position at which the next message starts; CLOSED when closed."""
        return OFFER_CLOSED if self._state != STATE_OPEN else self.appender_position()

    @property
    def position_limit(self):
        """Position up to which flow control lets messages start; CLOSED when closed."""
        return OFFER_CLOSED if self._state != STATE_OPEN else counter_get(self._position_limit)

    @property
    def available_window(self):
        """Bytes between position and limit, the headers of messages included; CLOSED when closed."""
        return OFFER_CLOSED if self._state != STATE_OPEN else counter_get(self._position_limit) - self.appender_position()

    @property
    def is_connected(self):
        """Whether a subscriber has been seen lately. False when closed."""
        return self._state == STATE_OPEN and self._logs.is_connected()

    @property
    def is_original(self):
        """Whether this is the first handle of its log in this driver, not one more of an existing publication."""
        return self.original_registration_id == self.registration_id

    @property
    def mtu_length(self):
        """Longest datagram of the stream in bytes, its frame header included."""
        return self._logs.mtu_length

    @property
    def channel_status(self):
        """Status of the channel's socket: 1 active, -1 errored, and so on."""
        return self._conductor.channel_status(self)

    @property
    def local_socket_addresses(self):
        """The `address:port` texts that the channel is bound to; empty while there are none."""
        return self._conductor.local_socket_addresses(self)

    def add_destination(self, str channel not None):
        """Add a destination to a channel of control-mode=manual; waits for the driver. Raises RegistrationError."""
        self._ensure_open()
        self._conductor.add_destination(self.original_registration_id, channel)

    def remove_destination(self, channel):
        """Remove a destination by its channel; waits for the driver. Raises RegistrationError."""
        self._ensure_open()
        self._conductor.remove_destination(self.original_registration_id, channel)

    def close(self):
        """Give the publication back to the driver, which sends out what is in the log first. Never raises; a second call does nothing."""
        self._conductor.close_publication(self)

    cdef object closed_error(self):
        return PublicationClosedError

    cdef object refuse_length(self, Py_ssize_t length, Py_ssize_t limit):
        raise MessageTooLongError(
            "message is too long", where=self, expected=f"0 to {limit} bytes", actual=length,
            hint="a longer term-length allows longer messages, up to 16 MiB; a claim holds at most one frame's payload")

    cdef object offer_buffer(self, object buffer, Py_ssize_t offset, object length, object reserved_value):
        cdef Py_buffer view
        cdef Py_ssize_t part
        PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
        try:
            part = view.len - offset if length is None else length
            if offset < 0 or part < 0 or part > view.len - offset:
                raise ValueError(f"offset {offset} and length {length} do not fit a buffer of {view.len} bytes")
            return self.offer_address(<const uint8_t*>view.buf + offset, part, reserved_value)
        finally:
            PyBuffer_Release(&view)

    cdef int64_t offer_address(self, const uint8_t* message, Py_ssize_t length, object reserved_value) except? -99:
        cdef int64_t reserved = 0, result
        cdef ReservedValue supplier = NULL
        if reserved_value is not None:
            reserved = reserved_value
            supplier = fixed_reserved_value
        if length < UNLOCKED_LENGTH:
            result = self.append(message, length, supplier, &reserved)
        else:
            with nogil:
                result = self.append(message, length, supplier, &reserved)
        if result == OFFER_MESSAGE_TOO_LONG:
            self.refuse_length(length, self.max_message_length)
        return result

    cdef object offer_sequence(self, object buffers):
        cdef Part parts[BATCH_PARTS]
        cdef Py_buffer views[BATCH_PARTS]
        cdef object items = PySequence_Fast(buffers, b"offer_many takes a sequence of buffers or an array")
        cdef Py_ssize_t total = PySequence_Fast_GET_SIZE(items), sent = 0
        cdef int64_t result = 0
        cdef int count, borrowed, accepted
        cdef object item
        while sent < total:
            count = 0
            borrowed = 0
            accepted = 0
            try:
                while count < BATCH_PARTS and sent + count < PySequence_Fast_GET_SIZE(items):
                    item = <object>PySequence_Fast_ITEMS(items)[sent + count]
                    if PyBytes_CheckExact(item):
                        parts[count].address = <const uint8_t*>PyBytes_AS_STRING(item)
                        parts[count].length = PyBytes_GET_SIZE(item)
                    else:
                        PyObject_GetBuffer(item, &views[borrowed], PyBUF_SIMPLE)
                        parts[count].address = <const uint8_t*>views[borrowed].buf
                        parts[count].length = views[borrowed].len
                        borrowed += 1
                    count += 1
                if count == 0:
                    break
                result = self.append_many(parts, count, &accepted)
            finally:
                while borrowed > 0:
                    borrowed -= 1
                    PyBuffer_Release(&views[borrowed])
            sent += accepted
            if accepted < count:
                if result == OFFER_MESSAGE_TOO_LONG:
                    self.refuse_length(parts[accepted].length, self.max_message_length)
                break
        return sent if sent > 0 else (result if result < 0 else 0)

    cdef object offer_rows(self, object rows):
        cdef Py_buffer view
        cdef int64_t total, row_length, result, sent = 0
        PyObject_GetBuffer(rows, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
        try:
            if view.ndim == 0 or (view.ndim == 1 and view.itemsize == 1):
                raise TypeError("offer_many takes a sequence of buffers, or an array of two dimensions or of items longer than a byte; "
                                "offer() sends one message")
            total = view.shape[0]
            if total == 0:
                return 0
            row_length = view.len // total
            with nogil:
                result = self.append_rows(<const uint8_t*>view.buf, row_length, total, &sent)
        finally:
            PyBuffer_Release(&view)
        if result == OFFER_MESSAGE_TOO_LONG:
            self.refuse_length(row_length, self.max_message_length)
        return sent if sent > 0 else result

    # The two kinds differ in these alone.
    cdef int64_t append(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil:
        return OFFER_CLOSED

    cdef int64_t append_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil:
        return OFFER_CLOSED

    cdef int64_t append_many(self, const Part* messages, int count, int* sent) noexcept nogil:
        return OFFER_CLOSED

    cdef int64_t append_rows(self, const uint8_t* rows, int64_t length, int64_t count, int64_t* sent) noexcept nogil:
        cdef Part parts[BATCH_PARTS]
        cdef int64_t result = OFFER_BACK_PRESSURED
        cdef int i, prepared, accepted
        while sent[0] < count:
            prepared = <int>min(count - sent[0], <int64_t>BATCH_PARTS)
            for i in range(prepared):
                parts[i].address = rows + (sent[0] + i) * length
                parts[i].length = length
            accepted = 0
            result = self.append_many(parts, prepared, &accepted)
            sent[0] += accepted
            if accepted < prepared:
                break
        return result

    cdef int64_t claim_space(self, int64_t length, uint8_t** frame) noexcept nogil:
        return OFFER_CLOSED

    cdef int64_t appender_position(self) noexcept nogil:
        return OFFER_CLOSED


cdef FastFunction _general_offer


cdef PyObject* offer_whole(PyObject* self, PyObject** arguments, Py_ssize_t count, PyObject* names) noexcept:
    # offer(message) with bytes, which an open publication takes or refuses for the moment; everything else is for offer() itself
    cdef PublicationBase publication = <PublicationBase>self
    cdef int64_t result
    if (count == 1 and names is NULL and publication._state == STATE_OPEN and PyBytes_CheckExact(<object>arguments[0])
            and PyBytes_GET_SIZE(<object>arguments[0]) < UNLOCKED_LENGTH):
        result = publication.append(<const uint8_t*>PyBytes_AS_STRING(<object>arguments[0]), PyBytes_GET_SIZE(<object>arguments[0]), NULL, NULL)
        if result != OFFER_MESSAGE_TOO_LONG:
            return number_of(&publication._numbers, result)
    return _general_offer(self, arguments, count, names)


_general_offer = precede(PublicationBase, "offer", offer_whole)


@cython.final
cdef class Publication(PublicationBase):
    """Sends messages to a stream from any number of threads; several handles of one channel and stream share one session and log.

    From `Aeron.add_publication`. Aeron: ConcurrentPublication.
    """

    def __init__(self, conductor, LogBuffers logs not None, CountersReader counters not None, **fields):
        super().__init__(conductor, logs, counters, **fields)
        self._appender = ConcurrentAppender(logs, counters, self.position_limit_id, self.session_id, self.stream_id)
        self.max_payload_length = self._appender.max_payload_length
        self.max_message_length = self._appender.max_message_length

    cdef int64_t append(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil:
        return self._appender.offer(message, length, reserved, context)

    cdef int64_t append_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil:
        return self._appender.offer_parts(parts, count, reserved, context)

    cdef int64_t append_many(self, const Part* messages, int count, int* sent) noexcept nogil:
        return self._appender.offer_many(messages, count, sent, NULL, NULL)

    cdef int64_t claim_space(self, int64_t length, uint8_t** frame) noexcept nogil:
        return self._appender.try_claim(length, frame)

    cdef int64_t appender_position(self) noexcept nogil:
        return self._appender.position()


@cython.final
cdef class ExclusivePublication(PublicationBase):
    """Sends messages to a stream of its own, from one thread at a time, quicker than a shared publication.

    From `Aeron.add_exclusive_publication`. Aeron: ExclusivePublication.
    """

    def __init__(self, conductor, LogBuffers logs not None, CountersReader counters not None, **fields):
        super().__init__(conductor, logs, counters, **fields)
        self._appender = ExclusiveAppender(logs, counters, self.position_limit_id, self.session_id, self.stream_id)
        self.max_payload_length = self._appender.max_payload_length
        self.max_message_length = self._appender.max_message_length

    @property
    def term_id(self):
        """Id of the term that the next message goes into."""
        return self._appender.term_id

    @property
    def term_offset(self):
        """Offset in that term of the next message."""
        return self._appender.term_offset

    def append_padding(self, Py_ssize_t length):
        """Append a frame of `length` bytes that subscribers step over. Results and errors as `offer`."""
        cdef int64_t result
        if self._state != STATE_OPEN:
            self.raise_not_open()
        result = self._appender.append_padding(length)
        if result == OFFER_MESSAGE_TOO_LONG:
            self.refuse_length(length, self.max_message_length)
        return result

    def revoke(self):
        """Close at once and tell the subscribers that what they have not read yet is void. Aeron: ExclusivePublication.revoke."""
        self.revoke_on_close = True
        self.close()

    cdef int64_t append(self, const uint8_t* message, int64_t length, ReservedValue reserved, void* context) noexcept nogil:
        return self._appender.offer(message, length, reserved, context)

    cdef int64_t append_parts(self, const Part* parts, int count, ReservedValue reserved, void* context) noexcept nogil:
        return self._appender.offer_parts(parts, count, reserved, context)

    cdef int64_t append_many(self, const Part* messages, int count, int* sent) noexcept nogil:
        return self._appender.offer_many(messages, count, sent, NULL, NULL)

    cdef int64_t append_rows(self, const uint8_t* rows, int64_t length, int64_t count, int64_t* sent) noexcept nogil:
        return self._appender.offer_rows(rows, length, count, sent)

    cdef int64_t claim_space(self, int64_t length, uint8_t** frame) noexcept nogil:
        return self._appender.try_claim(length, frame)

    cdef int64_t appender_position(self) noexcept nogil:
        return self._appender.position()
