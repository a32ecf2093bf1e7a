"""A composite that grew is as long in old messages as it was: every reader reads them, with no value for what is newer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aerowire.codegen.sbe.interpreter import MessageCodec
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.reader import load_message_schema
from tests.codegen.sbe.conftest import Generate
from tests.codegen.sbe.packages import import_package
from tests.codegen.sbe.writing import schema

TYPES = """<composite name="Price"><type name="mantissa" primitiveType="int32"/>{}</composite>"""
EXPONENT = '<type name="exponent" primitiveType="int8" sinceVersion="1"/>'
MESSAGES = """<sbe:message name="Quote" id="1"><field name="id" id="1" type="uint16"/><field name="price" id="2" type="Price"/>
<group name="legs" id="3"><field name="price" id="4" type="Price"/></group></sbe:message>"""
OLD = bytes.fromhex("060001000100000005000a000000" + "04000100" + "07000000")


@pytest.fixture
def grown(tmp_path: Path) -> MessageSchema:
    file = tmp_path / "grown.xml"
    file.write_text(schema(TYPES.format(EXPONENT), MESSAGES, 'version="1"'))
    return load_message_schema(file)


def test_least_block_length_grows_with_the_versions(grown: MessageSchema) -> None:
    quote = grown.messages[0]
    assert (quote.block_length, quote.growth(), quote.groups[0].growth()) == (7, ((0, 6), (1, 7)), ((0, 4), (1, 5)))


def test_interpreter_reads_an_old_message(grown: MessageSchema) -> None:
    found = MessageCodec(grown).decode(OLD)
    assert found.values == {"id": 5, "price": {"mantissa": 10, "exponent": None}, "legs": [{"price": {"mantissa": 7, "exponent": None}}]}


def test_generated_code_reads_an_old_message(grown: MessageSchema, tmp_path: Path) -> None:
    package = import_package(grown, tmp_path)
    decoder = package.QuoteDecoder().wrap_and_apply_header(OLD)
    assert (decoder.price.mantissa, decoder.price.exponent) == (10, None)
    assert [(leg.price.mantissa, leg.price.exponent) for leg in decoder.legs] == [(7, None)]
    assert package.Quote.decode(OLD).price == package.Price(mantissa=10, exponent=None)


def test_columns_of_an_old_message(grown: MessageSchema, generate: Generate) -> None:
    columns = generate(grown, "dtypes").SCHEMA.decode(OLD)["Quote"]
    np.testing.assert_array_equal(columns["price.mantissa"], [10])
    np.testing.assert_array_equal(columns.nulls("price.exponent"), [True])


def test_a_block_shorter_than_its_version_is_still_refused(grown: MessageSchema, tmp_path: Path) -> None:
    claims_to_be_new = OLD[:6] + b"\x01" + OLD[7:]
    package = import_package(grown, tmp_path)
    with pytest.raises(package.SbeError, match=r"Quote: the block is too short: expected at least 7, found 6"):
        package.QuoteDecoder().wrap_and_apply_header(claims_to_be_new)
