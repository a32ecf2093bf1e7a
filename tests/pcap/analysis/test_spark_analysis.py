"""The functions of data frames tell what the local analysis does, of whole files and of files in many parts; one session for the module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from aerowire.pcap import analysis, read_frames
from aerowire.pcap.analysis.parts import NEEDED, SCHEMA, from_bytes
from aerowire.pcap.analysis.summary import losses_of, summarise
from aerowire.pcap.analysis.tables import LOSSES, STREAMS, loss_row, stream_row
from tests.support.captures.corpus import Corpus
from tests.support.captures.corpus import build as build_corpus

CAPTURES = Path(__file__).parent.parent.parent / "data" / "captures"
STREAM_ORDER = ("path", "session_id", "stream_id")
LOSS_ORDER = (*STREAM_ORDER, "destination", "interface", "shown_ts_ns", "start")
pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build_corpus(tmp_path_factory.mktemp("corpus") / "corpus.pcap", 60_000)


def ordered(rows: list[dict[str, Any]], schema: pa.Schema, names: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return rows as Arrow would tell them, sorted."""
    plain: list[dict[str, Any]] = pa.Table.from_pylist(rows, schema=schema).to_pylist()
    return sorted(plain, key=lambda row: [str(row[name]) for name in names])


def local(paths: list[str], ports: list[int] | None = None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    streams = [stream_row(path, report) for path in paths for report in summarise(path, ports)["streams"]]
    losses = [loss_row(path, loss) for path in paths for loss in losses_of(path, ports)[0]]
    return ordered(streams, STREAMS, STREAM_ORDER), ordered(losses, LOSSES, LOSS_ORDER)


def test_all_goldens_are_told_as_by_the_local_analysis(spark: Any) -> None:
    paths = sorted(str(path) for path in CAPTURES.glob("*.pcap"))
    streams, losses = local(paths)
    frames = spark.read.format("aeron_pcap").load(paths)
    assert ordered(analysis.streams(frames).toArrow().to_pylist(), STREAMS, STREAM_ORDER) == streams
    assert ordered(analysis.losses(frames).toArrow().to_pylist(), LOSSES, LOSS_ORDER) == losses
    assert len(streams) > 20
    assert len(losses) > 30


def test_a_file_in_many_parts_is_told_as_a_whole(spark: Any, corpus: Corpus) -> None:
    path = str(corpus.path)
    streams, losses = local([path], corpus.ports)
    options = {"splitSize": "1m", "ports": ",".join(map(str, corpus.ports)), "columns": ",".join(["path", *NEEDED])}
    frames = spark.read.format("aeron_pcap").options(**options).load(path)
    assert frames.rdd.getNumPartitions() >= 8
    assert ordered(analysis.streams(frames).toArrow().to_pylist(), STREAMS, STREAM_ORDER) == streams
    # Without packet_index in the frames, losses do not tell it.
    unnamed = {"packet_index": 0}
    expected = [{**row, **unnamed, "recovered_packet_index": None if row["recovered_ts_ns"] is None else 0} for row in losses]
    assert ordered(analysis.losses(frames).toArrow().to_pylist(), LOSSES, LOSS_ORDER) == expected


@pytest.mark.parametrize(("said", "tells"), [({}, False), ({"packetIndex": "false"}, False), ({"packetIndex": "true"}, True)])
def test_summaries_tell_packet_numbers_where_they_are_asked_for(spark: Any, said: dict[str, str], tells: bool) -> None:
    path = CAPTURES / "loss_data_receiver_side.pcap"
    rows = spark.read.format("aeron_pcap").options(content="partials", **said).load(str(path)).toArrow().to_pylist()
    parts = [from_bytes(row["partial"]) for row in rows if row["stream_id"] is not None]
    found = {number for part in parts for number in part.frames["packet_index"].tolist()}
    assert found <= (set(read_frames(path)["packet_index"].to_pylist()) if tells else {0})
    assert (len(found) > 1) == tells


def test_each_task_sends_a_summary_and_not_its_frames(spark: Any, corpus: Corpus) -> None:
    ports = ",".join(map(str, corpus.ports))
    read = spark.read.format("aeron_pcap").option("splitSize", "4m").option("ports", ports).option("content", "partials")
    rows = read.load(str(corpus.path)).toArrow()
    assert rows.schema.names == SCHEMA.names
    parts = [from_bytes(row["partial"]) for row in rows.to_pylist() if row["stream_id"] is not None]
    hot = [part for part in parts if int(part.frames["session_id"][0]) == 7]
    assert len(hot) >= 4
    count = sum(int((~part.is_run).sum()) + sum(sums.frames for sums in part.sums.values()) for part in hot)
    assert sum(len(part.frames) for part in hot) < count / 2
    assert sum(len(row["partial"]) for row in rows.to_pylist()) < corpus.size / 15
