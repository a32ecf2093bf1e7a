"""The common case of finding frames in datagrams: those that obey every rule, one look at each datagram.

Every datagram with anything odd about it is left to `frames`, which knows all rules and says which one was broken.  It comes to the same
result for the simple ones: the two are compared by the tests.  Where fields stand is told by the caller, who has it from the generated
codecs.
"""

import numpy as np

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

cdef extern from *:
    void prefetch_read "__builtin_prefetch"(const uint8_t* address) noexcept nogil

cdef enum:
    AHEAD = 12                  # datagrams whose headers are on their way from memory
    NO_RULE = 0                 # what the fields of a kind of control frame must obey
    SETUP_RULE = 1
    SM_RULE = 2
    NAK_RULE = 3
    LEFT_RULE = 4
    CONTROL_WIDTH = 5           # length, rule, places of up to three fields

ctypedef struct Layout:
    int64_t length_at
    int64_t version_at
    int64_t type_at
    int64_t offset_at
    int64_t header_min          # of any frame
    int64_t header_length       # of DATA and PAD
    int64_t alignment
    int64_t term_length_max
    int64_t version
    int64_t data_type
    int64_t pad_type
    int64_t term_length_min
    int64_t mtu_min
    int64_t mtu_max
    int64_t kinds
    const int64_t* controls     # (kinds, CONTROL_WIDTH)

ctypedef struct Frames:
    int64_t* owners
    int64_t* offsets
    int64_t* indexes
    int64_t* types
    int64_t count


cdef inline int64_t read_i32(const uint8_t* at) noexcept nogil:
    cdef int32_t value
    memcpy(&value, at, 4)
    return value


cdef inline int64_t read_i16(const uint8_t* at) noexcept nogil:
    cdef int16_t value
    memcpy(&value, at, 2)
    return value


cdef inline bint is_in_term(int64_t offset, int64_t term_length, const Layout* layout) noexcept nogil:
    return 0 <= offset < term_length and offset & (layout.alignment - 1) == 0


cdef inline bint obeys(const uint8_t* frame, const int64_t* control, const Layout* layout) noexcept nogil:
    """Whether the fields of a control frame are in their ranges."""
    cdef int64_t offset, length, mtu
    if control[1] == NO_RULE:
        return True
    if control[1] == LEFT_RULE:
        return False
    offset, length = read_i32(frame + control[2]), read_i32(frame + control[3])
    if control[1] == SM_RULE:
        return is_in_term(offset, layout.term_length_max, layout) and 0 <= length <= layout.term_length_max // 2
    if control[1] == NAK_RULE:
        return is_in_term(offset, layout.term_length_max, layout) and length >= 0 and offset + length <= layout.term_length_max
    mtu = read_i32(frame + control[4])
    if length < layout.term_length_min or length > layout.term_length_max or length & (length - 1) or not is_in_term(offset, length, layout):
        return False
    return layout.mtu_min <= mtu <= layout.mtu_max and mtu & (layout.alignment - 1) == 0


cdef inline bint is_control(const uint8_t* data, int64_t start, int64_t sent, int64_t captured_end, int64_t kind, const Layout* layout) noexcept nogil:
    """Whether a datagram is one whole control frame that obeys every rule."""
    cdef const int64_t* control
    if kind < 0 or kind >= layout.kinds:
        return False
    control = layout.controls + kind * CONTROL_WIDTH
    if control[0] == 0 or sent < control[0] or captured_end - start < control[0] or read_i32(data + start + layout.length_at) != sent:
        return False
    return obeys(data + start, control, layout)


cdef inline bint walk(const uint8_t* data, int64_t owner, int64_t start, int64_t sent, int64_t captured_end, const Layout* layout,
                      Frames* out) noexcept nogil:
    """Append a datagram's frames; return False, without frames, where a rule is broken or doubtful."""
    cdef int64_t at = start, end = start + sent, index = 0, first = out.count
    cdef int64_t length, kind, offset, aligned, expected = -1
    cdef bint is_heartbeat
    if captured_end - start < layout.header_min or data[start + layout.version_at] != layout.version:
        return False
    kind = read_i16(data + start + layout.type_at)
    if kind != layout.data_type and kind != layout.pad_type:
        if not is_control(data, start, sent, captured_end, kind, layout):
            return False
        out.owners[first], out.offsets[first], out.indexes[first], out.types[first] = owner, start, 0, kind
        out.count += 1
        return True
    if captured_end - start < layout.header_length or sent & (layout.alignment - 1):
        return False
    while True:
        length, kind, offset = read_i32(data + at + layout.length_at), read_i16(data + at + layout.type_at), read_i32(data + at + layout.offset_at)
        if kind != layout.data_type and kind != layout.pad_type:
            break
        aligned = (length + layout.alignment - 1) & -layout.alignment
        is_heartbeat = index == 0 and length == 0 and sent == layout.header_length and kind == layout.data_type
        if is_heartbeat:
            aligned = layout.header_length
        elif length <= 0 or offset + aligned > layout.term_length_max:
            break
        if index == 0:
            if offset < 0 or offset >= layout.term_length_max or offset & (layout.alignment - 1):
                break
        elif offset != expected:
            break
        # The body of a PAD frame is never sent: it is alone in what is left of its datagram.
        if at + aligned > end and (kind != layout.pad_type or end - at != layout.header_length):
            break
        out.owners[out.count], out.offsets[out.count], out.indexes[out.count], out.types[out.count] = owner, at, index, kind
        out.count += 1
        if at + aligned >= end or at + aligned + layout.header_length > captured_end:
            return True
        at += aligned
        index += 1
        expected = offset + aligned
    out.count = first
    return False


cdef void walk_all(const uint8_t* data, const int64_t* starts, const int64_t* lengths, const int64_t* captured_ends, int64_t count,
                   const Layout* layout, Frames* out, uint8_t* is_plain) noexcept nogil:
    cdef int64_t row
    for row in range(count):
        if row + AHEAD < count:
            prefetch_read(data + starts[row + AHEAD])
        is_plain[row] = walk(data, row, starts[row], lengths[row], captured_ends[row], layout, out)


def find_plain_frames(const uint8_t[::1] buffer, const int64_t[::1] starts, const int64_t[::1] lengths, const int64_t[::1] captured_ends,
                      tuple layout, const int64_t[:, ::1] controls):
    """Find the frames of datagrams of which `lengths` bytes were sent and those up to `captured_ends` were captured.

    layout: offsets of length, version, type and term offset in a header, the length of any header and that of DATA's, the alignment, the
    longest term, the values of version, DATA and PAD, the shortest term, the least and the largest MTU.  controls: for each frame type the
    least length (0 for none), the rule (0 none, 1 SETUP, 2 SM, 3 NAK, 4 left to others) and where its fields stand: term offset; then term
    length and MTU, window, or length.
    Return (datagram of each frame, its offset in the buffer, its index in the datagram, its type; and for each datagram whether its frames
    are among them: else it is left to others).  Raises ValueError where a datagram leaves the buffer.
    """
    cdef int64_t count = starts.shape[0], row, room = 0
    cdef Layout rules
    (rules.length_at, rules.version_at, rules.type_at, rules.offset_at, rules.header_min, rules.header_length, rules.alignment,
     rules.term_length_max, rules.version, rules.data_type, rules.pad_type, rules.term_length_min, rules.mtu_min, rules.mtu_max) = layout
    if controls.shape[0] == 0 or controls.shape[1] != CONTROL_WIDTH:
        raise ValueError(f"rules of control frames: ({controls.shape[0]}, {controls.shape[1]}), expected (kinds, {CONTROL_WIDTH})")
    for row in range(controls.shape[0]):
        if controls[row, 0] and not rules.header_min <= max(controls[row, 2], controls[row, 3], controls[row, 4]) + 4 <= controls[row, 0]:
            raise ValueError(f"fields of frame type {row} leave its {controls[row, 0]} bytes")
    rules.kinds, rules.controls = controls.shape[0], &controls[0, 0]
    if lengths.shape[0] != count or captured_ends.shape[0] != count:
        raise ValueError(f"{count} starts, {lengths.shape[0]} lengths, {captured_ends.shape[0]} ends")
    for row in range(count):
        if starts[row] < 0 or captured_ends[row] < starts[row] or captured_ends[row] > buffer.shape[0]:
            raise ValueError(f"datagram [{starts[row]}, {captured_ends[row]}) leaves a buffer of {buffer.shape[0]} bytes")
        room += (captured_ends[row] - starts[row]) // rules.header_length + 1
    owners, offsets, indexes, types = (np.empty(room, dtype=np.int64) for _ in range(4))
    is_plain = np.zeros(count, dtype=bool)
    cdef int64_t[::1] owners_, offsets_, indexes_, types_
    cdef uint8_t[::1] is_plain_
    cdef Frames out
    out.count = 0
    if count:
        owners_, offsets_, indexes_, types_, is_plain_ = owners, offsets, indexes, types, is_plain.view(np.uint8)
        out.owners, out.offsets, out.indexes, out.types = &owners_[0], &offsets_[0], &indexes_[0], &types_[0]
        with nogil:
            walk_all(&buffer[0] if buffer.shape[0] else NULL, &starts[0], &lengths[0], &captured_ends[0], count, &rules, &out,
                     &is_plain_[0])
    return owners[: out.count], offsets[: out.count], indexes[: out.count], types[: out.count], is_plain
