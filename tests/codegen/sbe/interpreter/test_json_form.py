"""The JSON of a message: the official printer's shape, and what is added to it where that does not tell all."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path
from typing import Any

import pytest

from aerowire.codegen.sbe.interpreter import EnumValue, JsonCodec, MessageCodec, MessageError, SetValue
from aerowire.codegen.sbe.reader import load_message_schema
from tests.codegen.sbe.example_messages import order_bytes, order_json
from tests.codegen.sbe.random_messages import own_schema
from tests.codegen.sbe.writing import schema

HEADER = 8


@pytest.fixture(scope="module")
def codec() -> JsonCodec:
    return JsonCodec(own_schema("orders"))


@pytest.fixture(scope="module")
def sensors() -> JsonCodec:
    return JsonCodec(own_schema("sensors"))


def test_has_the_shape_of_the_official_printer() -> None:
    flags = {"Hidden": True, "Iceberg": True, "Last": False}
    none = {"Hidden": False, "Iceberg": False, "Last": False}
    null_price = {"mantissa": -(2**63), "scale": -4}
    leg = {"symbol": "L", "price": null_price, "side": "Sell", "flags": none, "inner": {"one": 1.5, "two": 2}}
    parts = [{"share": 1, "remark": "r"}, {"share": 2, "remark": ""}]
    expected = {
        "id": 1,
        "symbol": "AB",
        "note": "né",
        "currency": "EUR",
        "kind": "Partial",
        "quantity": 2**64 - 1,
        "depth": -1,
        "ratio": 0.1,
        "weights": [1.0, 2.0, -0.0],
        "levels": [1, 2, 3, 65535],
        "tag": "\0",
        "grade": "x",
        "side": "Buy",
        "state": "null",
        "flags": flags,
        "price": {"mantissa": 5, "scale": -4},
        "leg": leg,
        "venue": 2**32 - 1,
        "limit": null_price,
        "urgent": 1,
        "fills": [{"size": 1, "state": "Partial", "fee": -7, "parts": parts, "broker": "b", "seal": "0102"}],
        "hops": [{"node": 1, "delay": 2}],
        "comment": "c",
        "payload": "",
    }
    assert order_json() == expected
    assert list(order_json()) == list(expected)


def put(raw: bytes, offset: int, content: bytes) -> bytes:
    """The message with other bytes at an offset of its block."""
    start = HEADER + offset
    return raw[:start] + content + raw[start + len(content) :]


BEYOND_THE_SHAPE: list[tuple[int, bytes, dict[str, Any]]] = [
    (73, b"\x4d", {"state$raw": 77}),
    (74, struct.pack("<H", 0x0812), {"flags": {"Hidden": False, "Iceberg": False, "Last": False}, "flags$raw": 0x0812}),
    (34, struct.pack("<f", float("inf")), {"ratio": "1/0"}),
    (34, struct.pack("<f", float("-inf")), {"ratio": "-1/0"}),
    (34, b"\0\0\xc0\x7f", {"ratio": "0/0"}),
    (34, b"\1\0\x80\x7f", {"ratio": "0/0", "ratio$raw": "0100807f"}),
    (
        38,
        b"\1\0\0\0\0\0\xf0\x7f",
        {"weights": ["0/0", 2.0, -0.0], "weights$raw": "010000000000f07f" + "0000000000000040" + "0000000000000080"},
    ),
    (8, b"A\0B\0\0\0", {"symbol": "A", "symbol$raw": "410042000000"}),
    (8, b"A\xe9\0\0\0\0", {"symbol": "A�", "symbol$raw": "41e900000000"}),
    (14, b"\xc3(\0\0\0\0\0\0", {"note": "�(", "note$raw": "c328000000000000"}),
    (71, b"\xe9", {"grade": "é"}),
    (22, b"\1\0", {"_padding": {"22": "0100"}}),
    (90, b"\0\7", {"_padding": {"90": "0007"}}),
    (159, b"\1", {"_padding": {"123": "00" * 36 + "01"}}),
]


@pytest.mark.parametrize(("offset", "content", "expected"), BEYOND_THE_SHAPE)
def test_adds_keys_for_what_the_shape_does_not_tell(codec: JsonCodec, offset: int, content: bytes, expected: dict[str, Any]) -> None:
    raw = put(order_bytes(), offset, content)
    values, _ = codec.decode(raw)
    plain = order_json()
    assert {name: value for name, value in values.items() if plain.get(name) != value} == expected
    assert codec.encode(values) == raw


def test_raw_alone_is_enough(codec: JsonCodec) -> None:
    values = order_json()
    del values["state"]
    assert codec.encode(values | {"state$raw": 77}) == put(order_bytes(), 73, b"\x4d")


def test_floats_have_as_few_digits_as_tell_them(codec: JsonCodec) -> None:
    for value, told in ((35.9, 35.9), (16777216.0, 16777216.0), (3.4028234663852886e38, 3.4028235e38), (0.3, 0.3)):
        assert codec.decode(put(order_bytes(), 34, struct.pack("<f", value)))[0]["ratio"] == told


def test_tells_messages_of_the_same_keys_apart(codec: JsonCodec) -> None:
    values = MessageCodec(codec.schema)
    beacon, pulse, tick = (
        values.encode(name, {"at": 1, "bid": 2, "ask": 3} if name == "Tick" else {"at": 1}) for name in ("Beacon", 3, "Tick")
    )
    assert codec.decode(beacon)[0] == {"_template": "Beacon", "at": 1}
    assert codec.decode(pulse)[0] == {"_template": "Pulse", "at": 1}
    assert "_template" not in codec.decode(tick)[0]
    assert codec.encode({"_template": 3, "at": 1}) == pulse
    with pytest.raises(MessageError, match=r'"_template" \(expected one of Beacon, Pulse\)'):
        codec.encode({"at": 1})
    assert JsonCodec(codec.schema, names=True).decode(tick)[0]["_template"] == "Tick"


def test_keys_pick_the_message(codec: JsonCodec) -> None:
    tick = {"at": 1, "bid": 2, "ask": 3}
    assert codec.encode(tick) == codec.encode(tick | {"size": None}) == codec.encode(tick | {"size": 2**32 - 1})
    with pytest.raises(MessageError, match="such as Tick, actual missing: ask; unknown: aks"):
        codec.encode({"at": 1, "bid": 2, "aks": 3})


def test_older_message_keeps_its_header(codec: JsonCodec) -> None:
    block = order_bytes()[HEADER : HEADER + 110]
    fills = struct.pack("<HH", 5, 1) + struct.pack("<IB", 9, 0) + struct.pack("<HH", 1, 0) + struct.pack("<H", 2) + b"me"
    raw = struct.pack("<HHHH", 110, 1, 901, 0) + block + fills + struct.pack("<H", 3) + b"old"
    values, length = codec.decode(raw)
    assert length == len(raw)
    assert values["_header"] == {"version": 0, "blockLength": 110}
    # What is absent looks as the official printer has it: the null value, where there is one.
    assert (values["venue"], values["limit"], values["urgent"], values["hops"], values["payload"]) == (
        2**32 - 1,
        {"mantissa": -(2**63), "scale": -4},
        None,
        [],
        "",
    )
    fill = {"size": 9, "state": "Open", "fee": -(2**31), "parts": [], "broker": "me", "seal": ""}
    assert values["fills"] == [fill]
    assert values["fills$header"] == {"blockLength": 5}
    assert codec.encode(values) == raw
    with pytest.raises(MessageError, match=r"Order\.hops: is not part of this version"):
        codec.encode(values | {"hops": [{"node": 1, "delay": 2}]})
    with pytest.raises(MessageError, match=r"Order\.urgent: is not part of this version"):
        codec.encode(values | {"urgent": 1})


def test_newer_message_keeps_what_is_behind_it(codec: JsonCodec) -> None:
    raw = struct.pack("<HHHH", 12, 2, 901, 9) + struct.pack("<Q", 5) + b"more" + b"a new group"
    values = codec.decode_whole(raw)
    assert values == {
        "_template": "Beacon",
        "at": 5,
        "_padding": {"8": b"more".hex()},
        "_header": {"version": 9, "blockLength": 12},
        "_rest": b"a new group".hex(),
    }
    assert codec.encode(values) == raw


def test_keeps_what_heads_have_of_their_own(sensors: JsonCodec) -> None:
    header = struct.pack(">BB2sII4sI", 1, 77, b"\0\5", 6, 70000, b"ab", 30)
    block = struct.pack(">qdI2f2s", 1, 2.5, 7, 0.5, 1.5, b"\0\1")
    peaks = struct.pack(">BHB", 1, 300, 2) + struct.pack(">h", -1) + struct.pack(">BHB", 255, 0, 2) + bytes(510)
    data = b"\2h\xe9" + struct.pack(">I4s", 1, b"\0\0\0\3") + b"\xff"
    raw = header + block + peaks + data
    values, length = sensors.decode(raw)
    assert length == len(raw)
    assert values["_header"] == {"blockLength": 30, "sequence": 6, "origin": "ab", "_padding": {"2": "0005"}}
    assert values["_padding"] == {"16": "00000007", "28": "0001"}
    assert values["peaks$header"] == {"epoch": 300}
    # More entries than the dimension's type allows: nobody encodes so many by chance.
    assert values["peaks"][0]["echoes$header"] == {"numInGroup": 255}  # type: ignore[index]
    assert (values["name"], values["image"], values["image$header"]) == ("hé", "ff", {"_padding": {"4": "00000003"}})
    assert sensors.encode(values) == raw


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"id": -1}, r"Order\.id: out of range \(expected uint64 in 0\.\.18446744073709551615, actual -1\)"),
    ({"id": 2**64}, r"Order\.id: out of range"),
    ({"id": True}, r"Order\.id: is of the wrong kind \(expected uint64, actual True\)"),
    ({"id": 1.0}, r"Order\.id: is of the wrong kind"),
    ({"id": None}, r"Order\.id: cannot be null"),
    ({"symbol": "toolong"}, r"Order\.symbol: is too long \(expected at most 6 bytes, actual 7 bytes, 'toolong'\)"),
    ({"note": "ééééé"}, r"Order\.note: is too long \(expected at most 8 bytes, actual 10 bytes"),
    ({"symbol": "a\0b"}, r"Order\.symbol: has a NUL"),
    ({"symbol": "é"}, r"Order\.symbol: has characters that its encoding does not \(expected ascii"),
    ({"grade": "ab"}, r"Order\.grade: is no single character"),
    ({"currency": "USD"}, r"Order\.currency: is a constant \(expected 'EUR', actual 'USD'\)"),
    ({"kind": "Open"}, r"Order\.kind: is a constant"),
    ({"side": "Hold"}, r"Order\.side: is no value of the enum \(expected one of Buy, Sell, null, actual 'Hold'\)"),
    ({"side$raw": 83}, r"Order\.side: differs from side\$raw \(expected 'Sell', actual 'Buy'\)"),
    ({"ratio": 1e300}, r"Order\.ratio: out of range \(expected float"),
    ({"ratio": "fast"}, r"Order\.ratio: is of the wrong kind"),
    ({"weights": [1, 2]}, r"Order\.weights: has the wrong length \(expected 3 numbers, actual 2\)"),
    ({"levels": [0, 1, 65536, 2]}, r"Order\.levels\[2\]: out of range"),
    ({"flags": {"Hiden": True}}, r"Order\.flags: is no choice of the set \(expected one of Hidden, Iceberg, Last, actual 'Hiden'\)"),
    ({"flags": {"Last": 1}}, r"Order\.flags\.Last: is of the wrong kind"),
    ({"price": 5}, r"Order\.price: is of the wrong kind \(expected an object, actual 5\)"),
    ({"price": {"mantisa": 5}}, r"Order\.price\.mantisa: is not known \(expected one of mantissa, scale\)"),
    ({"leg": {"symbol": "L", "price": {}}}, r"Order\.leg\.side: is missing"),
    ({"fills": {}}, r"Order\.fills: is of the wrong kind \(expected a list of entries"),
    ({"fills": [{}]}, r"Order\.fills\[0\]\.size: is missing"),
    ({"hops": [{"node": 1, "delay": 2}, {"node": 1, "delay": 2, "x": 3}]}, r"Order\.hops\[1\]\.x: is not known"),
    ({"payload": "0"}, r"Order\.payload: is no hex"),
    ({"payload": "00" * 65537}, r"Order\.payload: has the wrong length \(expected 0\.\.65536 bytes, actual 65537 bytes\)"),
    ({"comment": 5}, r"Order\.comment: is of the wrong kind"),
    ({"comment": "x" * 65535}, r"Order\.comment: has the wrong length \(expected 0\.\.65534 bytes"),
    ({"_header": {"version": 1}}, r"Order\.urgent: is not part of this version"),
    ({"_header": {"version": 70000}}, r"_header\.version: out of range"),
    ({"_header": {"blockLength": 3}}, r"Order: the block is too short for its version \(expected at least 123 bytes, actual 3\)"),
    ({"_header": {"speed": 3}}, r"_header\.speed: is not known"),
    ({"_padding": {"3": "00"}}, r"Order\._padding: is no offset of padding \(expected one of 22, 90, 107, actual '3'\)"),
    ({"_padding": {"22": "00"}}, r"Order\._padding\.22: has the wrong length"),
    ({"fills$header": {"numInGroup": 5}}, r"numInGroup: differs from what is there \(expected 1, actual 5\)"),
    ({"_template": "Ordre"}, r"_template: there is no such message \(expected one of Order, Beacon"),
    ({"_template": "Beacon"}, r"Beacon\.\w+: is not known"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_refuses_what_cannot_be_written_as_it_is(codec: JsonCodec, change: dict[str, Any], message: str) -> None:
    with pytest.raises(MessageError, match=message):
        codec.encode(order_json() | change)


def test_names_of_ours_give_way_to_the_schema_s(tmp_path: Path) -> None:
    field = '<field name="{}" id="{}" type="uint8" {}/>'
    fields = "".join(field.format(name, id, "") for id, name in enumerate(("_header", "_template", "_padding", "_rest"), 1))
    fields += field.format("last", 9, 'offset="6"')
    messages = "".join(f'<message name="M{id}" id="{id}">{fields}</message>' for id in (1, 2))
    file = tmp_path / "own.xml"
    file.write_text(schema("", messages), encoding="utf-8")
    codec = JsonCodec(load_message_schema(file))
    raw = struct.pack("<HHHH", 8, 2, 1, 7) + bytes(range(8)) + b"rest"
    values = codec.decode_whole(raw)
    assert values == {
        "_header": 0,
        "_template": 1,
        "_padding": 2,
        "_rest": 3,
        "last": 6,
        "__template": "M2",
        "__header": {"version": 7, "blockLength": 8},
        "__padding": {"4": "0405", "7": "07"},
        "__rest": b"rest".hex(),
    }
    assert codec.encode(values) == raw


def test_header_may_have_constants(tmp_path: Path) -> None:
    file = tmp_path / "own.xml"
    text = schema(
        "", '<message name="M" id="5"><field name="a" id="1" type="uint8"/><field name="b" id="2" type="uint8" sinceVersion="1"/></message>'
    )
    for name, value in (("schemaId", 9), ("version", 1)):
        plain = f'<type name="{name}" primitiveType="uint16"/>'
        assert plain in text
        text = text.replace(plain, f'<type name="{name}" primitiveType="uint16" presence="constant">{value}</type>')
    file.write_text(text.replace('id="1" >', 'id="1" version="1">'), encoding="utf-8")
    codec = JsonCodec(load_message_schema(file))
    raw = struct.pack("<HHBB", 2, 5, 7, 8)
    assert codec.decode(raw) == ({"a": 7, "b": 8}, 6)
    assert codec.encode({"a": 7, "b": 8}) == raw
    with pytest.raises(MessageError, match=r"_header\.version: is a constant"):
        codec.encode({"a": 7, "b": 8, "_header": {"version": 2}})


def test_arrays_without_elements_are_lists(tmp_path: Path) -> None:
    file = tmp_path / "own.xml"
    types = "".join(f'<type name="{name.title()}" primitiveType="{name}" length="0"/>' for name in ("char", "float", "uint8"))
    types += '<type name="Maybe" primitiveType="char" length="0" presence="optional"/>'
    fields = "".join(f'<field name="{name}" id="{id}" type="{name}"/>' for id, name in enumerate(("Char", "Float", "Uint8", "Maybe"), 1))
    file.write_text(schema(types, f'<message name="M" id="5">{fields}<field name="a" id="9" type="uint8"/></message>'), encoding="utf-8")
    codec = JsonCodec(load_message_schema(file))
    raw = struct.pack("<HHHHB", 1, 5, 1, 0, 7)
    values = {"Char": [], "Float": [], "Uint8": [], "Maybe": [], "a": 7}
    assert codec.decode(raw) == (values, 9)
    assert codec.encode(values) == codec.encode(values | {"Char": "", "Maybe": None}) == raw
    others: list[object] = [[65], "A", {}]
    for wrong in others:
        with pytest.raises(MessageError, match=r"M\.Char: is "):
            codec.encode(values | {"Char": wrong})


def test_values_of_enums_and_sets_know_their_names() -> None:
    codec = MessageCodec(own_schema("orders"))
    values = codec.decode(put(put(order_bytes(), 73, b"\x4d"), 74, b"\x09\x10")).values
    side, state, kind, flags = (values[name] for name in ("side", "state", "kind", "flags"))
    assert isinstance(side, EnumValue)
    assert isinstance(state, EnumValue)
    assert isinstance(kind, EnumValue)
    assert isinstance(flags, SetValue)
    assert [(int(one), one.name) for one in (side, state, kind)] == [(66, "Buy"), (77, "UNKNOWN_77"), (1, "Partial")]
    assert (int(flags), flags.names, "Last" in flags, "Hidden" in flags) == (0x1009, ("Hidden", "Iceberg"), False, True)
    again = pickle.loads(pickle.dumps(values))
    assert (again, again["side"].name, again["flags"].names) == (values, "Buy", flags.names)
    for constant in ("Partial", 1, kind, None):
        assert codec.decode(codec.encode("Order", values | {"kind": constant})).values == values
    with pytest.raises(MessageError, match=r"Order\.kind: is a constant"):
        codec.encode("Order", values | {"kind": 0})
