"""A schema of somebody else's, with what the project's own do not use: floats, counted entries, members behind them, wide constants."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from aerowire.codegen.main import main

SCHEMA = """<?xml version="1.0"?>
<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" xmlns:aw="urn:aerowire:layout" package="own" id="9" description="Own.">
  <aw:constant name="LEAST" type="int64" value="-9223372036854775808" description="Wide."/>
  <aw:constant name="TEXT" type="string" value="it's" description="Text."/>
  <aw:constant name="TAGS" type="int32" value="2" description="Tags of a key."/>
  <aw:struct name="Point" description="A point.">
    <aw:field name="x" type="double" description="East."/> <aw:field name="y" type="float" description="North."/>
  </aw:struct>
  <aw:struct name="Item" align="4" description="An item.">
    <aw:field name="id" type="uint16" description="Id."/>
    <aw:var name="text" lengthType="uint8" encoding="utf-8" description="Text."/>
  </aw:struct>
  <aw:struct name="Box" description="A box.">
    <aw:field name="kind" type="uint8" description="Kind."/>
    <aw:field name="count" type="uint16" description="How many."/>
    <aw:field name="triple" type="int32" count="3" description="Three."/>
    <aw:variant name="shape" on="kind" description="Shape.">
      <aw:case value="1" struct="Point"/> <aw:case value="2" length="3"/>
    </aw:variant>
    <aw:repeat name="items" struct="Item" count="count" description="Items."/>
    <aw:var name="note" lengthType="uint16" align="2" encoding="utf-8" description="A note."/>
  </aw:struct>
  <aw:struct name="Tag" description="A tag.">
    <aw:field name="number" type="int64" description="Number."/>
  </aw:struct>
  <aw:struct name="Key" description="A key.">
    <aw:field name="text_length" type="uint8" description="Bytes of the text."/>
    <aw:var name="text" length="text_length" encoding="ascii" description="A text."/>
    <aw:repeat name="tags" struct="Tag" count="TAGS" description="Tags, in whatever place."/>
    <aw:var name="left" length="rest" description="What is left."/>
  </aw:struct>
  <aw:region name="File" description="A file.">
    <aw:section name="head" struct="Point" description="Head."/>
    <aw:section name="body" field="n" times="2" align="64" description="Body."/>
  </aw:region>
</sbe:messageSchema>
"""
PROBE = """
import json
from aerowire.codecs.dtypes import own as dtypes
from aerowire.codecs.flyweights import own
point = own.PointEncoder.encode(x=1.5, y=2.5)
items = [own.ItemEncoder.encode(id=1, text="ab"), own.ItemEncoder.encode(id=2, text="abcdef")]
data = own.BoxEncoder.encode(kind=1, triple=(1, -2, 3), shape=point, items=items, note="h\\u00e9")
box = own.BoxDecoder(data)
writable = bytearray(data)
own.BoxEncoder(writable).triple = (4, 5, 6)
tags = [own.TagEncoder.encode(number=number) for number in (-7, 8)]
key = own.KeyEncoder.encode(text="abc", tags=tags, left=b"xy")
try:
    own.KeyEncoder.encode(text="abc", tags=tags[:1])
except ValueError as error:
    refused = str(error)
print(json.dumps({
    "key": key.hex(), "tags": [tag.number for tag in own.KeyDecoder(key).tags], "left": bytes(own.KeyDecoder(key).left).decode(),
    "refused": refused,
    "data": data.hex(), "length": box.encoded_length, "kind": box.kind, "count": box.count, "triple": box.triple,
    "point": [own.PointDecoder(box.shape).x, own.PointDecoder(box.shape).y], "note": box.note,
    "items": [(item.id, item.text) for item in box.items], "written": own.BoxDecoder(writable).triple,
    "file": [own.File(n=33).body_offset, own.File(n=33).total_length], "least": own.LEAST, "text": own.TEXT,
    "dtype": [dtypes.POINT.itemsize, str(dtypes.POINT["x"]), dtypes.BOX.fields["triple"][1]],
}))
"""
NATIVE = """
from libc.stdint cimport uint8_t
from aerowire.codecs.native.own cimport LEAST, box_set_triple_at, box_triple_at, file_body_offset, file_length, point_set_x, point_x
def go(bytearray data):
    cdef uint8_t* p = <uint8_t*><char*>data
    point_set_x(p, 1.5)
    x = point_x(p)
    box_set_triple_at(p, 2, -1)
    return x, box_triple_at(p, 2), LEAST, file_body_offset(33), file_length(33)
"""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "own.xml").write_text(SCHEMA)
    assert main(["generate", str(tmp_path / "own.xml"), "--out", str(tmp_path / "out")]) == 0
    return tmp_path / "out"


def test_flyweights_and_dtypes_of_it(out: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(out)}
    done = subprocess.run([sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True, check=True)
    fixed = "01020001000000feffffff03000000"
    point, items, note = "000000000000f83f00002040", "0100026162000000020006616263646566000000"[:40], "030068c3a9"
    found = json.loads(done.stdout)
    assert found.pop("data").startswith(fixed + point + items[:8])
    assert found.pop("length") == len(bytes.fromhex(fixed + point)) + 8 + 12 + 1 + len(bytes.fromhex(note))
    assert found == {
        "kind": 1,
        "count": 2,
        "triple": [1, -2, 3],
        "point": [1.5, 2.5],
        "note": "h\u00e9",
        "items": [[1, "ab"], [2, "abcdef"]],
        "written": [4, 5, 6],
        "file": [12, 12 + 128],
        "least": -(2**63),
        "text": "it's",
        "dtype": [12, "float64", 3],
        "key": "03616263" + "f9ffffffffffffff" + "0800000000000000" + "7879",
        "tags": [-7, 8],
        "left": "xy",
        "refused": "Key has 2 tags, not 1",
    }


def test_native_accessors_of_it(out: Path, compile_cython: Callable[[str, str, Path], ModuleType]) -> None:
    module = compile_cython("own_probe", NATIVE, out)
    assert module.go(bytearray(64)) == (1.5, -1, -(2**63), 12, 140)
