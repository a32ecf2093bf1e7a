"""The frame that a handler is looking at. Aeron: Header."""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.codecs.native.transport cimport (
    DATA_HEADER_LENGTH, data_header_flags, data_header_reserved_value, data_header_session_id, data_header_stream_id,
    data_header_term_id, data_header_term_offset, data_header_type)
from aerowire.logbuffer.descriptor cimport align_frame, compute_term_begin_position


@cython.final
cdef class Header:
    """What stands before the payload in the log: who sent it, and where it lies in the stream.

    One object serves all fragments of an image: its values are those of the current fragment, for the length of the handler's call. Kept
    longer it stays safe to read, but what it says is undefined.
    """

    def __init__(self):
        raise TypeError("a Header comes with a fragment")

    def __repr__(self):
        if self.frame is NULL:
            return "Header()"
        return (f"Header(position={self.position}, session_id={self.session_id}, stream_id={self.stream_id}, term_id={self.term_id}, "
                f"term_offset={self.term_offset}, frame_length={self.frame_length}, flags=0x{self.flags:02x})")

    @property
    def position(self):
        """Stream position after the fragment, or after the whole message when it was reassembled."""
        self.require_frame()
        # A log of others may say any offset: their sum takes 64 bits.
        cdef int64_t next_offset = self.next_term_offset
        return compute_term_begin_position(data_header_term_id(self.frame), self.bits, self.initial_term_id) + next_offset

    @property
    def frame_length(self):
        """Bytes of header and payload, without alignment; for a reassembled message those of the whole."""
        self.require_frame()
        return DATA_HEADER_LENGTH + self.length

    @property
    def payload_length(self):
        """Bytes of payload: the `length` that the handler got."""
        return self.length

    @property
    def session_id(self):
        """Session of the publication that sent it."""
        self.require_frame()
        return data_header_session_id(self.frame)

    @property
    def stream_id(self):
        """Stream that it was sent to."""
        self.require_frame()
        return data_header_stream_id(self.frame)

    @property
    def term_id(self):
        """Term in which it begins."""
        self.require_frame()
        return data_header_term_id(self.frame)

    @property
    def term_offset(self):
        """Offset in the term at which its frame, or its first one, begins."""
        self.require_frame()
        return data_header_term_offset(self.frame)

    @property
    def next_term_offset(self):
        """Offset in the term after it, alignment included."""
        self.require_frame()
        if self.fragmented_length:
            return align_frame(data_header_term_offset(self.frame) + self.fragmented_length)
        return align_frame(<int64_t>data_header_term_offset(self.frame) + DATA_HEADER_LENGTH + self.length)

    @property
    def fragmented_frame_length(self):
        """Bytes that a reassembled message takes in the log, or None when it came in one frame."""
        return self.fragmented_length if self.fragmented_length else None

    @property
    def flags(self):
        """Flags of the frame (`DataFlags`); for a reassembled message those of its first and last one together."""
        self.require_frame()
        return data_header_flags(self.frame)

    @property
    def type(self):
        """Type of the frame (`FrameType`)."""
        self.require_frame()
        return data_header_type(self.frame)

    @property
    def reserved_value(self):
        """The 64 bits that the publication may use as it likes."""
        self.require_frame()
        return data_header_reserved_value(self.frame)

    @property
    def image(self):
        """Image that delivered it."""
        return self.source

    @property
    def context(self):
        """As `image`, under Aeron's name."""
        return self.source

    @property
    def position_bits_to_shift(self):
        """Logarithm of the term length: what turns terms into positions."""
        self.require_frame()
        return self.bits

    def payload(self):
        """Return a copy of the payload as bytes: quicker than slicing the handler's buffer."""
        self.require_frame()
        return PyBytes_FromStringAndSize(<const char*>self.payload_address, self.length)

    cdef int require_frame(self) except -1:
        if self.frame is NULL:
            raise ValueError("a Header has values only in a handler")
        return 0
