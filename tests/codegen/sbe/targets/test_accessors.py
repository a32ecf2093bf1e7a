"""Cython accessors of the fixed blocks: they read what was written and write what is read; big-endian, which most machines turn round."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from aerowire.codegen.sbe.ir import EncodedType, MessageSchema
from aerowire.codegen.sbe.naming import snake_name, upper_name
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.codegen.sbe.targets.columns import Column, columns_of, columns_of_header
from aerowire.codegen.sbe.targets.native import NativeMessageTarget
from tests.codegen.conftest import Compile
from tests.codegen.sbe.conftest import SCHEMAS
from tests.codegen.sbe.plain_messages import Writer
from tests.codegen.sbe.writing import schema as written

PACKAGE = "big_endian"
Compiled = tuple[Any, MessageSchema]


def functions(schema: MessageSchema) -> str:
    """Cython that reads every value of an Order, and copies every value to a new one."""
    order = schema.messages[0]
    columns = [(f"order_{snake_name(one.path)}", f"order_set_{snake_name(one.path)}", one) for one in columns_of(order, schema.byte_order)]
    header = [f"{PACKAGE}.header_{snake_name(one.path)}(p)" for one in columns_of_header(schema.header, schema.byte_order)]
    lines = ["# cython: language_level=3", f"cimport {PACKAGE}", "def read(bytes raw):"]
    lines += [f"    cdef const unsigned char* p = raw\n    head = [{', '.join(header)}]", f"    p += {PACKAGE}.SBE_HEADER_LENGTH"]
    values = [
        f"[{PACKAGE}.{get}_at(p, i) for i in range({PACKAGE}.{get.upper()}_COUNT)]" if is_row(one) else f"{PACKAGE}.{get}(p)"
        for get, _, one in columns
    ]
    lines += [f"    return head, [{', '.join(values)}]", "def copy(bytes raw, bytearray other):"]
    lines += [
        f"    cdef const unsigned char* p = <const unsigned char*>raw + {PACKAGE}.SBE_HEADER_LENGTH",
        "    cdef unsigned char* q = other",
        "    cdef int i",
    ]
    for get, put, one in columns:
        at = f"for i in range({PACKAGE}.{get.upper()}_COUNT): {PACKAGE}.{put}_at(q, i, {PACKAGE}.{get}_at(p, i))"
        lines.append(f"    {at}" if is_row(one) else f"    {PACKAGE}.{put}(q, {PACKAGE}.{get}(p))")
    numbers = ["SBE_SCHEMA_ID", "ORDER_BLOCK_LENGTH", "TICK_TEMPLATE_ID", "SIDE_SELL", "STATE_PARTLY_FILLED", "OPTIONS_HIDDEN"]
    numbers += ["STATE_NULL_VALUE", f"ORDER_{upper_name('account.limit.mantissa')}_OFFSET", "ORDER_OWNERS_ADDRESSES_BLOCK_LENGTH"]
    lines.append(f"def numbers(): return [{', '.join(f'{PACKAGE}.{one}' for one in numbers)}]")
    return "\n".join(lines) + "\n"


def is_row(column: Column) -> bool:
    return isinstance(column.type, EncodedType) and column.type.length != 1


@pytest.fixture(scope="module")
def compiled(compile_cython: Compile, tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    folder = tmp_path_factory.mktemp("accessors")
    file = folder / "trading.xml"
    file.write_text((SCHEMAS / "trading.xml").read_text().replace("littleEndian", "bigEndian"))
    schema = load_message_schema(file)
    (folder / f"{PACKAGE}.pxd").write_text(NativeMessageTarget().render(schema, Placement(PACKAGE))[f"{PACKAGE}/native.pxd"])
    return compile_cython("message_accessors", functions(schema), folder), schema


def test_accessors_read_and_write(compiled: Compiled) -> None:
    module, schema = compiled
    writer = Writer(schema, Random(21))
    message = schema.messages[0]
    names = [column.path for column in columns_of(message, schema.byte_order)]
    for _ in range(40):
        raw, plain = writer.message(message)
        head, values = module.read(raw)
        assert [head[0], *head[3:]] == [schema.version, message.id, schema.id]
        copy = bytearray(message.block_length)
        module.copy(raw, copy)
        again = module.read(bytes(schema.header.size) + copy)[1]
        for name, value, copied in zip(names, values, again, strict=True):
            np.testing.assert_equal(copied, value, name)
            expected = plain.values[name]
            if isinstance(expected, bytes):
                expected = list(expected) if len(expected) != 1 else expected[0]
            if expected is not None:
                np.testing.assert_equal(value, expected, name)


def test_constants_are_those_of_the_schema(compiled: Compiled) -> None:
    module, schema = compiled
    order = schema.messages[0]
    account = next(field for field in order.fields if field.name == "account")
    assert module.numbers() == [700, order.block_length, 2, ord("S"), 1, 1 << 15, 65535, account.offset + 12, 1]


def test_names_beyond_ascii_stay_out_of_c(tmp_path: Path) -> None:
    file = tmp_path / "odd.xml"
    file.write_text(written("", '<sbe:message name="m" id="1"><field name="größe" id="1" type="uint8"/></sbe:message>'), encoding="utf-8")
    (text,) = NativeMessageTarget().render(load_message_schema(file), Placement("odd")).values()
    assert 'uint8_t m_größe "sbe_odd_m_gruf6udfe"' in text
    assert all(line.isascii() for line in text.split("\n") if line.startswith("    static inline"))
