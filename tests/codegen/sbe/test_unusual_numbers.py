"""Numbers that Python and C have no plain literal for: infinities as null values, a constant that is not a number."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path

import pytest

from tests.codegen.sbe.packages import import_native
from tests.codegen.sbe.writing import schema

TYPES = """
<type name="Up" primitiveType="double" presence="optional" nullValue="Infinity"/>
<type name="Down" primitiveType="float" presence="optional" nullValue="-Infinity"/>
<type name="No" primitiveType="double" presence="constant">NaN</type>"""
MESSAGE = """<message name="M" id="1"><field name="up" id="1" type="Up"/><field name="down" id="2" type="Down"/>
<field name="no" id="3" type="No"/></message>"""


def test_every_target_spells_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, native = import_native(schema(TYPES, MESSAGE), tmp_path, "flyweights,dtypes,arrow,scapy")
    for module in (package, native):
        for up, down in ((None, 1.5), (2.5, None), (None, None)):
            message = module.M(up=up, down=down).encode()
            assert module.M.decode(message) == module.M(up=up, down=down)
            read = module.MDecoder().wrap_and_apply_header(message)
            assert (read.up, read.down) == (up, down)
    empty = package.M().encode()
    assert empty[8:] == bytes.fromhex("000000000000f07f000080ff")
    monkeypatch.syspath_prepend(str(tmp_path))
    layers = import_module(f"{package.__name__}.scapy")
    assert bytes(layers.MessageHeader() / layers.M(up=None, down=None)) == empty
    assert math.isnan(layers.M.CONSTANTS["no"])
    columns = import_module(f"{package.__name__}.arrow").MESSAGES["M"].decode(empty, [0]).to_pydict()
    assert columns["up"] == columns["down"] == [None]
    assert math.isnan(columns["no"][0])
