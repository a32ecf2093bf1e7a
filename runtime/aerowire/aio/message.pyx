"""One message with what its header says, copied out of the log: what an event loop hands on outlives the log's memory."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport int32_t, int64_t

from aerowire.client.subscriptions.header cimport Header
from aerowire.codecs.native.transport cimport data_header_reserved_value, data_header_session_id, data_header_stream_id


@cython.final
cdef class Message:
    """A whole message. `payload` are its bytes, and the message itself is a buffer of them, as `send` and `struct.unpack_from` take it.

    `position` is the stream position after it, `session_id` says which publication sent it. It never changes.
    """

    def __init__(self):
        raise TypeError("a Message comes from a subscription")

    def __len__(self):
        return PyBytes_GET_SIZE(self.payload)

    def __bytes__(self):
        return self.payload

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, <void*>PyBytes_AS_STRING(self.payload), PyBytes_GET_SIZE(self.payload), 1, flags)

    def __eq__(self, other):
        if isinstance(other, Message):
            return (self.payload, self.session_id, self.position) == (other.payload, other.session_id, other.position)
        return NotImplemented

    def __hash__(self):
        return hash((self.payload, self.session_id, self.position))

    def __repr__(self):
        return (f"Message(payload={self.payload!r}, session_id={self.session_id}, stream_id={self.stream_id}, position={self.position}, "
                f"reserved_value={self.reserved_value})")


@cython.final
cdef class MessageCollector:
    """A fragment handler that appends a Message of each call to what it was made with."""

    def __init__(self, messages not None):
        self._append = messages.append

    @cython.binding(False)      # called as a plain C function
    def take(self, buffer, offset, length, Header header not None):
        """Handle a fragment, or a whole message of an assembler's."""
        cdef Message message = Message.__new__(Message)
        header.require_frame()
        message.payload = PyBytes_FromStringAndSize(<const char*>header.payload_address, header.length)
        message.position = header.position
        message.reserved_value = data_header_reserved_value(header.frame)
        message.session_id = data_header_session_id(header.frame)
        message.stream_id = data_header_stream_id(header.frame)
        self._append(message)
