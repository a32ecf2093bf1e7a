"""Characters of two and four bytes: flyweights, data classes, compiled codecs, interpreter and columns read and write them alike."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Any, NamedTuple

import pytest

from aerowire.codegen.sbe.interpreter import MessageCodec, MessageError
from aerowire.codegen.sbe.reader import load_message_schema
from tests.codegen.sbe.packages import import_native
from tests.codegen.sbe.writing import schema

pytest.importorskip("pyarrow")

ENCODINGS = ("UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32", "UTF-32LE")
LENGTH = 18  # bytes of a row: not a whole number of characters of UTF-32
MARKS = {
    "UTF-16": ("\ufeff".encode("utf-16-be"), "utf-16-be", "utf-16-le"),
    "UTF-32": ("\ufeff".encode("utf-32-be"), "utf-32-be", "utf-32-le"),
}
TEXTS = ("", "a", "ab", "\u4e2d\u0100", "\U0001f600x", "\u0100\u0001")
Row = tuple[str, str]


class Ways(NamedTuple):
    """All that reads and writes, by name; what it cannot is None."""

    readers: dict[str, Callable[[str, bytes], Row | None]]
    writers: dict[str, Callable[[str, Row], bytes | None]]


def types_of(encoding: str) -> str:
    return f"""<type name="{encoding}Row" primitiveType="char" length="{LENGTH}" characterEncoding="{encoding}"/>
<composite name="{encoding}Note"><type name="length" primitiveType="uint16"/>
<type name="varData" primitiveType="uint8" length="0" characterEncoding="{encoding}"/></composite>"""


def message_of(number: int, encoding: str) -> str:
    return f"""<sbe:message name="{name_of(encoding)}" id="{number}"><field name="row" id="1" type="{encoding}Row"/>
<data name="note" id="2" type="{encoding}Note"/></sbe:message>"""


def name_of(encoding: str) -> str:
    return encoding.replace("-", "").lower().capitalize()


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Ways:
    folder = tmp_path_factory.mktemp("wide")
    types = "".join(types_of(one).replace("-", "") for one in ENCODINGS)
    for one in ENCODINGS:
        types = types.replace(f'characterEncoding="{one.replace("-", "")}"', f'characterEncoding="{one}"')
    messages = "".join(message_of(number, one) for number, one in enumerate(ENCODINGS)).replace("-", "")
    python, native = import_native(schema(types, messages), folder, "flyweights,native,arrow")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        tables = {one.layout.name: one for one in import_module(f"{python.__name__}.arrow").MESSAGES.values()}
        refusals = (python.SbeError, MessageError, import_module(f"{python.__name__}._columns").ColumnsError)
    codec = MessageCodec(load_message_schema(folder / "schema.xml"))

    def interpreted(_: str, raw: bytes) -> Row:
        values: dict[str, Any] = codec.decode(raw).values
        return values["row"], values["note"]

    def column(name: str, raw: bytes) -> Row:
        (row,) = tables[name].decode(raw, [0]).to_pylist()
        return row["row"], row["note"]

    readers: dict[str, Any] = {"interpreter": interpreted, "column": column}
    writers: dict[str, Any] = {"interpreter": lambda name, row: codec.encode(name, {"row": row[0], "note": row[1]})}
    for kind, module in (("python", python), ("native", native)):
        readers[f"{kind} data class"] = lambda name, raw, module=module: parts(getattr(module, name).decode(raw))
        readers[f"{kind} flyweight"] = lambda name, raw, module=module: parts(
            getattr(module, f"{name}Decoder")().wrap_and_apply_header(raw)
        )
        writers[f"{kind} data class"] = lambda name, row, module=module: getattr(module, name)(row=row[0], note=row[1]).encode()
        writers[f"{kind} flyweight"] = lambda name, row, module=module: put(getattr(module, f"{name}Encoder")(), row)
    every = ({name: refusing(one, refusals) for name, one in several.items()} for several in (readers, writers))
    return Ways(*every)


def parts(found: Any) -> Row:
    return found.row, found.note


def put(encoder: Any, row: Row) -> bytes:
    buffer = bytearray(200)
    encoder.wrap_and_apply_header(buffer)
    encoder.row, encoder.note = row
    return bytes(buffer[: encoder.sbe_limit])


def refusing(call: Callable[[str, Any], Any], refusals: tuple[type[Exception], ...]) -> Callable[[str, Any], Any]:
    def called(name: str, given: Any) -> Any:
        try:
            return call(name, given)
        except refusals:
            return None

    return called


def message(encoding: str, row: bytes, note: bytes) -> bytes:
    head = b"".join(one.to_bytes(2, "little") for one in (LENGTH, ENCODINGS.index(encoding), 1, 0))
    return head + row.ljust(LENGTH, b"\0") + len(note).to_bytes(2, "little") + note


def stored(encoding: str, text: str) -> list[bytes]:
    """The bytes that text may have."""
    if encoding not in MARKS:
        return [text.encode(encoding)]
    mark, big, little = MARKS[encoding]
    return [text.encode(big), mark + text.encode(big), mark[::-1] + text.encode(little)]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_text_is_read_alike_with_and_without_a_mark(ways: Ways, encoding: str) -> None:
    for text in TEXTS:
        for raw in stored(encoding, text):
            for name, read in ways.readers.items():
                assert read(name_of(encoding), message(encoding, raw, raw)) == (text, text), (name, raw)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_text_is_written_alike(ways: Ways, encoding: str) -> None:
    for text in TEXTS:
        # Of those that can be read, the one with a mark that says big-endian is written.
        raw = stored(encoding, text)[encoding in MARKS] if text else b""
        for name, write in ways.writers.items():
            assert write(name_of(encoding), (text, text)) == message(encoding, raw, raw), (name, text)


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_any_bytes_are_read_or_refused_alike(ways: Ways, encoding: str) -> None:
    chance, unit = Random(5), 2 if "16" in encoding else 4
    characters = [0, 0x41, 0x4E2D, 0xD83D, 0xDE00, 0xFEFF, 0xFFFE, 0x10FFFF if unit == 4 else 0x30]
    order: Any
    told = set()
    for _ in range(300):
        order = chance.choice(["big", "little"])
        row, note = (b"".join(chance.choice(characters).to_bytes(unit, order) for _ in range(LENGTH // unit + 1)) for _ in range(2))
        raw = message(encoding, row[:LENGTH], note[: chance.randrange(len(note))])
        found = {name: read(name_of(encoding), raw) for name, read in ways.readers.items()}
        expected = found["interpreter"]
        told.add(expected is None)
        # Columns have no halves of characters.
        is_unicode = expected is not None and not any("\ud800" <= one <= "\udfff" for text in expected for one in text)
        assert found.pop("column") == (expected if is_unicode else None), raw
        assert found == dict.fromkeys(found, expected), raw
        if expected is not None:
            written = {write(name_of(encoding), expected) for write in ways.writers.values()}
            assert len(written) == 1, expected
    assert told == {False, True}
