"""The Wireshark dissector of Aeron's frames: field by field what the scapy layers read, beside and beyond Wireshark's own."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from scapy.fields import FlagsField
from scapy.packet import Packet

from aerowire.codecs.scapy import transport as layers
from aerowire.codecs.scapy.transport import DataHeader, aeron_frames
from aerowire.codegen.main import main
from tests.support.captures import tshark

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = ROOT / "generated/aerowire/codecs/wireshark/transport.lua"
CAPTURES = ROOT / "tests/data/captures"
INDEX = json.loads((CAPTURES / "index.json").read_text())
ON_PORT = {"aerowire.ports": str(tshark.PORT)}
DAMAGE = ("aerowire.damaged_length", "aerowire.unexpected_value", "aerowire.cut", "aerowire.undissected")

pytestmark = tshark.needs_tshark

PREFIXES: dict[type[Packet], str] = {
    layers.DataHeader: "data",
    layers.Nak: "nak",
    layers.StatusMessage: "sm",
    layers.ErrorFrame: "err",
    layers.Setup: "setup",
    layers.Rttm: "rttm",
    layers.Resolution: "res",
    layers.ResponseSetup: "rsp_setup",
    layers.ResolutionEntry: "resolution_entry",
}
RENAMED = {"data": "payload", "entry_name": "name", "entry_name_length": "name_length"}
# Wireshark's own name of each frame, and its names of fields where they differ; what it does not know or misreads is not here.
OWN = {"data": "data", "nak": "nak", "sm": "sm", "setup": "setup", "rttm": "rtt"}
OWN_FIELDS = {"echo_timestamp_ns": "echo_timestamp", "reception_delta_ns": "reception_delta"}


DAMAGED = [
    (b"\x01\x02\x03", "a frame needs 8 bytes, 3 are there"),
    (bytes(layers.Nak(frame_length=-5)), "frame length is negative: -5"),
    (bytes(layers.Nak(frame_length=27)), "frame length is 27, NAK has at least 28"),
    (bytes(layers.Nak(frame_length=2**31 - 1)), "frame length is 2147483647, but 28 bytes are there"),
    (bytes(layers.Nak())[:20], "frame length is 28, but 20 bytes are there"),
    (bytes(layers.Nak()) + b"abc", "3 bytes follow a frame that has its datagram for itself"),
    (bytes(layers.Nak(version=3)), "version is 3, expected 0"),
    (bytes(layers.ErrorFrame(error_length=9, error_text=b"abc")), "error_text: its length is 9, but 3 bytes are there"),
    (bytes(layers.ErrorFrame(error_length=-1)), "error_text: its length is negative: -1"),
    (bytes(layers.Resolution(entries=[layers.ResolutionEntry(res_type=9)])), "address: res_type says nothing of what follows"),
    (bytes(layers.FrameHeader(type=12)), "type is 12, which has no name"),
    (bytes(layers.ResponseSetup())[:17], "ResponseSetup needs 20 bytes, 17 are there"),
]


def field_names() -> list[str]:
    found = [f"aerowire.{prefix}.{RENAMED.get(one.name, one.name)}" for layer, prefix in PREFIXES.items() for one in layer.fields_desc]
    return [name for name in found if not name.endswith((".padding", ".entries", ".address"))] + ["aerowire.resolution_entry.address.ipv4"]


def flag_names() -> list[str]:
    return [f"aerowire.{prefix}.flags.{name.lower()}" for prefix, names in FLAGS.items() for name in names]


FLAGS = {
    "data": ["BEGIN", "END", "EOS", "REVOKED"],
    "sm": ["SEND_SETUP", "EOS"],
    "err": ["HAS_GROUP_TAG"],
    "setup": ["SEND_RESPONSE", "GROUP"],
    "rttm": ["REPLY"],
}


def expected(frames: list[Packet]) -> dict[str, list[str]]:
    """What tshark should print of the frames of a datagram, by our reading of them."""
    found: dict[str, list[str]] = defaultdict(list)
    for frame in frames:
        prefix = f"aerowire.{PREFIXES[type(frame)]}"
        for field in frame.fields_desc:
            value = frame.getfieldval(field.name)
            if field.name == "entries":
                for name, values in expected(value).items():
                    found[name] += values
            elif field.name == "address":
                found[f"{prefix}.address.ipv4"].append(".".join(map(str, value)))
            elif field.name != "padding" and value is not None and not (isinstance(value, bytes) and not value):
                found[f"{prefix}.{RENAMED.get(field.name, field.name)}"].append(shown(field, value))
            if isinstance(field, FlagsField):
                for name in FLAGS.get(prefix.removeprefix("aerowire."), ()):
                    found[f"{prefix}.flags.{name.lower()}"].append(str(int(name in str(value).split("+"))))
    return found


def shown(field: Any, value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode() if field.name in {"entry_name", "error_text"} else value.hex()
    return f"0x{int(value):02x}" if isinstance(field, FlagsField) else str(int(value))


def datagrams(path: Path) -> list[bytes]:
    """What the UDP datagrams of a capture hold."""
    data, at, found = path.read_bytes(), 24, []
    while at < len(data):
        length = int.from_bytes(data[at + 8 : at + 12], "little")
        frame = data[at + 16 : at + 16 + length]
        found.append(frame[tshark.ETHERNET + (40 if frame[14] >> 4 == 6 else 20) + 8 :])
        at += 16 + length
    return found


def ports() -> str:
    return ",".join(sorted({str(port) for entry in INDEX.values() for port in entry["ports"]}))


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tshark.joined(tmp_path_factory.mktemp("golden") / "all.pcap", sorted(CAPTURES.glob("*.pcap")))


@pytest.fixture(scope="module")
def frames(golden: Path) -> list[list[Packet]]:
    return [aeron_frames(payload) for payload in datagrams(golden)]


def test_golden_captures_are_read_as_the_scapy_layers_read_them(golden: Path, frames: list[list[Packet]]) -> None:
    names = [*field_names(), *flag_names()]
    found = tshark.fields(golden, [*names, *DAMAGE], [SCRIPT], {"aerowire.ports": ports()})
    assert len(found) == len(frames) > 4000
    seen: set[str] = set()
    for number, (packet, of_datagram) in enumerate(zip(found, frames, strict=True), 1):
        wanted = expected(of_datagram)
        assert set(wanted) <= set(names)
        assert packet == {name: wanted.get(name, []) for name in [*names, *DAMAGE]}, f"packet {number}"
        seen |= set(wanted)
    kinds = {name.split(".")[1] for name in seen}
    assert kinds == set(PREFIXES.values()), "every kind of frame is in the captures"


# What the bytes of these frames say, read by hand from the captures: Wireshark's own dissector knows none of the three.
BY_HAND = {
    "image_rejection": {
        "_ws.col.Info": "ERR stream 1001 session 1777282023 receiver 1254640174060817923 group tag -1 error code 13 error length 23 "
        "golden rejection reason",
        "aerowire.err.frame_length": "63",
        "aerowire.err.flags": "0x00",
        "aerowire.err.session_id": "1777282023",
        "aerowire.err.stream_id": "1001",
        "aerowire.err.receiver_id": "1254640174060817923",
        "aerowire.err.error_code": "13",
        "aerowire.err.error_length": "23",
        "aerowire.err.error_text": "golden rejection reason",
    },
    "response_channel": {
        "_ws.col.Info": "RSP_SETUP stream 10000 session 1208961785 response session -750812774",
        "aerowire.rsp_setup.frame_length": "20",
        "aerowire.rsp_setup.session_id": "1208961785",
        "aerowire.rsp_setup.stream_id": "10000",
        "aerowire.rsp_setup.response_session_id": "-750812774",
    },
    "name_resolution": {
        "_ws.col.Info": "RES node-B",
        "aerowire.resolution_entry.name": "node-B",
        "aerowire.resolution_entry.name_length": "6",
        "aerowire.resolution_entry.res_type": "1",
        "aerowire.resolution_entry.udp_port": "8051",
        "aerowire.resolution_entry.address.ipv4": "127.0.0.1",
        "aerowire.resolution_entry.res_flags.self": "1",
    },
}


@pytest.mark.parametrize("name", BY_HAND)
def test_frames_that_wireshark_does_not_know_say_what_their_bytes_say(name: str) -> None:
    expected = BY_HAND[name]
    found = tshark.fields(CAPTURES / f"{name}.pcap", [*expected, *DAMAGE], [SCRIPT], {"aerowire.ports": ports()})
    assert {**{field: [value] for field, value in expected.items()}, **{field: [] for field in DAMAGE}} in found


def test_info_column_marks_damage(tmp_path: Path) -> None:
    damaged = [
        layers.ResponseSetup(frame_length=-5, stream_id=1001),
        layers.Nak(version=3),
        layers.Resolution(entries=[layers.ResolutionEntry(res_type=9, entry_name=b"")]),
    ]
    path = tshark.capture(tmp_path / "damage.pcap", [*(bytes(one) for one in damaged), bytes(layers.ResponseSetup())])
    *marked, sound = [packet["_ws.col.Info"][0] for packet in tshark.fields(path, ["_ws.col.Info"], [SCRIPT], ON_PORT)]
    assert [info.split()[0] for info in marked] == ["RSP_SETUP", "NAK", "RES"]
    assert all(info.endswith(" [damaged]") and "  " not in info for info in marked), marked
    assert "damaged" not in sound


def test_frames_are_found_without_a_port(tmp_path: Path) -> None:
    some = [
        CAPTURES / f"{name}.pcap" for name in ("name_resolution", "image_rejection", "response_channel", "unicast_batched", "ipv6_loopback")
    ]
    path = tshark.joined(tmp_path / "some.pcap", some)
    found = tshark.fields(path, ["aerowire.frame_length"], [SCRIPT])
    assert [len(packet["aerowire.frame_length"]) for packet in found] == [len(aeron_frames(one)) for one in datagrams(path)]
    off = tshark.fields(path, ["aerowire.frame_length"], [SCRIPT], {"aerowire.heuristic": "FALSE"})
    assert all(not packet["aerowire.frame_length"] for packet in off)


def test_wireshark_s_own_dissector_reads_the_same_where_it_knows_the_frame(golden: Path, frames: list[list[Packet]]) -> None:
    pairs = {
        f"aeron.{own}.{OWN_FIELDS.get(one.name, one.name)}": f"aerowire.{ours}.{one.name}"
        for ours, own in OWN.items()
        for layer, prefix in PREFIXES.items()
        if prefix == ours
        for one in layer.fields_desc
        if one.name not in {"data", "padding", "group_tag"}
    }
    chosen = [argument for port in ports().split(",") for argument in ("-d", f"udp.port=={port},aeron")]
    found = tshark.fields(golden, list(pairs), [SCRIPT], {"aerowire.heuristic": "FALSE"}, chosen)
    compared = 0
    for packet, of_datagram in zip(found, frames, strict=True):
        if any(PREFIXES[type(frame)] not in OWN or is_heartbeat_or_pad(frame) for frame in of_datagram):
            continue  # ERR, RES and RSP_SETUP; heartbeats and padding have names of their own there
        wanted = expected(of_datagram)
        for own, ours in pairs.items():
            assert [number(value) for value in packet[own]] == [number(value) for value in wanted.get(ours, [])], own
        compared += 1
    assert compared > 3000


def is_heartbeat_or_pad(frame: Packet) -> bool:
    return isinstance(frame, DataHeader) and (frame.frame_length == 0 or frame.type == 0)


def number(text: str) -> int:
    """A number without its sign: Wireshark's own dissector has unsigned ones only."""
    value = int(text, 0)
    return value if value >= 0 else value + (1 << 32 if value >= -(1 << 31) else 1 << 64)


def test_info_column_says_what_a_datagram_is(tmp_path: Path) -> None:
    where: dict[str, Any] = {"session_id": -7, "stream_id": 1001, "term_id": 5}
    datagrams = [
        DataHeader(**where, term_offset=64, data=b"x" * 10) / DataHeader(**where, term_offset=128, data=b"y"),
        DataHeader(**where, frame_length=0, flags="BEGIN+END+EOS+REVOKED"),
        layers.ErrorFrame(session_id=-7, stream_id=1001, receiver_id=2**62 + 1, error_code=13, error_text=b"no", flags="HAS_GROUP_TAG"),
        layers.Nak(**where, term_offset=32, length=96),
    ]
    path = tshark.capture(tmp_path / "info.pcap", [bytes(one) for one in datagrams])
    found = [packet["_ws.col.Info"] for packet in tshark.fields(path, ["_ws.col.Info"], [SCRIPT], ON_PORT)]
    assert found == [
        ["DATA stream 1001 session -7 term 5 offset 64 length 42 | DATA stream 1001 session -7 term 5 offset 128 length 33"],
        ["DATA heartbeat stream 1001 session -7 term 5 offset 0 [BEGIN END EOS REVOKED]"],
        ["ERR stream 1001 session -7 receiver 4611686018427387905 group tag 0 error code 13 error length 2 [HAS_GROUP_TAG] no"],
        ["NAK stream 1001 session -7 term 5 offset 32 length 96"],
    ]


def test_error_code_has_its_name(tmp_path: Path) -> None:
    path = tshark.capture(tmp_path / "error.pcap", [bytes(layers.ErrorFrame(error_code=13, error_text="né 100%s".encode()))])
    text = tshark.details(path, "aerowire", [SCRIPT], ON_PORT)
    assert "Error code: IMAGE_REJECTED (13)" in text
    assert "error length 9 né 100%s\n" in text
    assert "Error text: né 100%s\n" in text


def test_addresses_of_both_families(tmp_path: Path) -> None:
    entries = [
        layers.ResolutionEntry(res_type=1, udp_port=8050, address=bytes([10, 0, 0, 1]), entry_name=b"bob"),
        layers.ResolutionEntry(res_type=2, udp_port=8051, res_flags="SELF", address=bytes(15) + b"\x01", entry_name=b"alice"),
    ]
    path = tshark.capture(tmp_path / "res.pcap", [bytes(layers.Resolution(entries=entries))])
    prefix = "aerowire.resolution_entry"
    names = [f"{prefix}.address.ipv4", f"{prefix}.address.ipv6", f"{prefix}.name", f"{prefix}.udp_port", f"{prefix}.res_flags.self"]
    (found,) = tshark.fields(path, [*names, *DAMAGE], [SCRIPT], ON_PORT)
    assert [found[name] for name in names] == [["10.0.0.1"], ["::1"], ["bob", "alice"], ["8050", "8051"], ["0", "1"]]
    assert not any(found[name] for name in DAMAGE)


def test_damage_is_told(tmp_path: Path) -> None:
    path = tshark.capture(tmp_path / "damaged.pcap", [*(payload for payload, _ in DAMAGED), bytes(layers.Setup(mtu=1408))])
    *damaged, sound = tshark.fields(path, ["_ws.expert.message"], [SCRIPT], ON_PORT)
    for (_, said), found in zip(DAMAGED, damaged, strict=True):
        assert any(said in message for message in found["_ws.expert.message"]), (said, found)
    assert sound["_ws.expert.message"] == []


def test_rest_of_a_term_is_sent_as_its_header(tmp_path: Path) -> None:
    path = tshark.capture(tmp_path / "pad.pcap", [bytes(DataHeader(type=0, frame_length=4096))])
    (found,) = tshark.fields(path, ["aerowire.data.frame_length", "_ws.expert.message"], [SCRIPT])
    assert found == {"aerowire.data.frame_length": ["4096"], "_ws.expert.message": []}


def test_cut_capture_is_told_and_is_no_damage(tmp_path: Path) -> None:
    path = tshark.capture(tmp_path / "cut.pcap", [bytes(DataHeader(data=b"x" * 100))], snap=100)
    (found,) = tshark.fields(path, ["_ws.expert.message", "aerowire.data.payload"], [SCRIPT], ON_PORT)
    assert found == {"_ws.expert.message": ["the capture has 58 of the datagram's 160 bytes"], "aerowire.data.payload": ["78" * 26]}


def test_no_bytes_make_it_fail_or_hang(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    names = ("name_resolution", "image_rejection", "response_channel", "mdc_dynamic_fc_tagged")
    sound = [payload for name in names for payload in payloads(name)]
    mutated = []
    for _ in range(1500):
        data = bytearray(chance.choice(sound))
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(min(len(data), 64))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
        mutated.append(bytes(data[: chance.randint(0, len(data))]))
    mutated.append(bytes(layers.Resolution()) + bytes([1]) + bytes(60_000))
    path = tshark.capture(tmp_path / "mutated.pcap", mutated)
    found = tshark.fields(path, ["aerowire.frame_length", "frame.protocols"], [SCRIPT], ON_PORT)
    assert len(found) == len(mutated)
    assert all("aerowire" in packet["frame.protocols"][0] for packet, data in zip(found, mutated, strict=True) if data)


def payloads(name: str) -> list[bytes]:
    return datagrams(CAPTURES / f"{name}.pcap")


def test_one_target_of_one_schema(tmp_path: Path) -> None:
    assert main(["generate", "--target", "wireshark", "aerowire:transport", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "aerowire/codecs/wireshark/transport.lua").read_text().startswith("-- generated by codegen from spec/transport.xml")


OWN_SCHEMA = """<?xml version="1.0"?>
<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" xmlns:aw="urn:aerowire:layout" package="own" id="9" byteOrder="littleEndian"
                   description="Own.">
  <types><enum name="Kind" encodingType="uint8"><validValue name="BOX" description="A box.">1</validValue></enum></types>
  <aw:struct name="Point" description="A point.">
    <aw:field name="x" type="double" description="It is called &quot;east&quot;."/> <aw:field name="y" type="float" description="North."/>
  </aw:struct>
  <aw:struct name="Item" align="4" description="An item.">
    <aw:field name="number" type="uint16" description="Number."/>
    <aw:var name="text" lengthType="uint8" encoding="utf-8" description="Text."/>
  </aw:struct>
  <aw:struct name="Head" description="A head.">
    <aw:field name="size" type="uint32" role="length" description="Bytes."/>
    <aw:field name="kind" type="Kind" role="type" description="Kind."/> <aw:field name="shape_kind" type="uint8" description="Shape."/>
    <aw:field name="number" type="uint16" description="How many."/> <aw:field name="triple" type="int64" count="3" description="Three."/>
  </aw:struct>
  <aw:struct name="Box" extends="Head" description="A box.">
    <aw:variant name="shape" on="shape_kind" description="Shape.">
      <aw:case value="1" struct="Point"/> <aw:case value="2" length="3"/></aw:variant>
    <aw:repeat name="items" struct="Item" count="number" description="Items."/>
    <aw:var name="end" lengthType="uint16" align="2" encoding="utf-8" description="A note."/>
  </aw:struct>
  <aw:variant name="Thing" on="Head.kind" description="Things."><aw:case value="BOX" struct="Box"/></aw:variant>
</sbe:messageSchema>
"""


def test_schema_of_somebody_else_s(tmp_path: Path) -> None:
    (tmp_path / "own.xml").write_text(OWN_SCHEMA)
    assert main(["generate", "--target", "wireshark", str(tmp_path / "own.xml"), "--out", str(tmp_path / "out")]) == 0
    script = tmp_path / "out/aerowire/codecs/wireshark/own.lua"
    triple = b"".join(value.to_bytes(8, "little", signed=True) for value in (1, -2, 2**62))
    point = bytes.fromhex("000000000000f83f00002040")
    data = b"\x01\x01\x02\0" + triple + point + b"\x01\0\x02ab\0\0\0" + b"\x02\0\x01c" + b"\x03\0h\xc3\xa9"
    path = tshark.capture(tmp_path / "own.pcap", [(4 + len(data)).to_bytes(4, "little") + data])
    names = ["own.box.triple", "own.point.x", "own.point.y", "own.item.text", "own.box.end", "_ws.expert.message"]
    (found,) = tshark.fields(path, names, [script], {"own.ports": str(tshark.PORT)})
    assert list(found.values()) == [["1", "-2", str(2**62)], ["1.5"], ["2.5"], ["ab", "c"], ["h\u00e9"], []]
