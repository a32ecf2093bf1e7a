# Writing whole messages into claimed log space: one frame, or fragments, from one piece of memory or from several.

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy
from aerowire.codecs.native.transport cimport (
    DATA_FLAGS_BEGIN, DATA_FLAGS_END, DATA_HEADER_LENGTH, FRAME_TYPE_PAD, data_header_set_flags, data_header_set_reserved_value,
    data_header_set_type)
from aerowire.logbuffer.append cimport Part, ReservedValue, Stream
from aerowire.logbuffer.descriptor cimport align_frame
from aerowire.logbuffer.frame cimport frame_length_release, frame_write_header

cdef enum:
    PREFETCH_DISTANCE = 1024            # bytes ahead of writing or reading: as many cache lines as a core can wait for at a time
    PREFETCH_AFTER = 16                 # frames read at once before it pays: a reader at the writer's heels would take lines away from it

cdef extern from *:
    """
    #ifndef AEROWIRE_COPY_SMALL
    #define AEROWIRE_COPY_SMALL
    #include <stdint.h>
    #include <string.h>
    /* memcpy whose common short lengths are inlined as overlapping fixed-size moves: a call costs more than the copy */
    static inline void aw_copy(uint8_t *to, const uint8_t *from, size_t n)
    {
        if (n > 64) { memcpy(to, from, n); return; }
        if (n > 32) {
            uint64_t a[4], b[4];
            memcpy(a, from, 32); memcpy(b, from + n - 32, 32); memcpy(to, a, 32); memcpy(to + n - 32, b, 32);
        } else if (n >= 16) {
            uint64_t a[2], b[2];
            memcpy(a, from, 16); memcpy(b, from + n - 16, 16); memcpy(to, a, 16); memcpy(to + n - 16, b, 16);
        } else if (n >= 8) {
            uint64_t a, b;
            memcpy(&a, from, 8); memcpy(&b, from + n - 8, 8); memcpy(to, &a, 8); memcpy(to + n - 8, &b, 8);
        } else if (n >= 4) {
            uint32_t a, b;
            memcpy(&a, from, 4); memcpy(&b, from + n - 4, 4); memcpy(to, &a, 4); memcpy(to + n - 4, &b, 4);
        } else if (n) {
            to[0] = from[0]; to[n >> 1] = from[n >> 1]; to[n - 1] = from[n - 1];
        }
    }
    /* Asks for the cache line to be owned by this core: the next writes of a batch then wait for it together. Harmless past the end. */
    #if defined(__x86_64__)
    #define aw_prefetch_write(p) __asm__ volatile("prefetchw %0" : : "m"(*(const char *)(p)))
    #else
    #define aw_prefetch_write(p) __builtin_prefetch((p), 1)
    #endif
    #endif
    """
    void prefetch_write "aw_prefetch_write"(uint8_t* address) noexcept nogil
    void prefetch_read "__builtin_prefetch"(const uint8_t* address) noexcept nogil
    void copy_bytes "aw_copy"(uint8_t* to, const uint8_t* source, size_t count) noexcept nogil


cdef inline void write_unfragmented(uint8_t* term, int32_t offset, int32_t term_id, const Stream* stream, const uint8_t* message,
                                    int32_t length, ReservedValue reserved, void* context) noexcept nogil:
    cdef uint8_t* frame = term + offset
    cdef int32_t frame_length = length + <int32_t>DATA_HEADER_LENGTH
    prefetch_write(frame + PREFETCH_DISTANCE)
    frame_write_header(frame, frame_length, offset, stream.session_id, stream.stream_id, term_id)
    copy_bytes(frame + DATA_HEADER_LENGTH, message, length)
    if reserved != NULL:
        data_header_set_reserved_value(frame, reserved(context, term, offset, frame_length))
    frame_length_release(frame, frame_length)


cdef inline void write_frames(uint8_t* term, int32_t offset, int32_t term_id, const Stream* stream, const Part* messages,
                              int count) noexcept nogil:
    # `count` messages of one frame each
    cdef int i
    for i in range(count):
        write_unfragmented(term, offset, term_id, stream, messages[i].address, <int32_t>messages[i].length, NULL, NULL)
        offset += <int32_t>align_frame(messages[i].length + DATA_HEADER_LENGTH)


cdef inline void write_rows(uint8_t* term, int32_t offset, int32_t term_id, const Stream* stream, const uint8_t* rows, int32_t length,
                            int count) noexcept nogil:
    # `count` messages of one length and one frame each, that lie one behind the other
    cdef int32_t stride = <int32_t>align_frame(length + DATA_HEADER_LENGTH)
    cdef int i
    for i in range(count):
        write_unfragmented(term, offset, term_id, stream, rows, length, NULL, NULL)
        rows += length
        offset += stride


cdef inline void write_message(uint8_t* term, int32_t offset, int32_t term_id, const Stream* stream, const uint8_t* message, int32_t length,
                               ReservedValue reserved, void* context) noexcept nogil:
    cdef int32_t done = 0
    cdef int32_t piece, frame_length, flags
    cdef uint8_t* frame
    if length <= stream.max_payload_length:
        write_unfragmented(term, offset, term_id, stream, message, length, reserved, context)
        return
    flags = DATA_FLAGS_BEGIN
    while done < length:
        piece = min(length - done, stream.max_payload_length)
        frame = term + offset
        frame_length = piece + <int32_t>DATA_HEADER_LENGTH
        frame_write_header(frame, frame_length, offset, stream.session_id, stream.stream_id, term_id)
        memcpy(frame + DATA_HEADER_LENGTH, message + done, piece)
        done += piece
        if done == length:
            flags |= DATA_FLAGS_END
        data_header_set_flags(frame, <uint8_t>flags)
        if reserved != NULL:
            data_header_set_reserved_value(frame, reserved(context, term, offset, frame_length))
        frame_length_release(frame, frame_length)
        flags = 0
        offset += <int32_t>align_frame(frame_length)


cdef inline void write_parts(uint8_t* term, int32_t offset, int32_t term_id, const Stream* stream, const Part* parts, int32_t length,
                             ReservedValue reserved, void* context) noexcept nogil:
    # parts hold exactly `length` bytes; empty ones are skipped
    cdef int32_t done = 0
    cdef int32_t piece, frame_length, flags, filled
    cdef int64_t part_done = 0
    cdef int64_t chunk
    cdef int part = 0
    cdef uint8_t* frame
    flags = DATA_FLAGS_BEGIN
    while True:
        piece = min(length - done, stream.max_payload_length)
        frame = term + offset
        frame_length = piece + <int32_t>DATA_HEADER_LENGTH
        frame_write_header(frame, frame_length, offset, stream.session_id, stream.stream_id, term_id)
        filled = 0
        while filled < piece:
            chunk = min(parts[part].length - part_done, <int64_t>(piece - filled))
            if chunk > 0:
                copy_bytes(frame + DATA_HEADER_LENGTH + filled, parts[part].address + part_done, chunk)
                filled += <int32_t>chunk
                part_done += chunk
            if part_done == parts[part].length:
                part += 1
                part_done = 0
        done += piece
        if done == length:
            flags |= DATA_FLAGS_END
        data_header_set_flags(frame, <uint8_t>flags)
        if reserved != NULL:
            data_header_set_reserved_value(frame, reserved(context, term, offset, frame_length))
        frame_length_release(frame, frame_length)
        flags = 0
        offset += <int32_t>align_frame(frame_length)
        if done == length:
            return


cdef inline void write_padding(uint8_t* term, int32_t offset, int32_t length, int32_t term_id, const Stream* stream) noexcept nogil:
    # length counts the header
    frame_write_header(term + offset, length, offset, stream.session_id, stream.stream_id, term_id)
    data_header_set_type(term + offset, FRAME_TYPE_PAD)
    frame_length_release(term + offset, length)


cdef inline int64_t parts_length(const Part* parts, int count) noexcept nogil:
    # total bytes, or -1 when a length is negative
    cdef int64_t total = 0
    cdef int index
    for index in range(count):
        if parts[index].length < 0:
            return -1
        total += parts[index].length
    return total
