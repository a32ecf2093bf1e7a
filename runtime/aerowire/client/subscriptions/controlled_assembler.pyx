"""Whole messages from fragments, for handlers that say how the poll goes on. Aeron: ControlledFragmentAssembler, ImageControlledFragmentAssembler.

When the delegate answers ABORT to a message of several fragments, its last fragment is taken back and comes again with the next poll.
"""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t

from aerowire.base.whole_numbers cimport int32_of
from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_BEGIN, DATA_FLAGS_END, DATA_FLAGS_UNFRAGMENTED, data_header_flags)

from aerowire.client.subscriptions.actions import Action
from aerowire.client.subscriptions.assembler import check_arguments

cdef object ABORT = Action.ABORT
cdef object CONTINUE = Action.CONTINUE


cdef object accept_controlled(MessageBuilder builder, object delegate, Header header):
    # a fragment that is not a message's first
    cdef int64_t limit, framed_length
    cdef int32_t next_term_offset
    if builder is None:
        return CONTINUE
    limit = builder.limit
    framed_length = builder.framed_length
    next_term_offset = builder.next_term_offset
    if not builder.accept_next(header) or not data_header_flags(header.frame) & DATA_FLAGS_END:
        return CONTINUE
    complete = builder.complete(header)
    action = delegate(builder.view, 0, builder.limit, complete)
    if action is ABORT:
        builder.take_back(limit, framed_length, next_term_offset)
    return action


@cython.final
cdef class ControlledFragmentAssembler:
    """A controlled fragment handler that calls `delegate(buffer, offset, length, header)` with whole messages and returns its Action.

    For `controlled_poll`; else as FragmentAssembler. Belongs to one thread.
    """

    def __init__(self, delegate, initial_buffer_length=0):
        self.initial_buffer_length = check_arguments(delegate, initial_buffer_length)
        self.delegate = delegate
        self._builders = {}

    def __call__(self, buffer, offset, length, Header header not None):
        cdef int32_t session_id
        cdef uint8_t flags
        cdef MessageBuilder builder
        header.require_frame()
        flags = data_header_flags(header.frame)
        if flags & DATA_FLAGS_UNFRAGMENTED == DATA_FLAGS_UNFRAGMENTED:
            return self.delegate(buffer, offset, length, header)
        session_id = header.builder_key
        builder = self._builders.get(session_id)
        if not flags & DATA_FLAGS_BEGIN:
            return accept_controlled(builder, self.delegate, header)
        if builder is None:
            builder = self._builders[session_id] = MessageBuilder()
        builder.begin(header, self.initial_buffer_length)
        return CONTINUE

    def free_session_buffer(self, session_id):
        """Forget what was collected for a session and free its memory; return whether there was anything."""
        return self._builders.pop(int32_of("session_id", session_id), None) is not None

    def clear(self):
        """Forget everything collected and free the memory."""
        self._builders.clear()


@cython.final
cdef class ImageControlledFragmentAssembler:
    """A ControlledFragmentAssembler for the polls of one image: it keeps one buffer and looks nobody up."""

    def __init__(self, delegate, initial_buffer_length=0):
        self.initial_buffer_length = check_arguments(delegate, initial_buffer_length)
        self.delegate = delegate

    def __call__(self, buffer, offset, length, Header header not None):
        cdef uint8_t flags
        header.require_frame()
        flags = data_header_flags(header.frame)
        if flags & DATA_FLAGS_UNFRAGMENTED == DATA_FLAGS_UNFRAGMENTED:
            return self.delegate(buffer, offset, length, header)
        if not flags & DATA_FLAGS_BEGIN:
            return accept_controlled(self._builder, self.delegate, header)
        if self._builder is None:
            self._builder = MessageBuilder()
        self._builder.begin(header, self.initial_buffer_length)
        return CONTINUE

    def clear(self):
        """Forget what was collected and free the memory."""
        self._builder = None
