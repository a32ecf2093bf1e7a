"""The index of a capture: parts that are read on their own say what the whole file says, in both formats."""

from __future__ import annotations

import gzip
import json
import random
import struct
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.pcap import Capture, CaptureError, read_frames
from aerowire.pcap.commands.shared import DONE, FINDING, UNUSABLE
from aerowire.pcap.reading import index
from aerowire.pcap.reading.parts import Part, cut, resolve
from aerowire.tools.main import main
from tests.support.captures.parts import batches_of


@pytest.fixture(autouse=True)
def own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(index, "CUT_SPACING_MIN", 20_000)


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def classic_file(build: SimpleNamespace, path: Path, count: int = 3000) -> Path:
    packets = [build.ethernet(build.ip4(*datagram)) for datagram in build.conversation(random.Random(6), count)]
    return written(path, build.classic(packets))


def pcapng_file(build: SimpleNamespace, path: Path) -> Path:
    """Two sections of different byte order, interfaces described between packets."""
    rng = random.Random(7)
    data = b""
    for order in "<>":
        data += build.section(order) + build.interface(1, name=f"first {order}", order=order)
        for number, datagram in enumerate(build.conversation(rng, 1200)):
            if number == 500:
                data += build.interface(101, name=f"second {order}", resolution=9, order=order)
            packet = build.ip4(*datagram)
            on_second = number > 500 and number % 3 == 0
            block = build.enhanced(packet if on_second else build.ethernet(packet), number=int(on_second), ticks=number, order=order)
            data += block
    return written(path, data)


def read_in_parts(path: Path, split_length: int) -> pa.Table:
    batches: list[pa.RecordBatch] = []
    parts = list(cut(str(path), split_length))
    assert [part.start for part in parts[1:]] == [part.end for part in parts[:-1]]
    for part in parts:
        capture = Capture(path, payload=True, chunk_length=70_000)
        with resolve(part, capture.request) as resolved:
            batches += [] if resolved is None else capture.batches(resolved)
    return pa.Table.from_batches(batches, Capture(path).schema)


@pytest.mark.parametrize("make", [classic_file, pcapng_file])
@pytest.mark.parametrize("split_length", [25_000, 100_000, 400_000])
def test_parts_say_what_the_whole_file_says(build: SimpleNamespace, tmp_path: Path, make: object, split_length: int) -> None:
    path = make(build, tmp_path / "capture")  # type: ignore[operator]
    expected = read_frames(path, payload=True).replace_schema_metadata(None)
    assert read_in_parts(path, split_length).equals(expected)
    found = index.build(path)
    extents = found.extents(split_length)
    assert len(extents) > path.stat().st_size // split_length // 2
    capture = Capture(path, payload=True)
    batches = list(batches_of(capture, extents, found.facts))
    assert pa.Table.from_batches(batches, expected.schema).equals(expected)


def test_a_compressed_file_is_one_part_with_what_its_index_tells(build: SimpleNamespace, tmp_path: Path) -> None:
    plain = classic_file(build, tmp_path / "plain")
    path = written(tmp_path / "capture.gz", gzip.compress(plain.read_bytes()))
    found = index.build(path)
    assert found.cuts == ()
    assert found.facts == index.build(plain).facts
    assert list(cut(str(path), 1000)) == [Part(str(path), 0, path.stat().st_size, path.stat().st_size, path.stat().st_size)]


def test_an_index_is_written_read_and_made_once(build: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = classic_file(build, tmp_path / "capture")
    made = []
    build_one = index.build

    def counted(name: str) -> index.Index:
        made.append(name)
        return build_one(name)

    monkeypatch.setattr(index, "build", counted)
    found: list[index.Index] = []
    threads = [threading.Thread(target=lambda: found.append(index.find_or_build(str(path)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [str(path)]
    assert found == [build_one(str(path))] * 4
    assert index.find(path) is None
    beside = index.save(path, found[0])
    assert index.find(path) == found[0] == index.Index.from_json(json.loads(beside.read_text()))


def test_an_index_of_a_file_that_has_changed_is_not_used(build: SimpleNamespace, tmp_path: Path) -> None:
    path = classic_file(build, tmp_path / "capture")
    found = index.build(path)
    target = index.save(path, found)
    with path.open("ab") as file:
        file.write(struct.pack("<IIII", 1_700_009_999, 0, 4, 4) + bytes(4))
    assert index.find(path) is None
    assert index.find_or_build(path) != found
    for text in (
        "",
        "[]",
        json.dumps({"version": 1}),
        json.dumps({**found.to_json(), "version": 99}),
        json.dumps({**found.to_json(), "links": [7]}),
    ):
        target.write_text(text)
        assert index.find(path) is None
    with pytest.raises(CaptureError, match="cannot be opened"):
        index.find(tmp_path / "absent")
    with pytest.raises(CaptureError, match="cannot be written"):
        index.save(tmp_path / "absent" / "capture", found)


def test_damage_is_noted_and_read_over_in_parts_too(build: SimpleNamespace, tmp_path: Path) -> None:
    path = classic_file(build, tmp_path / "capture")
    data = bytearray(path.read_bytes())
    places = index.build(path).cuts
    for place in places[3:9:2]:
        data[place.position + 8 : place.position + 12] = b"\xff\xff\xff\x7f"
    path.write_bytes(data)
    assert index.build(path).is_damaged
    expected = read_frames(path, payload=True).replace_schema_metadata(None)
    assert read_in_parts(path, 60_000).equals(expected)


def test_extents_know_a_place_early_enough_for_fragments(build: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "SPAN", 50_000)
    found = index.build(classic_file(build, tmp_path / "capture"))
    first, *others = found.extents(30_000)
    assert first.before is None
    for extent in others:
        assert extent.before is not None
        assert extent.before == found.cuts[0] or extent.start.position - extent.before.position >= 50_000
    assert replace(found, cuts=()).extents(30_000) == []


def test_the_command_writes_an_index_beside_each_file(build: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [classic_file(build, tmp_path / name, 500) for name in ("a", "b")]
    assert main(["pcap", "index", *map(str, paths), "--json"]) == DONE
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(one["file"], one["links"], one["streams"], one["damaged"]) for one in told] == [(str(path), 2, 1, False) for path in paths]
    assert [index.find(path) for path in paths] == [index.build(path) for path in paths]
    paths[0].write_bytes(paths[0].read_bytes()[:-7])
    assert main(["pcap", "index", str(paths[0])]) == FINDING
    assert "the capture is damaged" in capsys.readouterr().out
    assert main(["pcap", "index", str(tmp_path / "absent")]) == UNUSABLE
    assert "absent: cannot be opened" in capsys.readouterr().err
