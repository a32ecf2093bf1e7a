"""Flow control that waits for the slowest receiver with a certain tag; the others take what they can."""

from libc.stdint cimport int32_t, int64_t, uint8_t

cimport cython

from aerowire.codecs.native.transport cimport (
    ERROR_FLAGS_HAS_GROUP_TAG, GROUP_TAG_LEGACY_LENGTH, GROUP_TAG_LENGTH, STATUS_MESSAGE_GROUP_TAG_OFFSET, STATUS_MESSAGE_LENGTH,
    error_frame_flags, error_frame_group_tag, status_message_frame_length, status_message_group_tag)


@cython.final
cdef class TaggedFlowControl(MinFlowControl):
    """MinFlowControl of the receivers whose tag is `group_tag`. Aeron: TaggedMulticastFlowControl.

    Status messages carry 8 bytes of tag, or the older 4 bytes of feedback that call a receiver preferred, whatever the tag: `legacy_tag`,
    little endian.
    """

    def __cinit__(self, int32_t retransmit_window_multiple, int32_t initial_window_length, *, int64_t group_tag, int32_t legacy_tag=-1, **others):
        self._group_tag = group_tag
        self._legacy_tag = legacy_tag

    cdef bint is_member(self, const uint8_t* status_message) noexcept nogil:
        cdef int32_t length = status_message_frame_length(status_message) - STATUS_MESSAGE_LENGTH
        cdef int i
        if length == GROUP_TAG_LENGTH:
            return status_message_group_tag(status_message) == self._group_tag
        if length < GROUP_TAG_LEGACY_LENGTH:
            return False
        for i in range(GROUP_TAG_LEGACY_LENGTH):
            if status_message[STATUS_MESSAGE_GROUP_TAG_OFFSET + i] != <uint8_t>(self._legacy_tag >> 8 * i):
                return False
        return True

    cdef bint is_member_error(self, const uint8_t* error_frame) noexcept nogil:
        return (error_frame_flags(error_frame) & ERROR_FLAGS_HAS_GROUP_TAG) != 0 and error_frame_group_tag(error_frame) == self._group_tag
