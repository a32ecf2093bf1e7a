"""Captures that grow as a stream of Spark: each frame exactly once, whatever is added when, and over restarts."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.pcap import read_frames

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
COLUMNS = ["path", "record_position", "frame_index", "packet_index", "type", "term_offset", "payload"]
RESTARTS = 5


def stream(spark: Any, folder: Path, out: Path, **options: str) -> Any:
    """Start a query that writes what there is now, and ends."""
    frames = spark.readStream.format("aeron_pcap").options(ports="40001", columns=",".join(COLUMNS), **options).load(str(folder))
    writer = frames.writeStream.format("parquet").option("checkpointLocation", str(out / "checkpoint")).trigger(availableNow=True)
    return writer.start(str(out / "rows"))


def rows(spark: Any, out: Path) -> pa.Table:
    return spark.read.parquet(str(out / "rows")).toArrow().sort_by([(name, "ascending") for name in COLUMNS[:3]])


def expected_rows(folder: Path) -> pa.Table:
    tables = [read_frames(path, ports=[40001], columns=COLUMNS) for path in sorted(folder.iterdir())]
    return pa.concat_tables([table.replace_schema_metadata(None) for table in tables])


def growing(build: SimpleNamespace, seed: int) -> dict[str, bytes]:
    rng = random.Random(seed)
    found = {}
    for name in ("a.pcap", "b.pcap"):
        packets = [build.ethernet(build.ip4(*datagram)) for datagram in build.conversation(rng, 400)]
        found[name] = build.classic(packets)
    ng = build.section() + build.interface(1, name="first")
    for number, datagram in enumerate(build.conversation(rng, 300)):
        ng += build.interface(101, name="second") if number == 100 else b""
        packet = build.ip4(*datagram)
        ng += build.enhanced(packet if number > 100 else build.ethernet(packet), number=int(number > 100), ticks=number)
    found["c.pcapng"] = ng
    return found


def test_gives_each_frame_once_over_restarts_at_any_byte(spark: Any, build: SimpleNamespace, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    folder, out = tmp_path / "captures", tmp_path / "out"
    folder.mkdir()
    files = growing(build, seed)
    written = dict.fromkeys(files, 0)
    for turn in range(RESTARTS):
        for name, data in files.items():
            end = len(data) if turn == RESTARTS - 1 else rng.randint(written[name], len(data))
            with (folder / name).open("ab") as file:
                file.write(data[written[name] : end])
            written[name] = end
        query = stream(spark, folder, out, **({"maxBytesPerTrigger": "30k"} if turn % 2 else {}))
        query.awaitTermination()
        assert query.exception() is None, f"seed {seed}"
    assert rows(spark, out).equals(expected_rows(folder)), f"seed {seed}"


def test_waits_for_the_rest_of_a_header(spark: Any, build: SimpleNamespace, tmp_path: Path) -> None:
    folder, out = tmp_path / "captures", tmp_path / "out"
    folder.mkdir()
    files = {f"{cut}-{name}": (cut, data) for cut in (0, 3, 4, 8, 11, 23, 27) for name, data in growing(build, 2).items()}
    for is_whole in (False, True):
        for name, (cut, data) in files.items():
            (folder / name).write_bytes(data if is_whole else data[:cut])
        query = stream(spark, folder, out)
        query.awaitTermination()
        assert query.exception() is None
    assert rows(spark, out).equals(expected_rows(folder))


def in_pieces(build: SimpleNamespace, name: str) -> bytes:
    """A capture of datagrams of 4 KB, each in three IP fragments that are far from each other in the file; every 40th is whole."""
    rng, packets = random.Random(3), []
    for number in range(200):
        packet = build.ip4(build.data_frame(number * 4128, rng.randbytes(4096), term_id=0), build.SENDER, build.RECEIVER)
        header, body = packet[:20], packet[20:]
        parts = [body] if number % 40 == 0 else [body[:1480], body[1480:2960], body[2960:]]
        for at, part in enumerate(parts):
            field = (at * 1480 // 8 | (0x2000 if at < len(parts) - 1 else 0)).to_bytes(2, "big")
            head = header[:2] + (20 + len(part)).to_bytes(2, "big") + number.to_bytes(2, "big") + field + header[8:]
            packets.append((number + 20 * at, build.ethernet(head + part)))
    found = [packet for _, packet in sorted(packets, key=lambda one: one[0])]
    if name.endswith(".pcap"):
        return bytes(build.classic(found))
    return bytes(build.section() + build.interface(1) + b"".join(build.enhanced(packet, ticks=at) for at, packet in enumerate(found)))


@pytest.mark.parametrize("name", ["a.pcap", "a.pcapng"])
def test_fragments_on_both_sides_of_a_batch_are_put_together(spark: Any, build: SimpleNamespace, tmp_path: Path, name: str) -> None:
    folder, out = tmp_path / "captures", tmp_path / "out"
    folder.mkdir()
    data = in_pieces(build, name)
    ends = [0, len(data) // 3, len(data) // 2, len(data)]
    for start, end in pairwise(ends):
        with (folder / name).open("ab") as file:
            file.write(data[start:end])
        stream(spark, folder, out).awaitTermination()
    expected = expected_rows(folder)
    assert expected.num_rows == 200
    assert rows(spark, out).equals(expected)


def test_a_limit_of_files_spreads_them_over_batches(spark: Any, build: SimpleNamespace, tmp_path: Path) -> None:
    folder, out = tmp_path / "captures", tmp_path / "out"
    folder.mkdir()
    for name, data in growing(build, 1).items():
        (folder / name).write_bytes(data)
    query = stream(spark, folder, out, maxFilesPerTrigger="1")
    query.awaitTermination()
    assert [progress["numInputRows"] > 0 for progress in query.recentProgress][:3] == [True] * 3
    assert rows(spark, out).equals(expected_rows(folder))


def test_needs_ports_and_says_why(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "captures").mkdir()
    frames = spark.readStream.format("aeron_pcap").load(str(tmp_path / "captures"))
    query = frames.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    with pytest.raises(Exception, match="a stream needs option ports"):
        query.awaitTermination()


def test_a_file_that_shrank_ends_the_query(spark: Any, build: SimpleNamespace, tmp_path: Path) -> None:
    folder, out = tmp_path / "captures", tmp_path / "out"
    folder.mkdir()
    data = growing(build, 2)["a.pcap"]
    (folder / "a.pcap").write_bytes(data)
    stream(spark, folder, out).awaitTermination()
    (folder / "a.pcap").write_bytes(data[: len(data) // 2])
    frames = spark.readStream.format("aeron_pcap").options(ports="40001", columns=",".join(COLUMNS)).load(str(folder))
    query = frames.writeStream.format("parquet").option("checkpointLocation", str(out / "checkpoint")).start(str(out / "rows"))
    with pytest.raises(Exception, match="is shorter than what was read of it"):
        query.awaitTermination()
