"""The files of a schema that columns are decoded by: found, included, changed, and not needed elsewhere."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.pcap.sbe import SbeSchemaError, decode, encode, load_schema
from tests.pcap.sbe.test_columns import MARKET, TRADE, TRADE_VALUES


def test_a_wrong_schema_or_name_says_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(SbeSchemaError, match="has no message 'Trades'; expected one of Trade, Book"):
        decode(pa.array([TRADE]), MARKET, message="Trades")
    with pytest.raises(SbeSchemaError, match=r"missing.xml: expected a file with an SBE schema: No such file"):
        load_schema(tmp_path / "missing.xml")
    with pytest.raises(SbeSchemaError, match=r"archiv: expected a file .* Aeron's own are called archive, "):
        load_schema("archiv")
    wrong = tmp_path / "wrong.xml"
    wrong.write_text(MARKET.read_text().replace('type="uint32" description="Units traded', 'type="uint46" description="Units traded'))
    with pytest.raises(SbeSchemaError, match=r"wrong.xml:39:35: error: type 'uint46' of field 'quantity' is unknown"):
        load_schema(wrong)
    with pytest.raises(SbeSchemaError, match=r"expected a path, one of archive, .*, found int"):
        load_schema(5)  # type: ignore[arg-type]
    with pytest.raises(SbeSchemaError, match="mode: expected one of PERMISSIVE, FAILFAST, found 'DROP'"):
        decode(pa.array([TRADE]), MARKET, mode="DROP")
    with pytest.raises(SbeSchemaError, match="corrupt_record: 'time' is also a member of Trade"):
        decode(pa.array([TRADE]), MARKET, message="Trade", corrupt_record="time")
    with pytest.raises(SbeSchemaError, match="has versions 0 to 1, found 2"):
        encode(decode(pa.array([TRADE]), MARKET), MARKET, version=2)


def test_one_text_is_generated_once_and_a_changed_file_is_another_schema(tmp_path: Path) -> None:
    first, second = tmp_path / "first.xml", tmp_path / "second.xml"
    first.write_text(MARKET.read_text())
    second.write_text(MARKET.read_text())
    assert load_schema(first) is load_schema(second)
    first.write_text(MARKET.read_text().replace('name="quantity"', 'name="amount"'))
    assert decode(pa.array([TRADE]), first, message="Trade").to_pylist()[0]["amount"] == 10
    assert decode(pa.array([TRADE]), second, message="Trade").to_pylist()[0]["quantity"] == 10


def test_a_schema_includes_files_of_other_folders_only_where_include_roots_allow_it(tmp_path: Path) -> None:
    header = "".join(f'<type name="{one}" primitiveType="uint16"/>' for one in ("blockLength", "templateId", "schemaId", "version"))
    (tmp_path / "common").mkdir()
    (tmp_path / "trading").mkdir()
    (tmp_path / "common" / "types.xml").write_text(f'<types><composite name="messageHeader">{header}</composite></types>')
    schema = tmp_path / "trading" / "orders.xml"
    schema.write_text(
        '<messageSchema package="orders" id="7" version="0" xmlns:xi="http://www.w3.org/2001/XInclude">'
        '<xi:include href="../common/types.xml"/>'
        '<message name="Order" id="1"><field name="number" id="1" type="uint16"/></message></messageSchema>'
    )
    with pytest.raises(SbeSchemaError, match=r"outside of the schema's folder.*include_roots=\[DIR\] allows"):
        load_schema(schema)
    loaded = load_schema(schema, include_roots=[tmp_path / "common"])
    message = bytes.fromhex("0200 0100 0700 0000 2a00")
    assert decode(pa.array([message]), loaded, message="Order").to_pylist()[0]["number"] == 42
    assert decode(pa.array([message]), schema, message="Order", include_roots=[tmp_path / "common"]).to_pylist()[0]["number"] == 42
    order = pa.array([{"number": 42}])
    assert encode(order, schema, message="Order", include_roots=[tmp_path / "common"]).to_pylist() == [message]
    with pytest.raises(SbeSchemaError, match="outside of the schema's folder"):
        encode(order, schema, message="Order")


@pytest.mark.parametrize(("roots", "found"), [("/common", "'/common'"), (Path("/common"), "/common"), (7, "7"), (None, "None"), ([7], "7")])
def test_include_roots_are_a_sequence_of_paths(roots: object, found: str) -> None:
    with pytest.raises(SbeSchemaError, match=f"include_roots: expected .* folder.*, found .*{found}"):
        load_schema(MARKET, include_roots=roots)  # type: ignore[arg-type]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("namespace", ["2001/XInclude", "2003/XInclude", "2001/X&#73;nclude"])
def test_a_schema_that_includes_a_file_is_read_again_when_that_file_changes(tmp_path: Path, encoding: str, namespace: str) -> None:
    header = "".join(f'<type name="{one}" primitiveType="uint16"/>' for one in ("blockLength", "templateId", "schemaId", "version"))
    types = f'<types><composite name="messageHeader">{header}</composite><type name="Size" primitiveType="%s"/></types>'
    schema = tmp_path / "orders.xml"
    schema.write_text(
        f'<?xml version="1.0" encoding="{encoding}"?>'
        f'<messageSchema package="orders" id="7" version="0" xmlns:xi="http://www.w3.org/{namespace}"><xi:include href="types.xml"/>'
        '<message name="Order" id="1"><field name="number" id="1" type="Size"/></message></messageSchema>',
        encoding=encoding,
    )
    for kind in ("uint16", "uint32"):
        (tmp_path / "types.xml").write_text(types % kind)
        empty = pa.array([], pa.binary())
        assert str(decode(empty, schema, message="Order").type.field("number").type) == kind


def test_a_loaded_schema_needs_neither_its_file_nor_the_code_generator_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "market.xml"
    path.write_text(MARKET.read_text())
    parcel = pickle.dumps(load_schema(path))
    path.unlink()
    code = f"""
import pickle, sys
import pyarrow as pa
schema = pickle.loads({parcel!r})
from aerowire.pcap.sbe import decode
assert decode(pa.array([{TRADE!r}]), schema, message="Trade", mode="FAILFAST").to_pylist() == [{TRADE_VALUES!r}]
assert not [name for name in sys.modules if name.startswith(("aerowire.codegen", "lxml", "jinja2", "pyspark"))]
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_package_of_captures_does_not_load_it() -> None:
    code = "import sys, aerowire.pcap; assert not [name for name in sys.modules if 'sbe' in name or name.startswith('pyarrow')]"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(
    ("encoding", "namespace"),
    [
        ("utf-8", "http://www.w3.org/2001/XInclude"),
        ("utf-8", "http://www.w3.org/2003/XInclude"),
        ("utf-8", "http://www.w3.org/2001/XInclud&#101;"),
        ("utf-16", "http://www.w3.org/2001/XInclude"),
        ("iso-8859-15", "http://www.w3.org/2001/XInclude"),
        ("shift_jis", "http://www.w3.org/2001/XInclude"),
    ],
)
def test_a_schema_that_includes_files_is_read_again_when_they_change(tmp_path: Path, encoding: str, namespace: str) -> None:
    text = f"""<?xml version="1.0" encoding="{encoding}"?>
<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" xmlns:xi="{namespace}" package="own" id="1">
<types><composite name="messageHeader"><type name="blockLength" primitiveType="uint16"/><type name="templateId" primitiveType="uint16"/>
<type name="schemaId" primitiveType="uint16"/><type name="version" primitiveType="uint16"/></composite></types>
<xi:include href="message.xml"/></sbe:messageSchema>"""
    schema, message = tmp_path / "schema.xml", tmp_path / "message.xml"
    schema.write_bytes(text.encode(encoding))
    found: list[str] = []
    for name in ("First", "Second"):
        message.write_text(f'<sbe:message xmlns:sbe="http://fixprotocol.io/2016/sbe" name="{name}" id="1"/>')
        found += load_schema(schema).messages
    assert found == ["First", "Second"]
