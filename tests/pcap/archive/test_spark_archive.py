"""The data source `aeron_archive` gives the rows of `read_recording`, in any number of parts, and each frame once over restarts."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aerowire.pcap.archive import read_recording
from tests.support.archives.recordings import TERM, RecordingWriter, write_catalog
from tests.support.archives.restarts import check_restarts, rows, start

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
RESTARTS = 3  # the soak has more, and kills among them


@pytest.fixture
def writers(tmp_path: Path, seed: int) -> list[RecordingWriter]:
    directory = tmp_path / "archive"
    directory.mkdir()
    rng = random.Random(seed)
    found = [
        RecordingWriter(directory),
        RecordingWriter(directory, 1, start=5 * TERM + 4096, stream_id=1002, channel="aeron:udp?endpoint=a:1"),
    ]
    for writer in found:
        writer.some(rng, 400)
    found[1].stop = found[1].position
    write_catalog(directory, found)
    return found


def load(spark: Any, directory: Path, **options: str) -> Any:
    return spark.read.format("aeron_archive").options(**options).load(str(directory))


def plain(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in frame.toArrow().to_pylist())


def expected(directory: Path, ids: tuple[int, ...] = (0, 1), **options: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for one in ids for row in read_recording(directory, one, **options).to_table().to_pylist())


@pytest.mark.parametrize("content", ["frames", "messages"])
def test_gives_the_same_rows_for_any_number_of_parts(spark: Any, writers: list[RecordingWriter], content: str) -> None:
    directory = writers[0].directory
    by_segment = load(spark, directory, content=content)
    segments = sum(-(-(writer.position - writer.start // TERM * TERM) // writer.segment_length) for writer in writers)
    assert by_segment.rdd.getNumPartitions() == segments
    by_term = load(spark, directory, content=content, minPartitions=str(2 * segments - 1))
    assert by_term.rdd.getNumPartitions() > segments
    assert plain(by_segment) == plain(by_term) == expected(directory, messages=content == "messages")


def test_options_choose_recordings_columns_and_positions(spark: Any, writers: list[RecordingWriter], seed: int) -> None:
    directory = writers[0].directory
    for options in ({"recordingId": "1"}, {"streamId": "1002"}, {"channel": "endpoint=a"}):
        chosen = load(spark, directory, columns="recording_id,position", **options)
        assert plain(chosen) == expected(directory, (1,), columns=["recording_id", "position"]), options
    first, last = 6 * TERM + 77, 7 * TERM + 1234
    ranges = {"startingOffsets": json.dumps({"0": -1, "1": first}), "endingOffsets": json.dumps({"1": last})}
    for content in ("frames", "messages"):
        found = plain(load(spark, directory, content=content, minPartitions="9", **ranges))
        messages = content == "messages"
        assert found == expected(directory, (1,), from_position=first, to_position=last, messages=messages), f"seed {seed}"
    listed = load(spark, directory, content="recordings").select("recording_id", "stop_position", "segments").collect()
    assert [row.stop_position for row in listed] == [None, writers[1].stop]
    assert listed[1].segments[0] == 5 * TERM


def test_damage_fails_the_query_or_is_told_as_rows(spark: Any, writers: list[RecordingWriter]) -> None:
    directory = writers[0].directory
    lost = directory / f"1-{7 * TERM}.rec"
    lost.unlink()
    with pytest.raises(Exception, match=rf"{lost.name}: offset 0 \(recording 1, position {7 * TERM}\): the segment cannot be read"):
        load(spark, directory).collect()
    left = plain(load(spark, directory, failOnDataLoss="false", columns="recording_id,position"))
    assert left == expected(directory, columns=["recording_id", "position"])
    found = load(spark, directory, content="damage").collect()
    assert [(row.path, row.recording_id, row.position) for row in found] == [(str(lost), 1, 7 * TERM)]


def test_gives_each_frame_once_over_restarts(spark: Any, tmp_path: Path, seed: int) -> None:
    check_restarts(spark, tmp_path, seed, size=RESTARTS)


def test_gives_each_message_once_over_restarts(spark: Any, tmp_path: Path, seed: int) -> None:
    check_restarts(spark, tmp_path, seed, size=RESTARTS, content="messages")


def test_a_limit_spreads_what_is_there_over_batches(spark: Any, writers: list[RecordingWriter], tmp_path: Path) -> None:
    query = start(
        spark, writers[0].directory, tmp_path / "out", once=True, maxOffsetsPerTrigger="100k", startingOffsets='{"0": 100, "1": -1}'
    )
    query.awaitTermination()
    counts = [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]]
    total = writers[0].position
    assert total // (100 << 10) <= len(counts) <= total // TERM + 2
    assert rows(spark, tmp_path / "out", "position") == [(row[0],) for row in writers[0].rows if row[0] >= 100]


def test_a_stream_fails_where_a_recording_was_purged_before_it_was_read(spark: Any, writers: list[RecordingWriter], tmp_path: Path) -> None:
    directory = writers[0].directory
    start(spark, directory, tmp_path / "out", once=True).awaitTermination()
    before = rows(spark, tmp_path / "out", "position")
    writers[0].some(random.Random(1), 1200)
    writers[1].state = 2
    fresh = RecordingWriter(directory, 0, start=_base(writers[0]))
    fresh.position, fresh.rows = writers[0].position, writers[0].rows
    write_catalog(directory, [fresh, writers[1]])
    query = start(spark, directory, tmp_path / "out", once=True)
    with pytest.raises(Exception, match="its segments were purged"):
        query.awaitTermination()
    start(spark, directory, tmp_path / "out", once=True, failOnDataLoss="false").awaitTermination()
    expected_new = [(row[0],) for row in fresh.rows if row[0] >= fresh.start]
    assert rows(spark, tmp_path / "out", "position") == sorted(before + expected_new)


def _base(writer: RecordingWriter) -> int:
    """Return where the last segment begins."""
    return writer.position - writer.segment(writer.position)[1]


def test_the_core_imports_no_spark() -> None:
    code = "import sys, aerowire.pcap.archive as a; a.read_recording; a.recordings; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"topic": "x"}, "unknown option topic"),
        ({"startingOffsets": "soon"}, "expected earliest, latest or positions of recordings as JSON"),
        ({"startingOffsets": '{"9": 0}'}, r"offsets name recordings that are not read: \[9\]"),
        ({"maxBytesPerTrigger": "0"}, "expected a whole number from 1"),
        ({"recordingId": "17"}, "no valid recording 17"),
    ],
)
def test_options_without_meaning_are_refused(spark: Any, writers: list[RecordingWriter], options: dict[str, str], message: str) -> None:
    with pytest.raises(Exception, match=message):
        load(spark, writers[0].directory, **options).collect()
