"""Checksums of recorded frames and of catalog entries: CRC-32 and CRC-32C, by the names that options and tools give them.

    checksum = checksum_named("CRC-32C")
    checksum.compute(entry)

Long inputs are folded by carry-less multiplication where the processor has it; tables of eight bytes a step do the rest. Native code calls
`compute_checksum`, which takes no lock. Aeron: Checksums.
"""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from aerowire.base.errors import ConfigurationError

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    /* A reflected CRC of 32 bits: tables for eight bytes a step, and constants for folding 64 bytes a step. */
    typedef struct {
        uint32_t table[8][256];
        uint64_t fold_64[2], fold_16[2], fold_8, barrett[2];
        int folds;
    } aw_crc;

    static uint32_t aw_reflect(uint32_t value)
    {
        uint32_t out = 0;
        for (int bit = 0; bit < 32; bit++)
            out |= (value >> bit & 1) << (31 - bit);
        return out;
    }

    /* x to the power of `exponent`, modulo the polynomial, reflected into 33 bits as multiplication of reflected numbers needs it. */
    static uint64_t aw_power(uint32_t polynomial, int exponent)
    {
        uint32_t value = 1;
        while (exponent--)
            value = value << 1 ^ (value >> 31 ? polynomial : 0);
        return (uint64_t)aw_reflect(value) << 1;
    }

    /* The quotient of x to the power of 64 and the polynomial, reflected into 33 bits. */
    static uint64_t aw_quotient(uint32_t polynomial)
    {
        uint64_t quotient = 0;
        uint32_t rest = polynomial;  /* of x^32, whose quotient is 1 */
        for (int bit = 0; bit < 32; bit++) {
            quotient = quotient << 1 | rest >> 31;
            rest = rest << 1 ^ (rest >> 31 ? polynomial : 0);
        }
        return (uint64_t)aw_reflect((uint32_t)quotient) << 1 | 1;
    }

    static void aw_crc_prepare(aw_crc *crc, uint32_t polynomial)
    {
        uint32_t reflected = aw_reflect(polynomial);
        for (uint32_t byte = 0; byte < 256; byte++) {
            uint32_t value = byte;
            for (int bit = 0; bit < 8; bit++)
                value = value >> 1 ^ (value & 1 ? reflected : 0);
            crc->table[0][byte] = value;
        }
        for (int step = 1; step < 8; step++)
            for (uint32_t byte = 0; byte < 256; byte++)
                crc->table[step][byte] = crc->table[step - 1][byte] >> 8 ^ crc->table[0][crc->table[step - 1][byte] & 0xFF];
        crc->fold_64[0] = aw_power(polynomial, 512 + 32);
        crc->fold_64[1] = aw_power(polynomial, 512 - 32);
        crc->fold_16[0] = aw_power(polynomial, 128 + 32);
        crc->fold_16[1] = aw_power(polynomial, 128 - 32);
        crc->fold_8 = aw_power(polynomial, 64);
        crc->barrett[0] = (uint64_t)reflected << 1 | 1;
        crc->barrett[1] = aw_quotient(polynomial);
    #if defined(__x86_64__) && defined(__GNUC__)
        crc->folds = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
    #else
        crc->folds = 0;
    #endif
    }

    static uint32_t aw_crc_by_table(const aw_crc *crc, uint32_t state, const uint8_t *data, int64_t length)
    {
        for (; length >= 8; data += 8, length -= 8) {
            uint32_t low = (data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24) ^ state;
            state = crc->table[7][low & 0xFF] ^ crc->table[6][low >> 8 & 0xFF] ^ crc->table[5][low >> 16 & 0xFF]
                ^ crc->table[4][low >> 24] ^ crc->table[3][data[4]] ^ crc->table[2][data[5]] ^ crc->table[1][data[6]]
                ^ crc->table[0][data[7]];
        }
        for (; length > 0; data++, length--)
            state = state >> 8 ^ crc->table[0][(state ^ *data) & 0xFF];
        return state;
    }

    #if defined(__x86_64__) && defined(__GNUC__)
    #include <smmintrin.h>
    #include <wmmintrin.h>

    #define AW_LOAD(at) _mm_loadu_si128((const __m128i *)(at))
    #define AW_FOLD(value, by) _mm_xor_si128(_mm_clmulepi64_si128(value, by, 0x00), _mm_clmulepi64_si128(value, by, 0x11))

    /* The state after `length` bytes, a multiple of 16 and 64 at least. Gopal and others: Fast CRC Computation Using PCLMULQDQ. */
    __attribute__((target("sse4.1,pclmul")))
    static uint32_t aw_crc_by_folding(const aw_crc *crc, uint32_t state, const uint8_t *data, int64_t length)
    {
        const __m128i by_64 = AW_LOAD(crc->fold_64), by_16 = AW_LOAD(crc->fold_16), barrett = AW_LOAD(crc->barrett);
        const __m128i low_words = _mm_setr_epi32(~0, 0, ~0, 0);
        __m128i a = _mm_xor_si128(AW_LOAD(data), _mm_cvtsi32_si128((int)state));
        __m128i b = AW_LOAD(data + 16), c = AW_LOAD(data + 32), d = AW_LOAD(data + 48);
        for (data += 64, length -= 64; length >= 64; data += 64, length -= 64) {
            a = _mm_xor_si128(AW_FOLD(a, by_64), AW_LOAD(data));
            b = _mm_xor_si128(AW_FOLD(b, by_64), AW_LOAD(data + 16));
            c = _mm_xor_si128(AW_FOLD(c, by_64), AW_LOAD(data + 32));
            d = _mm_xor_si128(AW_FOLD(d, by_64), AW_LOAD(data + 48));
        }
        a = _mm_xor_si128(AW_FOLD(a, by_16), b);
        a = _mm_xor_si128(AW_FOLD(a, by_16), c);
        a = _mm_xor_si128(AW_FOLD(a, by_16), d);
        for (; length >= 16; data += 16, length -= 16)
            a = _mm_xor_si128(AW_FOLD(a, by_16), AW_LOAD(data));
        /* From 128 bits to 96, to 64, and by Barrett's reduction to 32. */
        a = _mm_xor_si128(_mm_srli_si128(a, 8), _mm_clmulepi64_si128(a, by_16, 0x10));
        b = _mm_clmulepi64_si128(_mm_and_si128(a, low_words), _mm_loadl_epi64((const __m128i *)&crc->fold_8), 0x00);
        a = _mm_xor_si128(_mm_srli_si128(a, 4), b);
        b = _mm_and_si128(_mm_clmulepi64_si128(_mm_and_si128(a, low_words), barrett, 0x10), low_words);
        a = _mm_xor_si128(a, _mm_clmulepi64_si128(b, barrett, 0x00));
        return (uint32_t)_mm_extract_epi32(a, 1);
    }
    #else
    static uint32_t aw_crc_by_folding(const aw_crc *crc, uint32_t state, const uint8_t *data, int64_t length)
    { return aw_crc_by_table(crc, state, data, length); }
    #endif

    static uint32_t aw_crc_of(const aw_crc *crc, const uint8_t *data, int64_t length)
    {
        uint32_t state = ~(uint32_t)0;
        if (crc->folds && length >= 64) {
            int64_t folded = length & ~(int64_t)15;
            state = aw_crc_by_folding(crc, state, data, folded);
            data += folded;
            length -= folded;
        }
        return ~aw_crc_by_table(crc, state, data, length);
    }
    """
    ctypedef struct aw_crc:
        pass
    void aw_crc_prepare(aw_crc* crc, uint32_t polynomial) nogil
    uint32_t aw_crc_of(const aw_crc* crc, const uint8_t* data, int64_t length) nogil

cdef aw_crc _crc_32
cdef aw_crc _crc_32c
aw_crc_prepare(&_crc_32, 0x04C11DB7)
aw_crc_prepare(&_crc_32c, 0x1EDC6F41)

_KINDS = {
    "CRC-32": CHECKSUM_CRC_32,
    "io.aeron.archive.checksum.Crc32": CHECKSUM_CRC_32,
    "org.agrona.checksum.Crc32": CHECKSUM_CRC_32,
    "CRC-32C": CHECKSUM_CRC_32C,
    "io.aeron.archive.checksum.Crc32c": CHECKSUM_CRC_32C,
    "org.agrona.checksum.Crc32c": CHECKSUM_CRC_32C,
}
_NAMES = {CHECKSUM_CRC_32: "CRC-32", CHECKSUM_CRC_32C: "CRC-32C"}


cdef int32_t compute_checksum(int32_t kind, const uint8_t* data, int64_t length) noexcept nogil:
    if kind == CHECKSUM_CRC_32C:
        return <int32_t>aw_crc_of(&_crc_32c, data, length)
    return <int32_t>aw_crc_of(&_crc_32, data, length) if kind == CHECKSUM_CRC_32 else 0


cdef class Checksum:
    """A checksum algorithm; `kind` names it to native code. Made by `checksum_named`."""

    def compute(self, data) -> int:
        """Return the checksum of a buffer's bytes as a signed integer of 32 bits, as it stands in files."""
        cdef Py_buffer buffer
        PyObject_GetBuffer(data, &buffer, PyBUF_SIMPLE)
        try:
            return compute_checksum(self.kind, <const uint8_t*>buffer.buf, buffer.len)
        finally:
            PyBuffer_Release(&buffer)

    def __repr__(self):
        return f"Checksum({self.name!r})"


def checksum_named(name):
    """Return the Checksum of a name or of a class's name, as options and tools give it; None for an empty name.

    Raises ConfigurationError for a name that is not known.
    """
    cdef Checksum checksum
    name = name.strip()
    if not name:
        return None
    kind = _KINDS.get(name)
    if kind is None:
        raise ConfigurationError("the checksum is not known", expected=" or ".join(_KINDS), actual=name)
    checksum = Checksum.__new__(Checksum)
    checksum.kind = kind
    checksum.name = _NAMES[kind]
    return checksum
