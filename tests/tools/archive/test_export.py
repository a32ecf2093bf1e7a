"""`aerowire archive export`: a recording as a capture that others read."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.utils import PcapNgReader, PcapReader

from aerowire.codecs.flyweights.transport import DataHeaderDecoder, FrameType, SetupDecoder
from aerowire.tools.main import main
from tests.support.archives.recordings import TERM, RecordingWriter, write_catalog

CHANNEL = "aeron:udp?endpoint=10.1.2.3:5000"


@pytest.fixture
def writer(tmp_path: Path, seed: int) -> RecordingWriter:
    writer = RecordingWriter(tmp_path, start=TERM + 4096, channel=CHANNEL)
    writer.some(random.Random(seed), 150)
    writer.stop = writer.position
    write_catalog(tmp_path, [writer])
    return writer


def run(*arguments: object) -> int:
    return main(["archive", "export", *map(str, arguments)])


def datagrams(path: Path) -> list[bytes]:
    with (PcapReader if path.suffix == ".pcap" else PcapNgReader)(str(path)) as packets:
        return [bytes(packet[UDP].payload) for packet in packets]


@pytest.mark.parametrize("name", ["all.pcapng", "all.pcap"])
def test_a_capture_holds_each_recorded_frame_behind_a_setup(writer: RecordingWriter, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    assert run(tmp_path, 0, path) == 0
    setup, *frames = datagrams(path)
    described = SetupDecoder(setup)
    assert (described.initial_term_id, described.active_term_id, described.term_offset) == (7, 8, 4096)
    assert (described.term_length, described.mtu, described.session_id) == (TERM, 1408, 7)
    found = [DataHeaderDecoder(frame) for frame in frames]
    assert [(head.term_id - 7) * TERM + head.term_offset for head in found] == [position for position, _, _ in writer.rows]
    assert [frame[32 : head.frame_length] if head.type == FrameType.DATA else None for head, frame in zip(found, frames, strict=True)] == [
        payload for _, _, payload in writer.rows
    ]
    assert all(len(frame) % 32 == 0 for frame in frames)


@pytest.mark.usefixtures("writer")
def test_addresses_and_times_are_those_of_the_stream(tmp_path: Path) -> None:
    path = tmp_path / "all.pcapng"
    assert run(tmp_path, 0, path) == 0
    with PcapNgReader(str(path)) as packets:
        read = list(packets)
    assert {(packet[IP].dst, packet[UDP].dport) for packet in read} == {("10.1.2.3", 5000)}
    times = [float(packet.time) for packet in read]
    assert times == sorted(times)
    assert 0.001 <= times[0] <= times[-1] <= 0.002  # of the recording: 1 to 2 ms


@pytest.mark.usefixtures("writer")
def test_the_session_is_that_of_the_recording_where_a_checksum_has_its_place(tmp_path: Path) -> None:
    assert main(["archive", "checksum", str(tmp_path), "CRC-32C", "-a"]) == 0
    path = tmp_path / "sealed.pcapng"
    assert run(tmp_path, 0, path) == 0
    assert {DataHeaderDecoder(frame).session_id for frame in datagrams(path)} == {7}


def test_a_part_is_what_begins_between_two_positions(writer: RecordingWriter, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    positions = [position for position, _, _ in writer.rows]
    start, end = positions[40], positions[60]
    assert run(tmp_path, 0, tmp_path / "part.pcapng", "--from", start - 32, "--until", end, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["until"], told["problem"]) == (end, None)
    wanted = [position for position in positions if start - 32 <= position < end]
    assert (told["from"], told["frames"]) == (wanted[0], len(wanted))
    assert len(datagrams(tmp_path / "part.pcapng")) == 1 + len(wanted)
    assert run(tmp_path, 0, tmp_path / "none.pcapng", "--from", 0) == 2
    assert f"expected from {writer.start} to {writer.stop}" in capsys.readouterr().err


def test_a_file_that_is_there_is_replaced_only_when_that_is_asked_for(
    writer: RecordingWriter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "one.pcapng"
    path.write_bytes(b"mine")
    assert run(tmp_path, 0, path) == 2
    assert path.read_bytes() == b"mine"
    assert "--overwrite" in capsys.readouterr().err
    assert run(tmp_path, 0, path, "--overwrite") == 0
    assert len(datagrams(path)) == 1 + len(writer.rows)


def test_what_is_before_damage_is_exported_and_the_damage_is_told(
    writer: RecordingWriter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    position = writer.rows[30][0]
    writer.write(position, b"\7\0\0\0")
    assert run(tmp_path, 0, tmp_path / "part.pcapng") == 1
    assert f"cannot be read from position {position} on: frame length 7" in capsys.readouterr().err
    assert len(datagrams(tmp_path / "part.pcapng")) == 1 + 30


def test_the_capture_package_finds_the_stream_and_all_its_messages(
    writer: RecordingWriter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "all.pcapng"
    assert run(tmp_path, 0, path) == 0
    capsys.readouterr()
    assert main(["pcap", "streams", str(path), "--json"]) == 0
    (stream,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (stream["session_id"], stream["stream_id"], stream["messages"]) == (7, 1001, len(writer.messages))


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_wireshark_reads_the_frames(writer: RecordingWriter, tmp_path: Path) -> None:
    path = tmp_path / "all.pcapng"
    assert run(tmp_path, 0, path) == 0
    command = ["tshark", "-r", str(path), "-d", "udp.port==5000,aeron", "-T", "fields", "-e", "aeron.data.stream_id"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [line for line in done.stdout.split() if line] == ["1001"] * sum(payload is not None for _, _, payload in writer.rows)
