"""Offers to a cluster: each message with the session header before it. Aeron: AeronCluster, IngressSessionDecorator.

The header and the message are gathered into the log in one go. Knows nothing of elections: a subclass manages the session.
"""

cimport cython
from cpython.buffer cimport PyBuffer_Release
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memset

from aerowire.base.whole_numbers cimport int64_of
from aerowire.client.handles.fast_call cimport FastFunction, precede
from aerowire.client.handles.numbers cimport Numbers, number_of, numbers_clear
from aerowire.client.handles.state cimport STATE_CLOSED, STATE_OPEN
from aerowire.client.publications.claim cimport BufferClaim, new_claim
from aerowire.client.publications.publication_base cimport PublicationBase
from aerowire.codecs.native.cluster cimport (
    SBE_HEADER_LENGTH, SBE_SCHEMA_ID, SBE_SCHEMA_VERSION, SESSION_MESSAGE_HEADER_BLOCK_LENGTH, SESSION_MESSAGE_HEADER_TEMPLATE_ID,
    header_set_block_length, header_set_schema_id, header_set_template_id, header_set_version,
    session_message_header_cluster_session_id, session_message_header_leadership_term_id, session_message_header_set_cluster_session_id,
    session_message_header_set_leadership_term_id, session_message_header_set_timestamp)
from aerowire.logbuffer.append cimport Part
from aerowire.logbuffer.descriptor cimport OFFER_ADMIN_ACTION, OFFER_CLOSED
from aerowire.memory.buffers cimport borrow_bytes

cdef enum:
    PREFIX_LENGTH = 32          # SBE_HEADER_LENGTH + SESSION_MESSAGE_HEADER_BLOCK_LENGTH
    UNLOCKED_LENGTH = 65536     # a longer message is left to the general form of an offer

SESSION_HEADER_LENGTH = SBE_HEADER_LENGTH + SESSION_MESSAGE_HEADER_BLOCK_LENGTH


cdef void write_header(uint8_t* header, int64_t cluster_session_id, int64_t leadership_term_id, int64_t timestamp) noexcept:
    memset(header, 0, PREFIX_LENGTH)
    header_set_block_length(header, SESSION_MESSAGE_HEADER_BLOCK_LENGTH)
    header_set_template_id(header, SESSION_MESSAGE_HEADER_TEMPLATE_ID)
    header_set_schema_id(header, SBE_SCHEMA_ID)
    header_set_version(header, SBE_SCHEMA_VERSION)
    session_message_header_set_cluster_session_id(header + SBE_HEADER_LENGTH, cluster_session_id)
    session_message_header_set_leadership_term_id(header + SBE_HEADER_LENGTH, leadership_term_id)
    session_message_header_set_timestamp(header + SBE_HEADER_LENGTH, timestamp)


cdef int64_t offer_behind(const uint8_t* header, PublicationBase publication, buffer, offset, length) except? -99:
    cdef Part parts[2]
    cdef Py_buffer view
    cdef Py_ssize_t begin = int64_of("offset", offset), part
    borrow_bytes(buffer, &view)
    try:
        part = view.len - begin if length is None else int64_of("length", length)
        if begin < 0 or part < 0 or part > view.len - begin:
            raise ValueError(f"offset {begin} and length {length} do not fit a buffer of {view.len} bytes")
        parts[0].address = header
        parts[0].length = PREFIX_LENGTH
        parts[1].address = <const uint8_t*>view.buf + begin
        parts[1].length = part
        return publication.offer_gathered(parts, 2, None)
    finally:
        PyBuffer_Release(&view)


@cython.final
cdef class IngressSessionDecorator:
    """A session header that is put before what is offered to an ingress publication of the application's own.

    Its two numbers are those of the session and of the leader's term; they may be set. Aeron: IngressSessionDecorator.
    """

    cdef uint8_t _header[PREFIX_LENGTH]

    def __init__(self, int64_t cluster_session_id=-1, int64_t leadership_term_id=-1):
        write_header(self._header, cluster_session_id, leadership_term_id, -1)

    @property
    def cluster_session_id(self):
        """Number of the session."""
        return session_message_header_cluster_session_id(self._header + SBE_HEADER_LENGTH)

    @cluster_session_id.setter
    def cluster_session_id(self, int64_t value):
        session_message_header_set_cluster_session_id(self._header + SBE_HEADER_LENGTH, value)

    @property
    def leadership_term_id(self):
        """Number of the leader's term."""
        return session_message_header_leadership_term_id(self._header + SBE_HEADER_LENGTH)

    @leadership_term_id.setter
    def leadership_term_id(self, int64_t value):
        session_message_header_set_leadership_term_id(self._header + SBE_HEADER_LENGTH, value)

    def offer(self, PublicationBase publication not None, buffer, offset=0, length=None):
        """Offer the header and a message, or the chosen part of a buffer, as one message; results and errors as `Publication.offer`."""
        if publication.handle_state != STATE_OPEN:
            publication.raise_not_open()
        return offer_behind(self._header, publication, buffer, offset, length)


cdef class SessionIngress:
    """The ingress of one session: the publication to the leader, and the header of its messages. Belongs to one thread at a time.

    A subclass sets the leader, and gets the results of offers other than positions.
    """

    cdef uint8_t _header[PREFIX_LENGTH]
    cdef PublicationBase _publication       # None while there is no leader
    cdef Numbers _numbers                   # positions that offer() returned
    cdef object __weakref__

    def __init__(self, int64_t cluster_session_id):
        write_header(self._header, cluster_session_id, -1, 0)

    def __dealloc__(self):
        numbers_clear(&self._numbers)

    @property
    def cluster_session_id(self):
        """Number by which the cluster knows the session; it stays over elections."""
        return session_message_header_cluster_session_id(self._header + SBE_HEADER_LENGTH)

    @property
    def leadership_term_id(self):
        """Number of the leader's term, as the client knows it."""
        return session_message_header_leadership_term_id(self._header + SBE_HEADER_LENGTH)

    @property
    def ingress_publication(self):
        """The publication to the leader; None while there is none. What is offered to it directly needs the session header before it."""
        return self._publication

    @cython.embedsignature(True)
    @cython.embedsignature.format("clinic")
    @cython.binding(False)      # called as a plain C function: some 15 ns less a message
    def offer(self, buffer, offset=0, length=None):
        """Offer a message to the cluster, without waiting.

        `buffer` is any contiguous buffer; bytes are quickest. `offset` and `length` choose a part of it in bytes. Returns the position in
        the ingress stream, or a negative reason why nothing was sent: BACK_PRESSURED (try again), ADMIN_ACTION (try again at once),
        NOT_CONNECTED (no leader: poll the egress and try again), MAX_POSITION_EXCEEDED (the session ends). A position says that the message
        is on its way, and not that the cluster has taken it. Raises ClosedError when closed, MessageTooLongError.
        """
        cdef int64_t result
        if self._publication is None:
            return self.result_without_leader()
        if self._publication.handle_state == STATE_CLOSED:
            result = OFFER_CLOSED
        elif self._publication.handle_state != STATE_OPEN:
            return self._publication.raise_not_open()
        else:
            result = offer_behind(self._header, self._publication, buffer, offset, length)
        self.track(result)
        return result

    def offer_parts(self, *buffers):
        """Offer one message made of several buffers, gathered without an intermediate copy; results and errors as `offer`."""
        cdef int64_t result
        if self._publication is None:
            return self.result_without_leader()
        if self._publication.handle_state == STATE_CLOSED:
            result = OFFER_CLOSED
        else:
            result = self._publication.offer_parts(self._header[:PREFIX_LENGTH], *buffers)
        self.track(result)
        return result

    def offer_many(self, messages):
        """Offer the buffers of a sequence, each as a message of its own, with one call.

        Returns how many were sent, in order from the first; when not even one was, the reason as in `offer`. Offer the rest again later:
        `messages[sent:]`. Raises as `offer`; what stood before a message that is too long has been sent.
        """
        cdef int64_t result = 0
        cdef Py_ssize_t sent = 0
        if self._publication is None:
            return self.result_without_leader()
        for message in messages:
            if self._publication.handle_state != STATE_OPEN:
                result = self.offer(message)    # which says why
            else:
                result = offer_behind(self._header, self._publication, message, 0, None)
                if result == OFFER_ADMIN_ACTION:    # the term was turned over
                    result = offer_behind(self._header, self._publication, message, 0, None)
            if result <= 0:
                break
            sent += 1
        self.track(result)
        return sent if sent > 0 else result

    def try_claim(self, length):
        """Claim space for a message of `length` bytes, to be written in place; the session header stands before it already.

        Returns a BufferClaim as `Publication.try_claim` does. The longest is `ingress_publication.max_payload_length` less
        SESSION_HEADER_LENGTH.
        """
        cdef BufferClaim claim
        cdef int64_t wanted = int64_of("length", length)
        if wanted < 0 or wanted > INT32_MAX - PREFIX_LENGTH:
            raise ValueError(f"length of a claim is out of range: {wanted}")
        if self._publication is None:
            return new_claim(NULL, self.result_without_leader(), <int32_t>wanted, None)
        if self._publication.handle_state == STATE_CLOSED:
            claim = new_claim(NULL, OFFER_CLOSED, <int32_t>wanted, self._publication)
        else:
            claim = self._publication.try_claim(wanted + PREFIX_LENGTH)
            if claim:
                claim.put_prefix(self._header, PREFIX_LENGTH)
        self.track(claim.result)
        return claim

    def track_ingress_publication_result(self, result):
        """Subclass: take the result of an offer."""

    def result_without_leader(self):
        """Subclass: return the result of an offer without a leader, or raise an error if there will never be one."""
        return OFFER_CLOSED

    def set_leader(self, PublicationBase publication, int64_t leadership_term_id):
        """Send to a leader from now on, in its term; None: there is no leader."""
        self._publication = publication
        session_message_header_set_leadership_term_id(self._header + SBE_HEADER_LENGTH, leadership_term_id)

    cdef inline int track(self, int64_t result) except -1:
        if result <= 0:
            self.track_ingress_publication_result(result)
        return 0


cdef FastFunction _general_offer


cdef PyObject* offer_whole(PyObject* self, PyObject** arguments, Py_ssize_t count, PyObject* names) noexcept:
    # offer(message) with bytes, which an open publication takes; everything else, refusals too, is for offer() itself
    cdef SessionIngress ingress = <SessionIngress>self
    cdef PublicationBase publication = ingress._publication
    cdef Part parts[2]
    cdef int64_t result
    if (count == 1 and names is NULL and publication is not None and publication.handle_state == STATE_OPEN
            and PyBytes_CheckExact(<object>arguments[0])
            and PyBytes_GET_SIZE(<object>arguments[0]) < UNLOCKED_LENGTH):
        parts[0].address = ingress._header
        parts[0].length = PREFIX_LENGTH
        parts[1].address = <const uint8_t*>PyBytes_AS_STRING(<object>arguments[0])
        parts[1].length = PyBytes_GET_SIZE(<object>arguments[0])
        result = publication.append_parts(parts, 2, NULL, NULL)
        if result > 0:
            return number_of(&ingress._numbers, result)
    return _general_offer(self, arguments, count, names)


_general_offer = precede(SessionIngress, "offer", offer_whole)
