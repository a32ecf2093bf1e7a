"""Wireshark dissectors of messages: every kind of field, both byte orders, older and newer versions, damage, and anybody's names."""

from __future__ import annotations

import random
import struct
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from aerowire.codecs.scapy.transport import DataHeader
from aerowire.codegen.sbe.interpreter.codec import MessageCodec
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.codegen.sbe.targets.wireshark import WiresharkMessages, protocol_name
from aerowire.codegen.sources import default_spec
from aerowire.pcap import read_frames
from tests.codegen.sbe import shown
from tests.codegen.sbe.random_messages import own_schema, random_message
from tests.support.captures import tshark

ROOT = Path(__file__).resolve().parents[4]
FRAMES = ROOT / "generated/aerowire/codecs/wireshark/transport.lua"
ON_PORT = {"demo.ports": str(tshark.PORT)}
ORDER = "demo.Order"

pytestmark = tshark.needs_tshark


def dissector(folder: Path, text: str, package: str = "demo") -> Path:
    (folder / f"{package}.xml").write_text(text, encoding="utf-8")
    (script,) = WiresharkMessages().render(load_message_schema(folder / f"{package}.xml"), Placement(package)).items()
    assert script[0] == f"{package.replace('.', '/')}/{package.rpartition('.')[2]}.lua"
    path = folder / f"{package}.lua"
    path.write_text(script[1], encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=["<", ">"], ids=["little", "big"])
def order(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def script(order: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dissector(tmp_path_factory.mktemp("shown"), shown.schema_text(order))


VALUES = {
    "demo.header.sequence": ["5"],
    f"{ORDER}.id": [str(2**64 - 2)],
    f"{ORDER}.price": ["-12345"],
    f"{ORDER}.quantity": ["77"],
    f"{ORDER}.ratio": ["0.25"],
    f"{ORDER}.side": [str(ord("S"))],
    f"{ORDER}.state": ["2"],
    f"{ORDER}.marks": ["0x8201"],
    f"{ORDER}.marks.local": ["1"],
    f"{ORDER}.marks.hidden": ["1"],
    f"{ORDER}.marks.last": ["1"],
    f"{ORDER}.symbol": ["ABC"],
    f"{ORDER}.letter": ["x"],
    f"{ORDER}.levels": ["1", "-2", "300"],
    f"{ORDER}.digest": ["0102feff"],
    f"{ORDER}.money.mantissa": [str(2**62 + 1)],
    f"{ORDER}.money.exponent": ["-2"],
    f"{ORDER}.money.fee.rate": ["1.5"],
    f"{ORDER}.money.fee.payer": [str(ord("B"))],
    f"{ORDER}.money.fee.marks.local": ["0"],
    f"{ORDER}.money.fee.marks.hidden": ["1"],
    f"{ORDER}.lot": ["100"],
    f"{ORDER}.greatest": [str(2**64 - 2)],
    f"{ORDER}.venue": ["XDEM"],
    f"{ORDER}.kind": ["1"],
    f"{ORDER}.nil": ["-9"],
    f"{ORDER}.class": ["7"],
    f"{ORDER}.fills.dimension.numInGroup": ["2"],
    f"{ORDER}.fills.size": ["10", "20"],
    f"{ORDER}.fills.parts.part": ["1", "-1"],
    f"{ORDER}.fills.note": ["é€", ""],
    f"{ORDER}.fills.note.length": ["5", "0"],
    f"{ORDER}.function.ticks": ["4", "-4"],
    f"{ORDER}.text": ["hello"],
    f"{ORDER}.blob": ["00ff"],
    f"{ORDER}.late": ["late"],
    "_ws.expert.message": [],
}


def test_every_field_has_its_value(order: str, script: Path, tmp_path: Path) -> None:
    path = tshark.capture(tmp_path / "order.pcap", [shown.whole_order(order)])
    (found,) = tshark.fields(path, list(VALUES), [script], ON_PORT)
    # An empty text in the last place cannot be told from none in a list of values.
    assert found | {f"{ORDER}.fills.note": [*found[f"{ORDER}.fills.note"], ""][:2]} == VALUES


def test_nulls_and_constants_are_shown_as_such(order: str, script: Path, tmp_path: Path) -> None:
    path = tshark.capture(tmp_path / "null.pcap", [shown.whole_order(order, null=True), shown.whole_order(order)])
    text = tshark.details(path, "demo", [script], ON_PORT)
    nulls, values = text.split("Frame 2:")
    for name in ("price", "quantity", "ratio", "state"):
        assert f"        {name}: null\n" in nulls
        assert f"{name}: null" not in values
    for line in (
        "side: SELL (83)",
        "state: LATE (2)",
        "marks: 0x8201 (last, hidden, local)",
        "    .... ..1. .... .... = hidden: Set",
        "[lot: 100]",
        "[venue: XDEM]",
        "[kind: end (1)]",
        "fills: 2 entries",
        "fills[1]",
        "24 bytes behind the fields",
    ):
        assert line in values or line.startswith("24 ")
    assert "demo (demo): Order, template 1, version 2, " in values


@pytest.mark.parametrize("version", [0, 1])
def test_older_messages_lack_what_came_later(version: int, order: str, script: Path, tmp_path: Path) -> None:
    path = tshark.capture(tmp_path / "old.pcap", [shown.old_order(order, version)])
    (found,) = tshark.fields(path, list(VALUES), [script], ON_PORT)
    absent = {f"{ORDER}.class", f"{ORDER}.function.ticks", f"{ORDER}.late"} | ({f"{ORDER}.nil"} if version == 0 else set())
    assert {name for name in VALUES if not found[name] and VALUES[name]} == absent
    assert found[f"{ORDER}.text"] == ["hello"]
    assert found["_ws.expert.message"] == []


def test_newer_messages_are_read_as_far_as_the_schema_goes(order: str, script: Path, tmp_path: Path) -> None:
    path = tshark.capture(tmp_path / "newer.pcap", [shown.newer_order(order)])
    names = [f"{ORDER}.fills.size", f"{ORDER}.fills.note", f"{ORDER}.text", f"{ORDER}.late", "demo.undissected", "_ws.expert.message"]
    (found,) = tshark.fields(path, names, [script], ON_PORT)
    assert found == {
        f"{ORDER}.fills.size": ["10"],
        f"{ORDER}.fills.note": ["n"],
        f"{ORDER}.text": ["t"],
        f"{ORDER}.late": ["l"],
        "demo.undissected": ["cccccccc", "aabb"],
        "_ws.expert.message": ["version is 3, newer than this schema's 2"],
    }


def damaged(order: str) -> list[tuple[bytes, str]]:
    head, block = shown.header(order), shown.order_block(order)
    fills = len(head) + len(block)
    whole = shown.whole_order(order)
    return [
        (whole[:7], "a header needs 14 bytes, 7 are there"),
        (whole[:40], "ratio needs 28 bytes of the block, 26 are there"),
        (whole[:40], "Order: its block takes 96 bytes, 26 are there"),
        (shown.header(order, block=30) + block[:30], "marks needs 32 bytes of the block, 30 are there"),
        (whole[: fills + 2], "fills: its dimension needs 3 bytes, 2 are there"),
        (head + block + shown.dimension(order, 4, 200) + bytes(9), "fills: 200 entries of 4 bytes are announced, 9 bytes are there"),
        (head + block + shown.dimension(order, 60_000, 1), "fills: 1 entries of 60000 bytes are announced, 0 bytes are there"),
        (whole[:-3], "late: its length is 4, but 1 bytes are there"),
        (whole[:-5], "late: its length needs 2 bytes, 1 are there"),
        (whole[:-12] + struct.pack(order + "I", 2**32 - 1), "blob: its length is 4294967295, but 0 bytes are there"),
        (shown.header(order, template=9) + block, "schema 77 has no template 9"),
        (shown.header(order, schema=2**32 - 1) + block, "schema id is 4294967295, this is the dissector of schema 77"),
        (head + block[:29] + b"\x63" + block[30:] + shown.order_tail(order), "state is 99, which has no name"),
        (head + block[:28] + b"?" + block[29:] + shown.order_tail(order), "side is 63, which has no name"),
    ]


def test_damage_is_told_where_it_is(order: str, script: Path, tmp_path: Path) -> None:
    cases = damaged(order)
    path = tshark.capture(tmp_path / "damaged.pcap", [payload for payload, _ in cases])
    found = tshark.fields(path, ["_ws.expert.message"], [script], ON_PORT)
    for (_, said), packet in zip(cases, found, strict=True):
        assert any(said in message for message in packet["_ws.expert.message"]), (said, packet)


def test_no_bytes_make_it_fail_or_hang(order: str, script: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    sound = [shown.whole_order(order), shown.old_order(order, 0), shown.newer_order(order)]
    mutated = []
    for _ in range(700):
        data = bytearray(chance.choice(sound))
        for _ in range(chance.randint(1, 5)):
            data[chance.randrange(len(data))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        mutated.append(bytes(data[: chance.randint(1, len(data))]))
    nothing = shown.header(order, template=2, block=0) + shown.dimension(order, 0, 255)
    mutated += [nothing * 3500, nothing + bytes(60_000)]
    found = tshark.fields(tshark.capture(tmp_path / "mutated.pcap", mutated), ["frame.protocols"], [script], ON_PORT)
    assert all("demo" in packet["frame.protocols"][0] for packet in found)


def test_several_messages_in_a_datagram(tmp_path: Path) -> None:
    script = dissector(tmp_path, shown.schema_text("<"))
    empty = shown.header("<", template=2, block=0) + shown.dimension("<", 0, 0)
    path = tshark.capture(tmp_path / "many.pcap", [b"\0" * 10 + shown.whole_order() + empty * 2 + b"end"])
    names = ["demo.header.templateId", "_ws.col.Info", "_ws.col.Protocol", "demo.undissected"]
    (found,) = tshark.fields(path, names, [script], ON_PORT | {"demo.skip": "10"})
    assert list(found.values()) == [["1", "2", "2"], ["Order, Empty, Empty"], ["demo"], [b"end".hex()]]


def test_messages_in_aeron_frames(tmp_path: Path) -> None:
    script = dissector(tmp_path, shown.schema_text("<"))
    whole = shown.whole_order()
    datagrams = [
        DataHeader(stream_id=10, data=whole) / DataHeader(stream_id=10, term_offset=256, data=whole),
        DataHeader(stream_id=10, flags="BEGIN", data=whole[:150]),
        DataHeader(stream_id=10, flags="END", data=whole[150:]),
        DataHeader(stream_id=11, data=b"something else, of thirty and more bytes"),
        DataHeader(stream_id=12, data=shown.header("<", schema=5) + bytes(96)),
    ]
    path = tshark.capture(tmp_path / "frames.pcap", [bytes(one) for one in datagrams])
    for scripts in ([FRAMES, script], [script, FRAMES]):
        found = tshark.fields(path, [f"{ORDER}.id", "_ws.expert.message"], scripts)
        assert [len(packet[f"{ORDER}.id"]) for packet in found] == [2, 1, 0, 0, 0]
        assert "the first of several fragments; what the others hold is not shown" in found[1]["_ws.expert.message"]
        assert found[0]["_ws.expert.message"] == found[3]["_ws.expert.message"] == []
    bound = tshark.fields(path, ["demo.header.schemaId", "_ws.col.Info"], [FRAMES, script], {"demo.streams": "12-13,-4"})
    assert [packet["demo.header.schemaId"] for packet in bound] == [[], [], [], [], ["5"]]
    assert bound[4]["_ws.col.Info"][0].endswith(" message of schema 5")


def test_messages_within_wireshark_s_own_aeron_dissector(tmp_path: Path) -> None:
    script = dissector(tmp_path, shown.schema_text("<"))
    path = tshark.capture(tmp_path / "own.pcap", [bytes(DataHeader(stream_id=10, data=shown.whole_order()))])
    preferences = {"aeron.use_heuristic_subdissectors": "TRUE"}
    more = ["-d", f"udp.port=={tshark.PORT},aeron"]
    (found,) = tshark.fields(path, [f"{ORDER}.id", f"{ORDER}.late"], [script], preferences, more)
    assert list(found.values()) == [[str(2**64 - 2)], ["late"]]


def test_message_behind_another_schema_s(tmp_path: Path) -> None:
    outer = dissector(tmp_path, shown.schema_text("<"))
    message = '<sbe:message name="Tick" id="2"><field name="at" id="1" type="uint16"/></sbe:message>'
    inner = dissector(tmp_path, schema_of(message), "inner")
    empty = shown.header("<", template=2, block=0) + shown.dimension("<", 0, 0)
    tick = struct.pack("<5H", 2, 2, 5, 0, 77)
    frames = [DataHeader(stream_id=10, data=empty + tick), DataHeader(stream_id=10, data=empty + b"anything but that")]
    path = tshark.capture(tmp_path / "behind.pcap", [bytes(frame) for frame in frames])
    names = ["inner.Tick.at", "demo.header.templateId", "demo.undissected", "_ws.expert.message"]
    for preferences in ({}, {"inner.streams": "10"}, {"demo.streams": "10"}):
        first, second = tshark.fields(path, [*names, "_ws.col.Info"], [FRAMES, inner, outer], preferences)
        assert first.pop("_ws.col.Info")[0].endswith(" Empty Tick")
        assert list(first.values()) == [["77"], ["2"], [], []]
        assert [second[name] for name in names] == [[], ["2"], [b"anything but that".hex()], []]


@pytest.mark.parametrize("name", ["archive_control", "cluster_election_session"])
def test_messages_of_official_programs(name: str) -> None:
    path = ROOT / f"tests/data/captures-archive-cluster/{name}.pcap.gz"
    scripts = [FRAMES, *(FRAMES.with_name(f"{one}.lua") for one in ("archive", "cluster"))]
    names = [f"aerowire_{one}.header.templateId" for one in ("archive", "cluster")]
    # Some of the ports are other protocols' for Wireshark, which the preference overrules.
    found = tshark.fields(path, [*names, "_ws.expert.message"], scripts, {"aerowire.ports": "1024-65535"})
    assert not [packet["_ws.expert.message"] for packet in found if packet["_ws.expert.message"]]
    counted = Counter(
        (schema, int(one)) for packet in found for schema, field in zip((101, 111), names, strict=True) for one in packet[field]
    )
    wanted: Counter[tuple[int, int]] = Counter()
    known = {load_message_schema(default_spec() / f"{one}.xml") for one in ("archive", "cluster")}
    for row in read_frames(path, columns=["type", "flags", "payload"]).to_pylist():
        if row["type"] == "DATA" and row["flags"] & 0x80 and len(row["payload"] or b"") >= 8:
            _, template, schema, _ = struct.unpack_from("<4H", row["payload"])
            if any(one.id == schema and one.message(template) is not None for one in known):
                wanted[schema, template] += 1
    assert counted == wanted
    assert len(wanted) > 10


HEADER = """<types><composite name="messageHeader"><type name="blockLength" primitiveType="uint16"/>
  <type name="templateId" primitiveType="uint16"/><type name="schemaId" primitiveType="uint16"/>
  <type name="version" primitiveType="uint16"/></composite>"""


def schema_of(messages: str, types: str = "") -> str:
    return f"""<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" package="x" id="5" version="0" byteOrder="littleEndian">
{HEADER}{types}</types>{messages}</sbe:messageSchema>"""


def test_as_many_fields_as_anybody_has(tmp_path: Path) -> None:
    fields = "".join(f'<field name="f{index}" id="{index}" type="uint8"/>' for index in range(1, 401))
    messages = "".join(f'<sbe:message name="M{number}" id="{number}">{fields}</sbe:message>' for number in range(1, 21))
    script = dissector(tmp_path, schema_of(messages), "big")
    data = struct.pack("<4H", 400, 20, 5, 0) + bytes(index % 256 for index in range(400))
    (found,) = tshark.fields(tshark.capture(tmp_path / "big.pcap", [data]), ["big.M20.f400"], [script], {"big.ports": str(tshark.PORT)})
    assert found == {"big.M20.f400": [str(399 % 256)]}


def test_names_and_descriptions_are_never_code(tmp_path: Path) -> None:
    names = ["end", "function", "length", "header", "Größe", "x_1", "print"]
    fields = "".join(
        f'<field name="{name}" id="{index}" type="T" description="]] &quot;\\&#10;--[[ end %s"/>' for index, name in enumerate(names, 1)
    )
    types = '<type name="T" primitiveType="uint8"/>'
    message = f'<sbe:message name="nil" id="1">{fields}</sbe:message><sbe:message name="header" id="2">{fields}</sbe:message>'
    script = dissector(tmp_path, schema_of(message, types).replace('package="x"', 'package="x" description="]]&#10;error(1) --[["'), "http")
    data = struct.pack("<4H", 7, 1, 5, 0) + bytes(range(7))
    # Wireshark has a protocol http, and the same file may be loaded twice: each gets a name that is free.
    filters = ["http_sbe.nil.end", "http_sbe.nil.Gr_f6__df_e", "http_sbe3.nil.print", "http_sbe.header_2.end"]
    path = tshark.capture(tmp_path / "names.pcap", [data])
    (found,) = tshark.fields(path, filters, [script, script], {"http_sbe.ports": str(tshark.PORT)})
    assert list(found.values()) == [["0"], ["4"], [], []]


@pytest.mark.parametrize(("package", "name"), [("a.b-C", "a.b_2d_c"), ("in", "sbe_in"), ("9x", "sbe_9x"), ("é", "_e9_")])
def test_protocol_is_called_as_the_package(package: str, name: str) -> None:
    assert protocol_name(Placement(package)) == name


@pytest.mark.parametrize("told", ["5", "6"])
def test_constant_in_the_header_takes_no_bytes(told: str, tmp_path: Path) -> None:
    header = f"""<types><composite name="messageHeader"><type name="templateId" primitiveType="uint8"/>
      <type name="blockLength" primitiveType="uint8"/><type name="schemaId" primitiveType="uint16" presence="constant">{told}</type>
      <type name="version" primitiveType="uint8"/></composite>"""
    message = '<sbe:message name="Tick" id="2"><field name="at" id="1" type="uint16"/></sbe:message>'
    script = dissector(tmp_path, schema_of(message).replace(HEADER, header), "bare")
    path = tshark.capture(tmp_path / "bare.pcap", [b"\x02\x02\x00\x07\x00"])
    (found,) = tshark.fields(
        path, ["bare.Tick.at", "bare.header.schemaId", "_ws.expert.message"], [script], {"bare.ports": str(tshark.PORT)}
    )
    assert list(found.values()) == [["7"], [told], []]


def leaves(path: str, value: Any, found: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Values by the names of their filters, in wire order; an array of numbers is one value."""
    if isinstance(value, dict):
        for name, one in value.items():
            leaves(f"{path}.{name}", one, found)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for one in value:
            leaves(path, one, found)
    elif not isinstance(value, list) or value:
        found[path].append(value)
    return found


def is_shown(values: list[Any], printed: list[str]) -> bool:
    """Are these numbers, rows of numbers and bytes what tshark prints?"""
    rows = [value for value in values if isinstance(value, list)]
    if rows and printed == [bytes(row).hex() for row in rows if all(isinstance(one, int) and 0 <= one < 256 for one in row)]:
        return True
    flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
    if any(isinstance(one, bytes) for one in flat):
        return printed == [one.hex() for one in flat if one]
    if len(flat) != len(printed):
        return False
    pairs = zip(flat, printed, strict=True)
    return all(
        float(text) == pytest.approx(one, rel=1e-5, nan_ok=True) if isinstance(one, float) else int(text, 0) == one for one, text in pairs
    )


@pytest.mark.parametrize("name", ["trading", "shop", "sensors", "orders", "shown"])
def test_random_messages_are_read_as_the_interpreter_reads_them(name: str, tmp_path: Path, seed: int) -> None:
    schema = own_schema(name)
    chance = random.Random(seed)
    versions = range(schema.version + 1)
    messages = [(one, random_message(schema, one, chance, chance.choice(versions))) for one in schema.messages for _ in range(25)]
    decoded = [leaves(f"drawn.{one.name}", MessageCodec(schema).decode(data).values, defaultdict(list)) for one, data in messages]
    ((_, text),) = WiresharkMessages().render(schema, Placement("drawn")).items()
    (tmp_path / "drawn.lua").write_text(text)
    texts = {path for one in decoded for path, values in one.items() if any(isinstance(value, str) for value in values)}
    names = sorted({path for one in decoded for path in one if path.isascii()} - texts)
    path = tshark.capture(tmp_path / "drawn.pcap", [data for _, data in messages])
    found = tshark.fields(path, [*names, "_ws.expert.message"], [tmp_path / "drawn.lua"], {"drawn.ports": str(tshark.PORT)})
    compared = 0
    for values, packet in zip(decoded, found, strict=True):
        # Wireshark itself says so of text with a NUL in it.
        usual = ("which has no name", "Trailing stray characters")
        damaged = [said for said in packet["_ws.expert.message"] if not said.endswith(usual)]
        assert damaged == []
        for leaf in names:
            numbers = values.get(leaf, [])
            if numbers and None not in numbers:  # a null and what is not there are both None
                assert is_shown(numbers, packet[leaf]), (leaf, numbers, packet[leaf])
                compared += len(numbers)
    assert compared > 100


def test_text_of_wide_and_of_other_characters(tmp_path: Path) -> None:
    kinds = [
        ("wide", "UTF-16LE", "a\u0100"),
        ("big", "UTF-16BE", "a\u0100"),
        ("latin", "ISO-8859-1", "aé"),
        ("utf", "UTF-8", "a€"),
        ("plain", "", "ab"),
    ]
    types = "".join(f'<type name="{name}" primitiveType="char" length="8" characterEncoding="{encoding}"/>' for name, encoding, _ in kinds)
    fields = "".join(f'<field name="{name}" id="{number}" type="{name}"/>' for number, (name, _, _) in enumerate(kinds, 1))
    script = dissector(tmp_path, schema_of(f'<sbe:message name="Text" id="1">{fields}</sbe:message>', types), "texts")
    data = struct.pack("<4H", 40, 1, 5, 0) + b"".join(text.encode(encoding or "ascii").ljust(8, b"\0") for _, encoding, text in kinds)
    path = tshark.capture(tmp_path / "texts.pcap", [data])
    (found,) = tshark.fields(path, [f"texts.Text.{name}" for name, _, _ in kinds], [script], {"texts.ports": str(tshark.PORT)})
    assert list(found.values()) == [[text] for _, _, text in kinds]
