"""Scapy layers: whole datagrams there and back, computed lengths, and lies that a conformance case wants to tell."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, UDP
from scapy.packet import Raw

from aerowire.codecs.flyweights import transport as flyweights
from aerowire.codecs.scapy import transport as layers
from aerowire.codecs.scapy.transport import DataHeader, FrameHeader, aeron_frames
from aerowire.codegen.main import main

IP4_ENTRY: dict[str, Any] = {"res_type": 1, "udp_port": 8050, "address": b"\x7f\0\0\1", "entry_name": b"bob"}


def test_frames_of_a_datagram_start_on_multiples_of_32() -> None:
    datagram = bytes(DataHeader(data=b"hello") / DataHeader(term_offset=64, data=b"x" * 40))
    assert len(datagram) == 64 + 96
    first, second = aeron_frames(datagram)
    assert (first.frame_length, first.data, second.term_offset, second.data) == (37, b"hello", 64, b"x" * 40)
    assert bytes(first) + bytes(second) == datagram
    chained = FrameHeader(datagram)
    assert chained.payload.term_offset == 64
    assert bytes(chained) == datagram


def test_raw_payload_counts_as_data() -> None:
    assert bytes(DataHeader(session_id=1) / b"hello") == bytes(DataHeader(session_id=1, data=b"hello"))


@pytest.mark.parametrize(
    ("layer", "length"),
    [
        (layers.Nak(length=64), 28),
        (layers.StatusMessage(receiver_window=1), 36),
        (layers.StatusMessage(group_tag=7), 44),
        (layers.ErrorFrame(error_text=b"bad"), 43),
        (layers.Setup(mtu=1408), 40),
        (layers.Rttm(flags="REPLY"), 40),
        (layers.Resolution(entries=[layers.ResolutionEntry(**IP4_ENTRY)]), 32),
        (layers.ResponseSetup(response_session_id=9), 20),
        (DataHeader(), 32),
    ],
)
def test_lengths_are_computed_and_the_flyweights_agree(layer: layers.Layer, length: int) -> None:
    data = bytes(layer)
    assert len(data) == length
    decoder = flyweights.FRAME_DECODERS[flyweights.FrameHeaderDecoder(data).type](data)
    assert decoder.to_dict()["frame_length"] == decoder.encoded_length == length
    dissected = FrameHeader(data)
    dissected.raw_packet_cache = None
    assert bytes(dissected) == data


def test_resolution_entries_are_read_back() -> None:
    data = bytes(layers.Resolution(entries=[layers.ResolutionEntry(**IP4_ENTRY), layers.ResolutionEntry(res_type=2, address=bytes(16))]))
    assert [entry.entry_name for entry in FrameHeader(data).entries] == [b"bob", b""]
    assert [entry.name for entry in flyweights.ResolutionDecoder(data).entries] == ["bob", ""]


@pytest.mark.parametrize("lie", [-1, 0, 31, 2**31 - 1])
def test_lies_are_sent_as_told(lie: int) -> None:
    assert flyweights.FrameHeaderDecoder(bytes(DataHeader(frame_length=lie))).frame_length == lie
    assert flyweights.FrameHeaderDecoder(bytes(layers.Nak(frame_length=lie))).frame_length == lie
    assert flyweights.ErrorFrameDecoder(bytes(layers.ErrorFrame(error_length=lie))).error_length == lie


def test_alignment_may_be_left_out() -> None:
    assert len(bytes(DataHeader(data=b"hello", padding=b""))) == 37
    assert bytes(DataHeader(data=b"hello", padding=b"\xff"))[-1:] == b"\xff"


def test_heartbeat_is_one_frame() -> None:
    (frame,) = aeron_frames(bytes(DataHeader(frame_length=0)))
    assert (frame.frame_length, frame.data, bytes(frame.payload)) == (0, b"", b"")


def test_what_is_no_frame_is_raw() -> None:
    for data in (b"\x00", bytes(layers.Nak())[:20], b"\x10\0\0\0\0\0\xff\xff"):
        (frame,) = aeron_frames(data)
        assert bytes(frame) == data
        assert isinstance(frame, Raw) or type(frame) is FrameHeader
    assert aeron_frames(b"") == []


def test_no_bytes_make_the_splitter_fail(seed: int) -> None:
    chance = random.Random(seed)
    seeds = [
        bytes(DataHeader(data=b"x" * 50) / DataHeader(data=b"y")),
        bytes(layers.Resolution(entries=[layers.ResolutionEntry(**IP4_ENTRY)])),
    ]
    seeds += [bytes(layers.StatusMessage(group_tag=1)), bytes(layers.ErrorFrame(error_text=b"bad"))]
    for _ in range(400):
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        cut = bytes(data[: chance.randint(0, len(data))])
        frames = aeron_frames(cut)
        assert b"".join(bytes(frame) for frame in frames) == cut


def test_bound_ports_are_dissected() -> None:
    layers.bind(45_678)
    packet = IP(bytes(IP() / UDP(sport=1, dport=45_678) / layers.Setup(mtu=1408, flags="GROUP")))
    assert packet[layers.Setup].mtu == 1408
    assert int(packet[layers.Setup].flags) == flyweights.SetupFlags.GROUP


UNALIGNED = """<?xml version="1.0"?>
<sbe:messageSchema xmlns:sbe="http://fixprotocol.io/2016/sbe" xmlns:aw="urn:aerowire:layout" package="plain" id="9" description="Plain.">
  <types><enum name="Kind" encodingType="uint8"><validValue name="HEAD" description="Bare.">1</validValue>
    <validValue name="TEXT" description="With text.">2</validValue></enum></types>
  <aw:struct name="Head" description="A head.">
    <aw:field name="size" type="uint16" role="length" description="Bytes."/>
    <aw:field name="kind" type="Kind" role="type" description="Kind."/>
  </aw:struct>
  <aw:struct name="Note" extends="Head" description="A note."><aw:var name="words" length="rest" description="Words."/></aw:struct>
  <aw:variant name="Thing" on="Head.kind" description="Things.">
    <aw:case value="HEAD" struct="Head"/> <aw:case value="TEXT" struct="Note"/>
  </aw:variant>
</sbe:messageSchema>
"""


def test_frames_without_an_alignment_and_one_that_is_its_own_base(tmp_path: Path) -> None:
    (tmp_path / "plain.xml").write_text(UNALIGNED)
    assert main(["generate", "--target", "scapy", str(tmp_path / "plain.xml"), "--out", str(tmp_path)]) == 0
    spec = importlib.util.spec_from_file_location("plain", tmp_path / "aerowire/codecs/scapy/plain.py")
    assert spec is not None
    assert spec.loader is not None
    plain = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plain)
    data = bytes(plain.Note(words=b"hello"))
    assert data == b"\x08\0\x02hello"
    (note,) = plain.aeron_frames(data)
    assert (type(note), note.words) == (plain.Note, b"hello")
    assert [type(one) for one in plain.aeron_frames(bytes(plain.Head(kind=1)))] == [plain.Head]
