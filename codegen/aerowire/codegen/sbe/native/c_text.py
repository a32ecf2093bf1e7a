"""What the Cython of message schemas has in C: loads and stores in the schema's byte order, wherever the bytes lie."""

from __future__ import annotations

from aerowire.codegen.primitives import Primitive
from aerowire.codegen.sbe.ir import ByteOrder

C_TYPES = {"char": "uint8_t", "float": "float", "double": "double"}
# Bits of each type that has loads and stores.
TYPES = {f"{sign}int{bits}_t": bits for bits in (8, 16, 32, 64) for sign in ("", "u")} | {"float": 32, "double": 64}


def c_type(primitive: Primitive) -> str:
    """The C type of a primitive; a char is its code."""
    return C_TYPES.get(primitive.name, f"{primitive.name}_t")


def helpers(prefix: str, order: ByteOrder) -> list[str]:
    """C functions `PREFIXload_uint16_t(p)` and `PREFIXstore_uint16_t(p, value)`, and so on for every type."""
    other = "__ORDER_BIG_ENDIAN__" if order is ByteOrder.LITTLE_ENDIAN else "__ORDER_LITTLE_ENDIAN__"
    out = [
        "#include <stdint.h>",
        "#include <string.h>",
        "#if !defined(__BYTE_ORDER__)",
        '#error "the compiler does not tell the byte order"',
    ]
    out += [f"#elif __BYTE_ORDER__ == {other}"]
    out += [f"#define {prefix}{bits}(value) __builtin_bswap{bits}(value)" for bits in (16, 32, 64)]
    out += ["#else", *(f"#define {prefix}{bits}(value) (value)" for bits in (16, 32, 64)), "#endif", f"#define {prefix}8(value) (value)"]
    for name, bits in TYPES.items():
        raw = f"uint{bits}_t"
        out += [
            f"static inline {name} {prefix}load_{name}(const uint8_t *p) {{",
            f"    {raw} raw; {name} value; memcpy(&raw, p, sizeof(raw)); raw = {prefix}{bits}(raw);",
            "    memcpy(&value, &raw, sizeof(raw)); return value;",
            "}",
            f"static inline void {prefix}store_{name}(uint8_t *p, {name} value) {{",
            f"    {raw} raw; memcpy(&raw, &value, sizeof(raw)); raw = {prefix}{bits}(raw); memcpy(p, &raw, sizeof(raw));",
            "}",
        ]
    return out


CIMPORT = "from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t"


def c_name(name: str) -> str:
    """A name with ASCII letters only, which every C compiler takes."""
    return name if name.isascii() else "".join(one if one.isascii() else f"u{ord(one):x}" for one in name)
