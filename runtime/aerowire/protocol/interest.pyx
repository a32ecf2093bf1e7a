"""Which streams and sessions a receive endpoint wants, and what it knows of each session. No frames, addresses or images inside."""

from libc.stdint cimport int32_t, int64_t, uintptr_t

cimport cython

from aerowire.protocol.pointer_map cimport PointerEntry, PointerMap, pair_key

DROP = DISPATCH_DROP
IMAGE = DISPATCH_IMAGE
ELICIT = DISPATCH_ELICIT
CREATE = DISPATCH_CREATE
LIMIT = DISPATCH_LIMIT
PENDING_SETUP = SESSION_PENDING_SETUP
INIT_IN_PROGRESS = SESSION_INIT_IN_PROGRESS
COOL_DOWN = SESSION_COOL_DOWN

cdef void* MARK = <void*>1          # value of entries that need none


@cython.final
cdef class InterestTable:
    """States of sessions: none -> pending set-up -> init in progress -> active -> cool-down -> none. Aeron: DataPacketDispatcher.

    Data of an unknown wanted session asks for a set-up once; a set-up makes an image once. Images that lost their last subscription
    are handed out by poll_orphan. Of sessions that nobody wants nothing is remembered, however many there are.
    Invariant: a session is active exactly while it has an image here.
    """

    def __cinit__(self, *, session_limit=None):
        self._streams = PointerMap(INTEREST_STREAMS_MAX)
        self._subscribed = PointerMap(INTEREST_SESSIONS_MAX)
        self._sessions = PointerMap(INTEREST_SESSIONS_MAX)
        self._session_limit = INTEREST_SESSIONS_MAX if session_limit is None else session_limit

    cpdef bint add_stream(self, int32_t stream_id) noexcept nogil:
        """Want every session of a stream; return False when the table is full."""
        cdef PointerEntry* stream = self._streams.find(stream_id)
        if stream is NULL:
            stream = self._streams.put(stream_id, MARK)
            if stream is NULL:
                return False
        stream.state = 1
        return True

    cpdef bint add_session(self, int32_t stream_id, int32_t session_id) noexcept nogil:
        """Want one session of a stream; return False when the table is full."""
        cdef int64_t key = pair_key(stream_id, session_id)
        cdef PointerEntry* stream = self._streams.find(stream_id)
        if stream is NULL:
            stream = self._streams.put(stream_id, MARK)
        if stream is NULL:
            return False
        if self._subscribed.find(key) is NULL:
            if self._subscribed.put(key, MARK) is NULL:
                return False
            stream.value = <void*>(<uintptr_t>stream.value + 1)
        return True

    cpdef bint remove_stream(self, int32_t stream_id) noexcept nogil:
        """Want no longer every session; return False when that was not so. Then call poll_orphan until it returns False."""
        cdef PointerEntry* stream = self._streams.find(stream_id)
        if stream is NULL:
            return False
        stream.state = 0
        if stream.value == MARK:
            self._streams.remove(stream_id)
        return True

    cpdef bint remove_session(self, int32_t stream_id, int32_t session_id) noexcept nogil:
        """Want a session no longer; return False when the stream is unknown. Then call poll_orphan until it returns False."""
        cdef PointerEntry* stream = self._streams.find(stream_id)
        if stream is NULL:
            return False
        if self._subscribed.remove(pair_key(stream_id, session_id)):
            stream.value = <void*>(<uintptr_t>stream.value - 1)
        if stream.state == 0 and stream.value == MARK:
            self._streams.remove(stream_id)
        return True

    cpdef bint poll_orphan(self) noexcept nogil:
        """Forget the next session that nobody wants; True when it had an image, which `image` then holds."""
        cdef int cursor = 0
        cdef PointerEntry* session
        cdef PointerEntry* stream
        cdef int32_t stream_id, session_id
        cdef bint had_image
        while True:
            session = self._sessions.next_entry(&cursor)
            if session is NULL:
                return False
            stream_id = <int32_t>(session.key >> 32)
            session_id = <int32_t>session.key
            stream = self._streams.find(stream_id)
            if stream is not NULL and self._wanted(stream_id, session_id, stream.state):
                continue
            had_image = session.state == SESSION_ACTIVE
            self.image = <uintptr_t>session.value if had_image else 0
            self._sessions.remove(session.key)
            if had_image:
                return True
            cursor = 0

    cpdef int on_data(self, int32_t stream_id, int32_t session_id, bint end_of_stream) noexcept nogil:
        """Return DROP, IMAGE or ELICIT for a data frame."""
        cdef int64_t key
        cdef PointerEntry* stream = self._streams.find(stream_id)
        cdef PointerEntry* session
        if stream is NULL:
            return DISPATCH_DROP
        key = pair_key(stream_id, session_id)
        session = self._sessions.find(key)
        if session is not NULL:
            if session.state == SESSION_ACTIVE:
                self.image = <uintptr_t>session.value
                return DISPATCH_IMAGE
            return DISPATCH_DROP
        if end_of_stream or not self._wanted(stream_id, session_id, stream.state):
            return DISPATCH_DROP
        self._set_state(key, SESSION_PENDING_SETUP)
        return DISPATCH_ELICIT if self._sessions.find(key) is not NULL else DISPATCH_DROP

    cpdef int on_setup(self, int32_t stream_id, int32_t session_id) noexcept nogil:
        """Return DROP, IMAGE (known already), CREATE or LIMIT for a set-up frame."""
        cdef int64_t key
        cdef PointerEntry* stream = self._streams.find(stream_id)
        cdef PointerEntry* session
        if stream is NULL:
            return DISPATCH_DROP
        key = pair_key(stream_id, session_id)
        session = self._sessions.find(key)
        if session is not NULL and session.state == SESSION_ACTIVE:
            self.image = <uintptr_t>session.value
            return DISPATCH_IMAGE
        if session is not NULL and session.state != SESSION_PENDING_SETUP:
            return DISPATCH_DROP
        if session is NULL and not self._wanted(stream_id, session_id, stream.state):
            return DISPATCH_DROP
        if self._active_sessions(stream_id) >= self._session_limit:
            return DISPATCH_LIMIT
        self._set_state(key, SESSION_INIT_IN_PROGRESS)
        return DISPATCH_CREATE if self._sessions.find(key) is not NULL else DISPATCH_LIMIT

    cpdef uintptr_t find_image(self, int32_t stream_id, int32_t session_id) noexcept nogil:
        """Return the image of a session, 0 when it has none."""
        cdef PointerEntry* session = self._sessions.find(pair_key(stream_id, session_id))
        return <uintptr_t>session.value if session is not NULL and session.state == SESSION_ACTIVE else 0

    cpdef bint add_image(self, int32_t stream_id, int32_t session_id, uintptr_t image) noexcept nogil:
        """Deliver a session to `image` (not 0) from now on; False when the stream is no longer wanted."""
        cdef PointerEntry* session
        if self._streams.find(stream_id) is NULL:
            return False
        session = self._sessions.put(pair_key(stream_id, session_id), <void*>image)
        if session is NULL:
            return False
        session.state = SESSION_ACTIVE
        return True

    cpdef void remove_image(self, int32_t stream_id, int32_t session_id, uintptr_t image, bint end_of_stream) noexcept nogil:
        """An image takes no more; unless its stream ended, the session cools down until forget_session."""
        cdef int64_t key = pair_key(stream_id, session_id)
        cdef PointerEntry* session = self._sessions.find(key)
        if session is NULL or session.state != SESSION_ACTIVE or <uintptr_t>session.value != image:
            return
        if end_of_stream:
            self._sessions.remove(key)
        else:
            session.value = MARK
            session.state = SESSION_COOL_DOWN

    cpdef void forget_session(self, int32_t stream_id, int32_t session_id, int state) noexcept nogil:
        """Forget what is known of a session if it is in `state`."""
        cdef int64_t key = pair_key(stream_id, session_id)
        cdef PointerEntry* session = self._sessions.find(key)
        if session is not NULL and session.state == state and state != SESSION_ACTIVE:
            self._sessions.remove(key)

    cpdef bint is_empty(self) noexcept nogil:
        """Return whether no stream is wanted."""
        return self._streams.count == 0

    cdef bint _wanted(self, int32_t stream_id, int32_t session_id, int all_sessions) noexcept nogil:
        return all_sessions != 0 or self._subscribed.find(pair_key(stream_id, session_id)) is not NULL

    cdef int64_t _active_sessions(self, int32_t stream_id) noexcept nogil:
        cdef int cursor = 0
        cdef int64_t active = 0
        cdef PointerEntry* session = self._sessions.next_entry(&cursor)
        while session is not NULL:
            if session.state == SESSION_ACTIVE and <int32_t>(session.key >> 32) == stream_id:
                active += 1
            session = self._sessions.next_entry(&cursor)
        return active

    cdef void _set_state(self, int64_t key, int state) noexcept nogil:
        cdef PointerEntry* session = self._sessions.put(key, MARK)
        if session is not NULL:
            session.state = state
