"""An enum with a value that is also its null, as some exchanges have: it reads as that value everywhere, and None still writes it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from aerowire.codegen.main import main
from aerowire.codegen.sbe.interpreter import JsonCodec, MessageCodec
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.reader import ReadOptions, load_message_schema
from aerowire.codegen.sbe.targets.columns import columns_of
from tests.codegen.sbe.writing import schema

TYPES = """<enum name="Kind" encodingType="char" nullValue="A"><validValue name="Plain">A</validValue>
<validValue name="Other">B</validValue></enum>
<enum name="State" encodingType="uint8"><validValue name="On">1</validValue><validValue name="Off">255</validValue></enum>
<enum name="Usual" encodingType="uint8"><validValue name="One">1</validValue></enum>"""
MESSAGES = """<message name="Order" id="1"><field name="kind" id="1" type="Kind" presence="optional"/>
<field name="state" id="2" type="State" presence="optional"/>
<field name="usual" id="3" type="Usual" presence="optional"/></message>"""
NULL = bytes.fromhex("0300 0100 0100 0000 41 ff ff")
SET = bytes.fromhex("0300 0100 0100 0000 42 01 01")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file: Path = tmp_path_factory.mktemp("schema") / "nulls.xml"
    file.write_text(schema(TYPES, MESSAGES))
    return file


@pytest.fixture(scope="module")
def read(file: Path) -> MessageSchema:
    return load_message_schema(file, options=ReadOptions(lenient=True))


@pytest.fixture(scope="module")
def package(file: Path) -> ModuleType:
    command = ["generate", str(file), "--out", str(file.parent), "--package", "nulls_that_are_values", "--lenient"]
    assert main([*command, "--target", "flyweights,scapy,wireshark"]) == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(file.parent))
        import_module("nulls_that_are_values.scapy")
        return import_module("nulls_that_are_values")


def test_it_reads_as_the_value(read: MessageSchema, package: Any) -> None:
    values: dict[str, Any] = MessageCodec(read).decode(NULL).values
    assert [values["kind"].name, values["state"].name, values["usual"]] == ["Plain", "Off", None]
    assert JsonCodec(read).decode_whole(NULL)["kind"] == "Plain"
    decoder = package.OrderDecoder().wrap_and_apply_header(NULL)
    assert (decoder.kind, decoder.state, decoder.usual) == (package.Kind.PLAIN, package.State.OFF, None)
    assert package.Order.decode(NULL) == package.Order(kind=package.Kind.PLAIN, state=package.State.OFF)
    assert package.Order.decode(SET) == package.Order(kind=package.Kind.OTHER, state=package.State.ON, usual=package.Usual.ONE)


def test_none_writes_it(read: MessageSchema, package: Any) -> None:
    assert package.Order().encode() == NULL
    assert MessageCodec(read).encode("Order", {"kind": None, "state": None, "usual": None}) == NULL


def test_no_column_takes_it_for_null(read: MessageSchema) -> None:
    assert [column.null for column in columns_of(read.messages[0], read.byte_order)] == [None, None, 255]


def test_scapy_and_wireshark_show_it(package: Any, file: Path) -> None:
    (layer,) = (one for one in vars(package.scapy).values() if getattr(one, "__name__", "") == "Order")
    read = layer(NULL[8:])
    assert (read.kind, read.state, read.usual) == (65, 255, None)
    assert bytes(layer())[-3:] == NULL[-3:]
    assert next(file.parent.rglob("*.lua")).read_text().count("NULL_VALUE") == 1
