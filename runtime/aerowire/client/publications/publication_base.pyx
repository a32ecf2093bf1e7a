"""What an application offers messages to: all but how they are appended to the log. Aeron: Publication.

A publication writes straight into the log that the driver mapped for it; the driver is not asked. It knows positions and lengths, and
nothing of commands, counters' meaning or threads: the conductor makes it, and ends it.
"""

cimport cython
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.number cimport PyIndex_Check
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.base.whole_numbers cimport int64_of
from aerowire.client.publications.claim cimport BufferClaim, new_claim
from aerowire.client.handles.fast_call cimport FastFunction, precede
from aerowire.client.handles.numbers cimport number_of, numbers_clear
from aerowire.client.handles.state cimport STATE_LENT, STATE_OPEN
from aerowire.ipc.counters cimport CountersReader, counter_get
from aerowire.client.publications.reserved_value cimport ReservedSupplier, fixed_value, new_supplier, supplied_value
from aerowire.logbuffer.append cimport Part, PartArray, ReservedValue
from aerowire.logbuffer.descriptor cimport (
    OFFER_ADMIN_ACTION, OFFER_BACK_PRESSURED, OFFER_CLOSED, OFFER_MAX_POSITION_EXCEEDED, OFFER_MESSAGE_TOO_LONG, OFFER_NOT_CONNECTED,
    max_possible_position)
from aerowire.memory.buffers cimport borrow_bytes, refuse_objects

from aerowire.base.errors import MessageTooLongError, PublicationClosedError
from aerowire.client.handles.html import publication_html
from aerowire.client.publications.blocking_send import SEND_TIMEOUT_NS, send_all, send_waiting

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


def error_string(result) -> str:
    """Return the name of an offer's negative result, NONE for a position. Aeron: Publication.errorString."""
    cdef int64_t found = int64_of("result", result)
    return "NONE" if found >= 0 else _RESULT_NAMES.get(found, "UNKNOWN")


cdef class PublicationBase(StreamHandle):
    """What both publications share. Made by the client's conductor only.

    Invariant: while open, `logs` and the position limit are mapped; `_hold` keeps them mapped until the last call in progress returns.
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
        self.limit = counters.value_address(position_limit_id)
        if self.limit is NULL:
            raise ValueError(f"position limit counter {position_limit_id} is outside the counters buffer")
        self.conductor = conductor
        self._refuses_waiting = conductor.waiting.is_refused
        self.logs = logs
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

    def _repr_html_(self):
        """Render as a table, for notebooks."""
        return publication_html(self)

    def __repr__(self):
        return (f"{type(self).__name__}(channel={self.channel!r}, stream_id={self.stream_id}, session_id={self.session_id}, "
                f"registration_id={self.registration_id}, is_closed={self.is_closed})")

    @cython.embedsignature(True)
    @cython.embedsignature.format("clinic")
    @cython.binding(False)      # called as a plain C function: some 15 ns less a message
    def offer(self, buffer, offset=0, length=None, reserved_value=None):
        """Copy a message into the stream, without waiting.

        `buffer` is any contiguous buffer; bytes are quickest. `offset` and `length` choose a part of it in bytes. `reserved_value`
        (64 bits, signed) goes into the frame header; or it is a function (buffer, offset, length) that is called with each written frame,
        header included, and returns it. A message longer than `max_payload_length` is sent as fragments.

        Returns the stream position after the message, or a negative reason why nothing was sent: NOT_CONNECTED (no subscriber),
        BACK_PRESSURED (a subscriber or the network is behind: try again), ADMIN_ACTION (the term was turned over: try again at once),
        MAX_POSITION_EXCEEDED (the stream is at its end). Raises PublicationClosedError, MessageTooLongError, and once the client has ended
        the error that ended it.
        """
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()
        return self.offer_buffer(buffer, int64_of("offset", offset), length, reserved_value)

    def offer_parts(self, *buffers, reserved_value=None):
        """Send one message made of several buffers, gathered without an intermediate copy. Results and errors as `offer`."""
        cdef Part parts[BATCH_PARTS]
        cdef Py_buffer views[BATCH_PARTS]
        cdef PartArray array
        cdef int borrowed = 0
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()
        if len(buffers) > BATCH_PARTS:
            array = PartArray(buffers)
            return self.offer_gathered(array.parts, array.count, reserved_value)
        try:
            for buffer in buffers:
                borrow_bytes(buffer, &views[borrowed])
                parts[borrowed].address = <const uint8_t*>views[borrowed].buf
                parts[borrowed].length = views[borrowed].len
                borrowed += 1
            return self.offer_gathered(parts, borrowed, reserved_value)
        finally:
            while borrowed > 0:
                borrowed -= 1
                PyBuffer_Release(&views[borrowed])

    def offer_many(self, messages):
        """Copy many messages into the stream with one call: a sequence of buffers, or an array whose first axis counts the messages.

        An array (anything with a C-contiguous buffer of two or more dimensions, or of items longer than a byte, such as a structured array)
        sends one message per item of its first axis. Term changes are handled inside.

        Returns how many were sent, in order from the first; when not even one was, the reason as in `offer`. Send the rest again later:
        `messages[sent:]`. Raises as `offer`; what stood before a message that is too long has been sent.
        """
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()
        if PyObject_CheckBuffer(messages):
            return self.offer_rows(messages)
        return self.offer_sequence(messages)

    def send(self, buffer, *, reserved_value=None, timeout_ns=SEND_TIMEOUT_NS):
        """As `offer`, but wait until the message is taken; returns its position.

        `timeout_ns` is how long to wait, a number or a text such as "500ms"; None: for ever. A signal's handler may end the wait by raising. Raises NotConnectedError when there was no
        subscriber in time, BackPressureError when they did not keep up, MaxPositionExceededError, PublicationClosedError, MessageTooLongError,
        and BlockingCallError in a simulated world.
        """
        cdef int64_t result
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()
        if self._refuses_waiting:
            self.require_waiting("send", "offer")
        result = self.offer_buffer(buffer, 0, None, reserved_value)
        if result > 0:
            return result
        return send_waiting(self, lambda: self.offer(buffer, 0, None, reserved_value), result, timeout_ns)

    def send_many(self, messages, *, timeout_ns=SEND_TIMEOUT_NS):
        """As `offer_many`, but wait until all messages are taken; errors as `send`, after `timeout_ns` without any of them taken."""
        if self._refuses_waiting:
            self.require_waiting("send_many", "offer_many")
        send_all(self, messages, timeout_ns)

    def try_claim(self, length):
        """Claim space for a message of `length` bytes, at most `max_payload_length`, to be written in place.

        Returns a BufferClaim. It is true when there is space; otherwise its `result` says why not, as in `offer`. Raises
        PublicationClosedError, MessageTooLongError.
        """
        cdef uint8_t* frame = NULL
        cdef int64_t result
        cdef int64_t claimed = int64_of("length", length)
        if self.handle_state != STATE_OPEN:
            self.raise_not_open()
        if claimed < 0:
            raise ValueError(f"length of a claim is negative: {claimed}")
        result = self.claim_space(claimed, &frame)
        if result == OFFER_MESSAGE_TOO_LONG:
            self.refuse_length(claimed, self.max_payload_length)
        return new_claim(frame if result > 0 else NULL, result, <int32_t>claimed, self)

    @property
    def position(self):
        """Position at which the next message starts; CLOSED when closed."""
        if self.handle_state == STATE_LENT:
            return self.logs.producer_position()    # the appender is its agent's
        return OFFER_CLOSED if self.handle_state != STATE_OPEN else self.appender_position()

    @property
    def position_limit(self):
        """Position up to which flow control lets messages start; CLOSED when closed."""
        return counter_get(self.limit) if self.is_live() else OFFER_CLOSED

    @property
    def available_window(self):
        """Bytes between position and limit, the headers of messages included; CLOSED when closed."""
        return counter_get(self.limit) - self.position if self.is_live() else OFFER_CLOSED

    @property
    def is_connected(self):
        """Whether a subscriber has been seen lately. False when closed."""
        return self.is_live() and self.logs.is_connected()

    @property
    def is_original(self):
        """Whether this is the first handle of its log in this driver, not one more of an existing publication."""
        return self.original_registration_id == self.registration_id

    @property
    def mtu_length(self):
        """Longest datagram of the stream in bytes, its frame header included."""
        return self.logs.mtu_length

    def close(self):
        """Give the publication back to the driver, which sends out what is in the log first. Never raises; a second call does nothing."""
        self.conductor.close_publication(self)

    cdef object closed_error(self):
        return PublicationClosedError

    cdef object refuse_length(self, Py_ssize_t length, Py_ssize_t limit):
        raise MessageTooLongError(
            "message is too long", where=self, expected=f"0 to {limit} bytes", actual=length,
            hint="a longer term-length allows longer messages, up to 16 MiB; a claim holds at most one frame's payload")

    cdef object offer_buffer(self, object buffer, Py_ssize_t offset, object length, object reserved_value):
        cdef Py_buffer view
        cdef Py_ssize_t part
        borrow_bytes(buffer, &view)
        try:
            part = view.len - offset if length is None else int64_of("length", length)
            if offset < 0 or part < 0 or part > view.len - offset:
                raise ValueError(f"offset {offset} and length {length} do not fit a buffer of {view.len} bytes")
            return self.offer_address(<const uint8_t*>view.buf + offset, part, reserved_value)
        finally:
            PyBuffer_Release(&view)

    cdef int64_t offer_address(self, const uint8_t* message, Py_ssize_t length, object reserved_value) except? -99:
        cdef int64_t reserved = 0, result
        cdef ReservedSupplier supplier
        cdef ReservedValue function = NULL
        cdef void* context = &reserved
        if reserved_value is not None:
            if PyIndex_Check(reserved_value):
                reserved = int64_of("reserved_value", reserved_value)
                function = fixed_value
            else:
                supplier = new_supplier(reserved_value, self.logs)
                result = self.append(message, length, supplied_value, <void*>supplier)
                supplier.raise_failure()
                return self.checked(result, length)
        if length < UNLOCKED_LENGTH:
            result = self.append(message, length, function, context)
        else:
            with nogil:
                result = self.append(message, length, function, context)
        return self.checked(result, length)

    cdef int64_t offer_gathered(self, const Part* parts, int count, object reserved_value) except? -99:
        cdef int64_t reserved = 0, result, length = 0
        cdef ReservedSupplier supplier
        cdef int i
        if reserved_value is None:
            result = self.append_parts(parts, count, NULL, NULL)
        elif PyIndex_Check(reserved_value):
            reserved = int64_of("reserved_value", reserved_value)
            result = self.append_parts(parts, count, fixed_value, &reserved)
        else:
            supplier = new_supplier(reserved_value, self.logs)
            result = self.append_parts(parts, count, supplied_value, <void*>supplier)
            supplier.raise_failure()
        if result == OFFER_MESSAGE_TOO_LONG:
            for i in range(count):
                length += parts[i].length
        return self.checked(result, length)

    cdef inline int64_t checked(self, int64_t result, Py_ssize_t length) except? -99:
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
                        # A buffer's own code may run now, and take messages out of a list whose bytes are only pointed to.
                        items = tuple(items)
                        borrow_bytes(item, &views[borrowed])
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
            refuse_objects(&view)
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
    if (count == 1 and names is NULL and publication.handle_state == STATE_OPEN and PyBytes_CheckExact(<object>arguments[0])
            and PyBytes_GET_SIZE(<object>arguments[0]) < UNLOCKED_LENGTH):
        result = publication.append(<const uint8_t*>PyBytes_AS_STRING(<object>arguments[0]), PyBytes_GET_SIZE(<object>arguments[0]), NULL, NULL)
        if result != OFFER_MESSAGE_TOO_LONG:
            return number_of(&publication._numbers, result)
    return _general_offer(self, arguments, count, names)


_general_offer = precede(PublicationBase, "offer", offer_whole)
