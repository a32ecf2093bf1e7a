"""An enum of presence constant in a composite takes no bytes and cannot say its value: every reader has none for it."""

from __future__ import annotations

from pathlib import Path

from aerowire.codegen.sbe.interpreter import MessageCodec
from aerowire.codegen.sbe.reader import load_message_schema
from tests.codegen.sbe.packages import import_package
from tests.codegen.sbe.writing import schema

TYPES = """<composite name="Pair"><type name="first" primitiveType="uint8"/>
<enum name="Kind" encodingType="uint8" presence="constant"><validValue name="A">1</validValue></enum>
<type name="second" primitiveType="uint8"/></composite>"""
MESSAGES = """<sbe:message name="Holder" id="1"><field name="pair" id="1" type="Pair"/></sbe:message>"""
MESSAGE = bytes.fromhex("0200010001000000" + "0102")


def test_has_no_value_and_no_bytes(tmp_path: Path) -> None:
    (tmp_path / "own.xml").write_text(schema(TYPES, MESSAGES))
    tree = load_message_schema(tmp_path / "own.xml")
    package = import_package(tree, tmp_path)
    expected = {"pair": {"first": 1, "kind": None, "second": 2}}
    assert MessageCodec(tree).decode(MESSAGE).values == {"pair": {"first": 1, "Kind": None, "second": 2}}
    assert package.Holder.decode(MESSAGE + b"\x63").to_dict() == expected
    assert package.HolderDecoder().wrap_and_apply_header(MESSAGE + b"\x63").to_dict() == expected
    assert package.Holder(pair=package.Pair(first=1, second=2)).encode() == MESSAGE
    assert package.Holder.from_dict(expected).encode() == MESSAGE
