"""The header of session messages, as a service sends them. Aeron: SessionMessageHeaderEncoder, AeronCluster.SESSION_HEADER_LENGTH."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from aerowire.codecs.native.cluster cimport (
    SBE_HEADER_LENGTH, SESSION_MESSAGE_HEADER_BLOCK_LENGTH, session_message_header_set_cluster_session_id,
    session_message_header_set_leadership_term_id, session_message_header_set_timestamp)

from aerowire.codecs.flyweights.cluster.messages.session_message_header import SessionMessageHeader

SESSION_HEADER_LENGTH = SBE_HEADER_LENGTH + SESSION_MESSAGE_HEADER_BLOCK_LENGTH

cdef bytes _MESSAGE_HEADER = SessionMessageHeader(leadership_term_id=0, cluster_session_id=0, timestamp=0).encode()[:SBE_HEADER_LENGTH]


@cython.final
cdef class SessionHeader:
    """The header with the term that the service is in, which the agent sets."""

    def __init__(self):
        self.leadership_term_id = -1

    def encode(self, int64_t session_id, int64_t timestamp):
        """Return the header of a message to, or of, a session, as bytes."""
        cdef bytes header = PyBytes_FromStringAndSize(NULL, SBE_HEADER_LENGTH + SESSION_MESSAGE_HEADER_BLOCK_LENGTH)
        cdef uint8_t* address = <uint8_t*>PyBytes_AS_STRING(header)
        memcpy(address, PyBytes_AS_STRING(_MESSAGE_HEADER), SBE_HEADER_LENGTH)
        address += SBE_HEADER_LENGTH
        session_message_header_set_leadership_term_id(address, self.leadership_term_id)
        session_message_header_set_cluster_session_id(address, session_id)
        session_message_header_set_timestamp(address, timestamp)
        return header
