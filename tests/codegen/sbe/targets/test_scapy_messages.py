"""Scapy layers of messages: the same bytes there and back, what is computed, what may be forged, and that no bytes make them fail."""

from __future__ import annotations

import importlib
import random
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.packet import Packet, Raw

from aerowire.codecs.scapy.transport import DataHeader, aeron_frames, bind_data
from aerowire.codegen.sbe.interpreter.codec import MessageCodec
from aerowire.codegen.sbe.ir import Block, Presence
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.codegen.sbe.targets.scapy import ScapyMessages
from aerowire.codegen.sbe.targets.scapy_names import RESERVED, layer_names
from tests.codegen.sbe import shown
from tests.codegen.sbe.random_messages import SCHEMAS, own_schema, random_message
from tests.codegen.sbe.writing import schema as written


def load(folder: Path, text: str, name: str) -> Any:
    (folder / f"{name}.xml").write_text(text, encoding="utf-8")
    found = ScapyMessages().render(load_message_schema(folder / f"{name}.xml"), Placement(name))
    assert set(found) == {f"{name}/scapy.py", f"{name}/_scapy.py"}
    (folder / name).mkdir()
    for path, source in found.items():
        (folder / path).write_text(source, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        return importlib.import_module(f"{name}.scapy")


@pytest.fixture(scope="module", params=["<", ">"], ids=["little", "big"])
def order(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def layers(order: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    name = {"<": "little", ">": "big"}[order]
    return load(tmp_path_factory.mktemp("layers"), shown.schema_text(order), f"shown_{name}")


def built_anew(packet: Any) -> bytes:
    """The bytes that follow from the values, whatever was dissected."""
    packet.clear_cache()
    return bytes(packet)


def sound(order: str) -> list[bytes]:
    return [
        shown.whole_order(order),
        shown.whole_order(order, null=True),
        shown.old_order(order, 0),
        shown.old_order(order, 1),
        shown.newer_order(order),
        shown.header(order, template=2, block=0) + shown.dimension(order, 0, 0),
    ]


def test_what_is_dissected_is_built_again(layers: Any, order: str) -> None:
    for data in sound(order):
        packet = layers.dissect(data)
        assert type(packet).__name__ == "MessageHeader"
        assert not packet.haslayer(Raw)
        assert bytes(packet) == built_anew(packet) == data


def test_values_are_read(layers: Any, order: str) -> None:
    packet = layers.dissect(shown.whole_order(order))[layers.Order]
    assert (packet.id, packet.price, packet.quantity, packet.ratio) == (2**64 - 2, -12_345, 77, 0.25)
    assert (packet.side, packet.state, packet.symbol, packet.letter) == (ord("S"), 2, "ABC", "x")
    assert (packet.levels, packet.digest, packet.nil, packet.class_) == ([1, -2, 300], b"\x01\x02\xfe\xff", -9, 7)
    assert str(packet.marks) == "local+hidden+last"
    assert (packet.money.mantissa, packet.money.fee.rate, packet.money.fee.payer) == (2**62 + 1, 1.5, ord("B"))
    assert str(packet.money.fee.marks) == "hidden"
    assert [(fill.size, [part.part for part in fill.parts], fill.note) for fill in packet.fills] == [(10, [1, -1], "é€"), (20, [], "")]
    assert ([one.ticks for one in packet.function], packet.text, packet.blob, packet.late) == ([4, -4], "hello", b"\x00\xff", "late")
    assert packet.CONSTANTS == {"lot": 100, "greatest": 2**64 - 2, "venue": "XDEM", "kind": 1}
    null = layers.dissect(shown.whole_order(order, null=True))[layers.Order]
    assert (null.price, null.quantity, null.ratio, null.state) == (None, None, None, None)


def test_older_and_newer_messages(layers: Any, order: str) -> None:
    old = layers.dissect(shown.old_order(order, 0))[layers.Order]
    assert (old.nil, old.class_, old.function, old.late, old.text) == (None, None, None, None, "hello")
    newer = layers.dissect(shown.newer_order(order))[layers.Order]
    assert (newer.unknown[-4:], newer.fills[0].unknown, newer.late) == (b"\xcc" * 4, b"\xaa\xbb", "l")


def filled(layers: Any) -> Any:
    fee = layers.Fee(rate=1.5, payer="BUY", marks="hidden")
    first = layers.OrderFills(size=10, parts=[layers.OrderFillsParts(part=1), layers.OrderFillsParts(part=-1)], note="é€")
    ticks = [layers.OrderFunction(ticks=4), layers.OrderFunction(ticks=-4)]
    return layers.Order(
        id=2**64 - 2,
        price=-12_345,
        quantity=77,
        ratio=0.25,
        side="SELL",
        state="LATE",
        marks="local+hidden+last",
        symbol="ABC",
        letter="x",
        levels=[1, -2, 300],
        digest=b"\x01\x02\xfe\xff",
        money=layers.Money(mantissa=2**62 + 1, fee=fee),
        nil=-9,
        class_=7,
        fills=[first, layers.OrderFills(size=20)],
        function=ticks,
        text="hello",
        blob=b"\x00\xff",
        late="late",
    )


def test_lengths_counts_and_the_header_are_computed(layers: Any, order: str) -> None:
    wanted = shown.whole_order(order).replace(b"\xee", b"\0")
    assert bytes(layers.MessageHeader(sequence=5) / filled(layers)) == wanted
    older = bytes(layers.MessageHeader(sequence=5, version=1) / filled(layers))
    assert older == shown.old_order(order, 1)
    empty = layers.MessageHeader() / layers.Empty()
    assert bytes(empty) == shown.header(order, template=2, block=0, sequence=0) + shown.dimension(order, 0, 0)


def test_nulls_are_what_is_left_out(layers: Any, order: str) -> None:
    head = struct.pack(order + "Qq", 0, shown.PRICE_NULL) + struct.pack(order + "I", shown.QUANTITY_NULL)
    assert bytes(layers.Order())[:20] == head
    assert bytes(layers.Order(state=None))[29] == 255


def test_lies_are_sent_as_told(layers: Any, order: str) -> None:
    dimension = layers.GroupSizeEncoding(block_length=9, num_in_group=200)
    data = bytes(layers.MessageHeader(block_length=1, template_id=9, schema_id=8) / layers.Empty(nothing_dimension=dimension))
    assert data == shown.header(order, template=9, schema=8, block=1, sequence=0) + shown.dimension(order, 9, 200)
    assert bytes(layers.Order(late_length=500, late="x"))[-3:] == struct.pack(order + "H", 500) + b"x"


def test_what_is_too_long_is_an_error(layers: Any) -> None:
    with pytest.raises(ValueError, match="symbol takes 8 bytes, not 9"):
        bytes(layers.Order(symbol="123456789"))


def test_bytes_that_are_no_text_survive(layers: Any, order: str) -> None:
    data = bytearray(shown.whole_order(order))
    at = data.index(b"hello")
    data[at] = 0xFF
    assert built_anew(layers.dissect(bytes(data))) == bytes(data)


def test_several_messages_and_what_is_none(layers: Any, order: str) -> None:
    whole = shown.whole_order(order)
    packet = layers.dissect(whole + whole + b"rest of something")
    assert bytes(packet) == whole + whole + b"rest of something"
    assert len([one for one in packet.iterpayloads() if isinstance(one, layers.Order)]) == 2
    assert bytes(packet.lastlayer()) == b"rest of something"
    for data in (b"", b"\x01", whole[:50], whole[:-1], shown.header(order, template=9) + b"x", shown.header(order, schema=1) + b"x"):
        assert not layers.dissect(data).haslayer(layers.Order)
        assert bytes(layers.dissect(data)) == data


def test_no_bytes_make_it_fail_or_hang(layers: Any, order: str, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(300):
        data = bytearray(chance.choice(sound(order)))
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        cut = bytes(data[: chance.randint(0, len(data))])
        assert bytes(layers.dissect(cut)) == cut
    started = time.process_time()
    empty = shown.header(order, template=2, block=0) + shown.dimension(order, 0, 255)
    assert bytes(layers.dissect(empty * 20)) == empty * 20
    assert time.process_time() - started < 5


def test_in_datagrams_and_in_frames(layers: Any, order: str) -> None:
    port, stream = {"<": (45_801, 801), ">": (45_802, 802)}[order]
    whole = shown.whole_order(order)
    layers.bind(port)
    packet = IP(bytes(IP() / UDP(sport=1, dport=port) / whole))
    assert packet[layers.Order].price == -12_345
    bind_data(layers.MessageHeader, stream_id=stream)
    (frame, other) = aeron_frames(bytes(DataHeader(stream_id=stream, data=whole) / DataHeader(stream_id=stream + 9, data=whole)))
    assert frame.message()[layers.Order].late == "late"
    assert isinstance(other.message(), Raw)
    assert isinstance(DataHeader(stream_id=stream, data=whole[:9]).message(), Raw)


def test_names_of_scapy_and_of_python_may_be_fields(tmp_path: Path) -> None:
    names = ["payload", "name", "fields", "class", "show", "text_length", "Packet", "größe"]
    fields = "".join(f'<field name="{name}" id="{number}" type="uint8"/>' for number, name in enumerate(names, 1))
    data = '<data name="text" id="20" type="textEncoding"/>'
    message = f'<sbe:message name="Packet" id="5">{fields}{data}</sbe:message></sbe:messageSchema>'
    layers = load(tmp_path, shown.schema_text("<").replace("</sbe:messageSchema>", message), "names")
    packet = layers.Packet(
        **dict(zip(["payload_", "name_", "fields_", "class_", "show_", "text_length", "packet", "größe"], range(8), strict=True))
    )
    packet.text = "ab"
    assert bytes(packet) == bytes(range(8)) + b"\x02\0ab"
    assert (packet.text_length, packet.text_length_2) == (5, None)


BARE = """<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" package="bare" id="5" version="0" byteOrder="littleEndian">
<types><composite name="messageHeader"><type name="templateId" primitiveType="uint8"/><type name="blockLength" primitiveType="uint8"/>
  <type name="schemaId" primitiveType="uint16" presence="constant">5</type><type name="version" primitiveType="uint8"/></composite></types>
<sbe:message name="Beat" id="1"/>
<sbe:message name="Tick" id="2"><field name="at" id="1" type="uint16"/></sbe:message></sbe:messageSchema>"""


def test_what_a_reference_calls_otherwise_has_one_class(tmp_path: Path) -> None:
    types = """<types><composite name="Time"><type name="at" primitiveType="uint64"/></composite>
    <composite name="Heading"><ref name="sent" type="Time"/><ref name="got" type="Time"/></composite></types>"""
    message = """<sbe:message name="Timed" id="5"><field name="made" id="1" type="Time"/><field name="head" id="2" type="Heading"/>
    </sbe:message></sbe:messageSchema>"""
    text = shown.schema_text("<").replace("</types>", f"</types>{types}", 1).replace("</sbe:messageSchema>", message)
    layers = load(tmp_path, text, "timed")
    assert (tmp_path / "timed/scapy.py").read_text().count("class Time(") == 1
    read = layers.Timed(struct.pack("<3Q", 1, 2, 3))
    assert (read.made.at, read.head.sent.at, read.head.got.at) == (1, 2, 3)
    assert {type(one) for one in (read.made, read.head.sent, read.head.got)} == {layers.Time}


def test_message_without_bytes_and_a_constant_in_the_header(tmp_path: Path) -> None:
    layers = load(tmp_path, BARE, "bare")
    data = bytes(layers.MessageHeader() / layers.Beat())
    assert data == b"\x01\x00\x00"
    assert isinstance(layers.dissect(data).payload, layers.Beat)
    assert layers.dissect(b"\x02\x02\x00\x07\x00")[layers.Tick].at == 7
    assert not layers.dissect(b"\x02\x02\x00").haslayer(layers.Tick)


def agree(packet: Any, values: dict[str, Any], block: Block) -> int:
    """Numbers of a block and of its groups are what the interpreter reads; returns how many there were."""
    names = layer_names(block)
    compared = 0
    for field in block.fields:
        value = values[field.name]
        if field.presence is not Presence.CONSTANT and isinstance(value, int | float):
            found = packet.getfieldval(names[field.name])
            assert found == value or repr(found) == repr(value) == "nan", field.name
            compared += 1
    for group in block.groups:
        entries = packet.getfieldval(names[group.name]) or []
        assert len(entries) == len(values[group.name])
        compared += sum(agree(entry, one, group) for entry, one in zip(entries, values[group.name], strict=True))
    return compared


@pytest.mark.parametrize("name", ["trading", "shop", "sensors", "orders", "shown"])
def test_random_messages_are_read_as_the_interpreter_reads_them(name: str, tmp_path: Path, seed: int) -> None:
    schema = own_schema(name)
    layers = load(tmp_path, (SCHEMAS / f"{name}.xml").read_text(), f"drawn_{name}")
    chance = random.Random(seed)
    compared = 0
    for message in schema.messages:
        for _ in range(15):
            data = random_message(schema, message, chance, chance.randrange(schema.version + 1))
            packet = layers.dissect(data)
            assert bytes(packet) == data
            compared += agree(packet[layers.templates[message.id]], MessageCodec(schema).decode(data).values, message)
    assert compared > 20


NAMED = written(
    '<type name="Letter" primitiveType="char"/>',
    """<sbe:message name="Any" id="1"><field name="time" id="1" type="uint8"/><field name="letter" id="2" type="Letter"/>
<field name="other" id="3" type="Letter" presence="optional"/></sbe:message>
<sbe:message name="ClassVar" id="2"/><sbe:message name="Callable" id="3"/>""",
)


def test_a_character_is_what_its_code_says(tmp_path: Path) -> None:
    layers = load(tmp_path, NAMED, "characters")
    for code in range(256):
        data = bytes(layers.MessageHeader() / layers.Any(letter=chr(code), other="x"))
        assert data[-2:] == bytes([code, ord("x")])
        found = layers.dissect(data)[layers.Any]
        assert (found.letter, found.other) == (chr(code), "x")
    assert bytes(layers.Any()) == b"\0\0\0"
    assert layers.Any(b"\0\0\0").other is None
    assert bytes(layers.Any(letter=65)) == b"\0A\0"


def test_only_names_of_packets_are_others_than_in_flyweights(tmp_path: Path) -> None:
    layers = load(tmp_path, NAMED, "renamed")
    assert layers.Any(time_=7).time_ == 7
    assert "gets an underscore. Here: `time_`." in " ".join(layers.__doc__.split())
    taken = {name for name in (*dir(Packet), *Packet.__slots__) if not name.startswith("_")}
    assert taken <= RESERVED
    assert RESERVED - taken == {"unknown"}
