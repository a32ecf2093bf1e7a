"""The Spark sink `aeron`: what a subscriber receives is the rows, at least once and in each part's order; one session for the module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.client import Aeron
from aerowire.driver.media_driver import MediaDriver
from tests.support.subscribed import subscribed
from tests.support.waiting import no_shorter_than

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
CAPTURES = Path(__file__).parent.parent / "data" / "captures"
CHANNEL = "aeron:ipc?term-length=64k"


@pytest.fixture(scope="module")
def driver_dir() -> Iterator[str]:
    with MediaDriver.launch_embedded(threading_mode="SHARED", publication_linger_timeout_ns=200_000_000) as driver:
        yield driver.aeron_dir


def written(frame: Any, driver_dir: str, stream_id: int, **options: str) -> None:
    options = {"channel": CHANNEL, "stream": str(stream_id), "aeron.dir": driver_dir, **options}
    frame.write.format("aeron").options(**options).mode("append").save()


def test_a_subscriber_gets_every_row_of_every_part_in_order(spark: Any, driver_dir: str) -> None:
    frame = spark.range(0, 5000, numPartitions=3).selectExpr(
        "cast(concat(id, repeat('x', id % 3000)) as binary) payload", "id reserved_value"
    )
    rows = [(bytes(row.payload), row.reserved_value) for row in frame.collect()]
    with subscribed(driver_dir, 1) as found:
        written(frame, driver_dir, 1)
    assert sorted(pair for pairs in found.sessions.values() for pair in pairs) == sorted(rows)
    assert len(found.sessions) == 3
    for pairs in found.sessions.values():
        assert pairs == sorted(pairs, key=lambda pair: pair[1])


def test_a_slow_subscriber_slows_the_sink_and_gets_everything(spark: Any, driver_dir: str) -> None:
    frame = spark.range(0, 300, numPartitions=1).selectExpr("cast(lpad(id, 1000, '0') as binary) value")
    from aerowire.pcap.sink import publish

    with subscribed(driver_dir, 2, pause_s=0.002) as found:
        (told,) = publish(frame, CHANNEL, 2, aeron_dir=driver_dir)
    assert found.messages == [str(number).zfill(1000).encode() for number in range(300)]
    assert (told.messages, told.bytes) == (300, 300_000)
    assert told.blocked_ns > 0
    assert list(found.sessions) == [told.session_id]


def test_says_that_nobody_subscribes(spark: Any, driver_dir: str) -> None:
    with pytest.raises(Exception, match=r"aeron:ipc\?term-length=64k stream 3: partition 0, after 0 of its rows were sent: no subscriber"):
        written(spark.range(1, numPartitions=1).selectExpr("cast(id as string) value"), driver_dir, 3, connectTimeout="200ms")


def test_says_that_subscribers_do_not_keep_up(spark: Any, driver_dir: str) -> None:
    frame = spark.range(0, 200, numPartitions=1).selectExpr("cast(repeat('x', 1000) as binary) value")
    said = r"partition 0, after \d+ of its rows were sent: the subscribers do not keep up"
    with Aeron.connect(driver_dir) as aeron, aeron.add_subscription("aeron:ipc", 4), pytest.raises(Exception, match=said):
        written(frame, driver_dir, 4, offerTimeout="200ms")


def test_says_that_there_is_no_driver(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=str(tmp_path)):
        written(spark.range(1).selectExpr("cast(id as string) value"), str(tmp_path / "none"), 5)


def test_refuses_rows_that_are_no_messages_after_those_before_them(spark: Any, driver_dir: str) -> None:
    long = "case when id = 2 then repeat('x', 8193) else 'fits' end"
    with (
        subscribed(driver_dir, 6) as found,
        pytest.raises(Exception, match=r"row 2 of the part: expected at most 8192 bytes.*found 8193 bytes"),
    ):
        written(spark.range(0, 4, numPartitions=1).selectExpr(f"cast({long} as binary) value"), driver_dir, 6)
    assert found.messages == [b"fits", b"fits"]
    with subscribed(driver_dir, 6), pytest.raises(Exception, match=r"row 0 of the part: .*found null"):
        written(spark.sql("select cast(null as binary) value"), driver_dir, 6)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"channel": ""}, "no channel given"),
        ({"stream": "ten"}, "option stream: expected a number from -2147483648"),
        ({"offerTimeout": "soon"}, "option offerTimeout: expected a time such as 5s"),
        ({"column": "nothing"}, "option column: expected a column of bytes.*found value, number"),
        ({"column": "number"}, "column number: expected binary or string, found bigint"),
        ({"reservedValueColumn": "nothing"}, "no column is called nothing"),
        ({"reservedValueColumn": "value"}, "column value: expected integers of 64 bits, found string"),
        ({"chanel": "x"}, "unknown option chanel"),
        ({"speed": "fast"}, "option speed: expected a factor above 0"),
        ({"speed": "1x"}, "option timestampColumn: no column is called ts_ns; there are value, number"),
    ],
)
def test_refuses_options_without_meaning(spark: Any, driver_dir: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(Exception, match=said):
        written(spark.range(1).selectExpr("cast(id as string) value", "id number"), driver_dir, 7, **options)


def test_a_stream_cannot_be_overwritten(spark: Any, driver_dir: str) -> None:
    frame = spark.range(1).selectExpr("cast(id as string) value")
    options = {"channel": CHANNEL, "stream": "8", "aeron.dir": driver_dir}
    with pytest.raises(Exception, match="cannot be overwritten"):
        frame.write.format("aeron").options(**options).mode("overwrite").save()


def test_nothing_is_connected_for_no_rows(spark: Any, tmp_path: Path) -> None:
    written(spark.range(0).selectExpr("cast(id as string) value"), str(tmp_path / "none"), 9)


def test_a_stream_of_batches_is_published_and_goes_on_after_a_restart(spark: Any, driver_dir: str, tmp_path: Path) -> None:
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    source.mkdir()

    def run() -> None:
        lines = spark.readStream.format("text").load(str(source))
        query = (
            lines.writeStream.format("aeron")
            .options(**{"channel": CHANNEL, "stream": "10", "aeron.dir": driver_dir, "checkpointLocation": str(checkpoint)})
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(120)
        assert query.exception() is None

    with subscribed(driver_dir, 10) as found:
        (source / "1.txt").write_text("one\ntwo\n")
        run()
        assert found.messages == [b"one", b"two"]
        (source / "2.txt").write_text("three\n")
        run()
    assert found.messages == [b"one", b"two", b"three"]


def test_a_batch_that_fails_is_sent_again_whole(spark: Any, driver_dir: str, tmp_path: Path) -> None:
    """At least once: what a failed batch sent comes again."""
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    source.mkdir()
    (source / "1.txt").write_text(f"fits\n{'x' * 9000}\n")

    def run(channel: str) -> Any:
        options = {"channel": channel, "stream": "11", "aeron.dir": driver_dir, "checkpointLocation": str(checkpoint)}
        lines = spark.readStream.format("text").load(str(source))
        query = lines.writeStream.format("aeron").options(**options).trigger(availableNow=True).start()
        try:
            query.awaitTermination(120)
        except Exception as error:
            return error
        return query.exception()

    with subscribed(driver_dir, 11) as found:
        assert "found 9000 bytes" in str(run(CHANNEL))
        assert run("aeron:ipc?term-length=128k") is None
    assert found.messages == [b"fits", b"fits", b"x" * 9000]


def test_keeps_the_time_between_rows(spark: Any, driver_dir: str) -> None:
    frame = spark.range(0, 4, numPartitions=1).selectExpr("cast(id as string) value", "id * 1000000000 as ts_ns", "id reserved_value")
    with no_shorter_than(0.3, "faster than the rows' times"), subscribed(driver_dir, 12) as found:
        written(frame, driver_dir, 12, speed="10x")
    assert found.sessions.popitem()[1] == [(b"0", 0), (b"1", 1), (b"2", 2), (b"3", 3)]


def test_replays_a_capture_that_executors_read(spark: Any, driver_dir: str) -> None:
    """As one process replays it: the same messages in the same order, the same counts."""
    from aerowire.pcap.publishing import Target
    from aerowire.pcap.replay.pacing import MAX
    from aerowire.pcap.replay.replaying import Recorded, find_streams
    from aerowire.pcap.spark import replaying

    paths = [str(CAPTURES / "loss_data_sender_side.pcap"), str(CAPTURES / "reorder_dup.pcap")]
    streams = find_streams(paths)
    recorded = Recorded(paths, streams)
    expected = [message.payload for message in recorded]
    frames = replaying.read_frames(spark, paths, None)
    found_streams = replaying.find_streams(frames, paths)
    assert found_streams == streams
    target = Target("aeron:ipc?term-length=1m", 13, {"aeron.dir": driver_dir})
    with subscribed(driver_dir, 13) as found:
        published, counts = replaying.replay(frames, paths, found_streams, target, MAX)
    assert found.messages == expected
    assert (published.messages, counts) == (len(expected), recorded.counts)
