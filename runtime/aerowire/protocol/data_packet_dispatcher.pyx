"""Which streams and sessions a receive endpoint wants, and what it knows of each session. No frames, addresses or images inside."""

from libc.stdint cimport int32_t, int64_t, uintptr_t

cimport cython

from aerowire.protocol.pointer_map cimport PointerEntry, PointerMap, pair_key

DROP = DISPATCH_DROP
IMAGE = DISPATCH_IMAGE
ELICIT = DISPATCH_ELICIT
CREATE = DISPATCH_CREATE
LIMIT = DISPATCH_LIMIT
BUSY = DISPATCH_BUSY
SESSIONS_REFUSED = REFUSAL_SESSIONS
IMAGES_REFUSED = REFUSAL_IMAGES
RATE_REFUSED = REFUSAL_RATE
TABLE_REFUSED = REFUSAL_TABLE
ASKING_REFUSED = REFUSAL_ASKING
BEING_MADE_MAX = IMAGES_BEING_MADE_MAX
SESSIONS_MAX = DISPATCHER_SESSIONS_MAX
PENDING_SETUP = SESSION_PENDING_SETUP
INIT_IN_PROGRESS = SESSION_INIT_IN_PROGRESS
COOL_DOWN = SESSION_COOL_DOWN

cdef void* MARK = <void*>1          # value of entries that need none


@cython.final
cdef class DataPacketDispatcher:
    """States of sessions: none -> pending set-up -> init in progress -> active -> cool-down -> none. Aeron: DataPacketDispatcher.

    Data of an unknown wanted session asks for a set-up once; a set-up makes an image once. Images that lost their last subscription
    are handed out by poll_orphan. Of sessions that nobody wants nothing is remembered, however many there are.
    `session_limit` bounds the images of a stream, `image_limit` those of all streams, of which a stream gets no more than it leaves to the
    others, and `image_rate` those begun in a second (0: no bound). An image counts from the set-up that asks for it.
    Invariant: a session is active exactly while it has an image here; image_count is the number of sessions that are active or wait for
    their image, and `_places` counts them by stream.
    """

    def __cinit__(self, *, session_limit=None, image_limit=None, int64_t image_rate=0):
        self._streams = PointerMap(DISPATCHER_STREAMS_MAX)
        self._subscribed = PointerMap(DISPATCHER_SESSIONS_MAX)
        self._sessions = PointerMap(DISPATCHER_SESSIONS_MAX)
        self._places = PointerMap(DISPATCHER_STREAMS_MAX)
        self._making = SessionAdmission(rate=image_rate)
        self._asking = SessionAdmission(rate=SETUP_REQUESTS_PER_SECOND)
        self._session_limit = DISPATCHER_SESSIONS_MAX if session_limit is None else session_limit
        self._image_limit = DISPATCHER_SESSIONS_MAX if image_limit is None else image_limit

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
            self._forget_stream(stream_id)
        return True

    cpdef bint remove_session(self, int32_t stream_id, int32_t session_id) noexcept nogil:
        """Want a session no longer; return False when the stream is unknown. Then call poll_orphan until it returns False."""
        cdef PointerEntry* stream = self._streams.find(stream_id)
        if stream is NULL:
            return False
        if self._subscribed.remove(pair_key(stream_id, session_id)):
            stream.value = <void*>(<uintptr_t>stream.value - 1)
        if stream.state == 0 and stream.value == MARK:
            self._forget_stream(stream_id)
        return True

    cpdef bint poll_orphan(self) noexcept nogil:
        """Forget the next session that nobody wants; True when it had an image, which `image` then holds."""
        cdef PointerEntry* session
        cdef PointerEntry* stream
        cdef int32_t stream_id, session_id
        cdef bint had_image
        while True:
            session = self._sessions.next_entry(&self._orphan_cursor)
            if session is NULL:
                self._orphan_cursor = 0
                return False
            stream_id = <int32_t>(session.key >> 32)
            session_id = <int32_t>session.key
            stream = self._streams.find(stream_id)
            if stream is not NULL and self._wanted(stream_id, session_id, stream.state):
                continue
            had_image = session.state == SESSION_ACTIVE
            self.image = <uintptr_t>session.value if had_image else 0
            self._remove(session)
            self._orphan_cursor -= 1        # another entry may have moved here
            if had_image:
                return True

    cpdef int on_data(self, int32_t stream_id, int32_t session_id, bint end_of_stream, int64_t now_ns=0) noexcept nogil:
        """Return DROP, IMAGE, ELICIT or LIMIT for a data frame."""
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
        self.refusal = REFUSAL_ASKING
        if not self._asking.admit(stream_id, session_id, now_ns):
            return DISPATCH_LIMIT
        return DISPATCH_ELICIT if self._set_state(key, SESSION_PENDING_SETUP) else DISPATCH_LIMIT

    cpdef int on_setup(self, int32_t stream_id, int32_t session_id, int64_t now_ns=0) noexcept nogil:
        """Return DROP, IMAGE (known already), CREATE, LIMIT or BUSY for a set-up frame."""
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
        if self._is_busy(stream_id, session_id, now_ns):
            return DISPATCH_BUSY
        self.refusal = self._limit_reached(stream_id, session_id, now_ns)
        if self.refusal:
            return DISPATCH_LIMIT
        if not self._set_state(key, SESSION_INIT_IN_PROGRESS):
            self.refusal = REFUSAL_TABLE
            return DISPATCH_LIMIT
        self._take_place(stream_id)
        self._count_making(stream_id, 1)
        return DISPATCH_CREATE

    cpdef uintptr_t find_image(self, int32_t stream_id, int32_t session_id) noexcept nogil:
        """Return the image of a session, 0 when it has none."""
        cdef PointerEntry* session = self._sessions.find(pair_key(stream_id, session_id))
        return <uintptr_t>session.value if session is not NULL and session.state == SESSION_ACTIVE else 0

    cpdef bint add_image(self, int32_t stream_id, int32_t session_id, uintptr_t image) noexcept nogil:
        """Deliver a session to `image` (not 0) from now on; False when the stream is no longer wanted."""
        cdef int64_t key = pair_key(stream_id, session_id)
        cdef PointerEntry* session
        if self._streams.find(stream_id) is NULL:
            return False
        session = self._put(key, <void*>image)
        if session is NULL:
            return False
        if session.state == SESSION_INIT_IN_PROGRESS:
            self._count_making(stream_id, -1)
        elif session.state != SESSION_ACTIVE:
            self._take_place(stream_id)
        session.state = SESSION_ACTIVE
        return True

    cpdef void remove_image(self, int32_t stream_id, int32_t session_id, uintptr_t image, bint end_of_stream) noexcept nogil:
        """An image takes no more; unless its stream ended, the session cools down until forget_session."""
        cdef int64_t key = pair_key(stream_id, session_id)
        cdef PointerEntry* session = self._sessions.find(key)
        if session is NULL or session.state != SESSION_ACTIVE or <uintptr_t>session.value != image:
            return
        if end_of_stream:
            self._remove(session)
        else:
            self._leave_place(stream_id)
            session.value = MARK
            session.state = SESSION_COOL_DOWN

    cpdef void forget_session(self, int32_t stream_id, int32_t session_id, int state) noexcept nogil:
        """Forget what is known of a session if it is in `state`."""
        cdef int64_t key = pair_key(stream_id, session_id)
        cdef PointerEntry* session = self._sessions.find(key)
        if session is not NULL and session.state == state and state != SESSION_ACTIVE:
            self._remove(session)

    cpdef bint is_empty(self) noexcept nogil:
        """Return whether no stream is wanted."""
        return self._streams.count == 0

    cdef bint _wanted(self, int32_t stream_id, int32_t session_id, int all_sessions) noexcept nogil:
        return all_sessions != 0 or self._subscribed.find(pair_key(stream_id, session_id)) is not NULL

    cdef int _limit_reached(self, int32_t stream_id, int32_t session_id, int64_t now_ns) noexcept nogil:
        cdef PointerEntry* places = self._places.find(stream_id)
        cdef int64_t taken = 0 if places is NULL else places.state
        if taken >= self._session_limit:
            return REFUSAL_SESSIONS
        if taken >= self._image_limit - self.image_count:
            return REFUSAL_IMAGES
        return 0 if self._making.admit(stream_id, session_id, now_ns) else REFUSAL_RATE

    cdef bint _is_busy(self, int32_t stream_id, int32_t session_id, int64_t now_ns) noexcept nogil:
        # By the same shares as the rate: a stream leaves as much room as it takes, and twice that to sessions that come again.
        cdef PointerEntry* places = self._places.find(stream_id)
        cdef int64_t making = 0 if places is NULL else <int64_t><uintptr_t>places.value - 1
        cdef int64_t room = IMAGES_BEING_MADE_MAX - self.being_made
        if room > 0 and making <= room >> 1:
            return False
        return not self._making.is_repeated(stream_id, session_id, now_ns) or room <= 0 or making > room

    cdef void _count_making(self, int32_t stream_id, int change) noexcept nogil:
        cdef PointerEntry* places = self._places.find(stream_id)
        self.being_made += change
        if places is not NULL:
            places.value = <void*>(<uintptr_t>places.value + change)

    cdef bint _set_state(self, int64_t key, int state) noexcept nogil:
        cdef PointerEntry* session = self._put(key, MARK)
        if session is NULL:
            return False
        session.state = state
        return True

    cdef PointerEntry* _put(self, int64_t key, void* value) noexcept nogil:
        cdef PointerEntry* session = self._sessions.put(key, value)
        if session is NULL and self._evict():
            session = self._sessions.put(key, value)
        return session

    cdef bint _evict(self) noexcept nogil:
        # A full table forgets a session that cools down: it may join again too early, and no other is shut out for good.
        cdef PointerEntry* session
        cdef int i
        for i in range(EVICTION_STEPS):
            session = self._sessions.next_entry(&self._eviction_cursor)
            if session is NULL:
                self._eviction_cursor = 0
            elif session.state == SESSION_COOL_DOWN:
                self._remove(session)
                return True
        return False

    cdef void _remove(self, PointerEntry* session) noexcept nogil:
        if session.state == SESSION_INIT_IN_PROGRESS:
            self._count_making(<int32_t>(session.key >> 32), -1)
        if session.state in (SESSION_INIT_IN_PROGRESS, SESSION_ACTIVE):
            self._leave_place(<int32_t>(session.key >> 32))
        self._sessions.remove(session.key)

    cdef void _take_place(self, int32_t stream_id) noexcept nogil:
        cdef PointerEntry* places = self._places.find(stream_id)
        if places is NULL:
            places = self._places.put(stream_id, MARK)
        self.image_count += 1
        if places is not NULL:
            places.state += 1

    cdef void _leave_place(self, int32_t stream_id) noexcept nogil:
        cdef PointerEntry* places = self._places.find(stream_id)
        self.image_count -= 1
        if places is not NULL:
            places.state -= 1
            if places.state == 0:
                self._places.remove(stream_id)

    cdef void _forget_stream(self, int32_t stream_id) noexcept nogil:
        self._streams.remove(stream_id)
        self._making.forget_stream(stream_id)
        self._asking.forget_stream(stream_id)
