"""`aerowire streams` and `backlog`: streams put together from counters, and who holds whom up."""

from __future__ import annotations

import functools
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from aerowire.client import BACK_PRESSURED, Aeron
from aerowire.codecs.flyweights.cnc import StreamCounterKeyEncoder
from aerowire.codecs.tables.counters import CounterType, format_label
from aerowire.ipc.counters import CounterInfo, CountersReader
from aerowire.tools.driver.client_processes import users_of
from aerowire.tools.driver.clients import clients_of
from aerowire.tools.main import main
from aerowire.tools.streams.backlog import backlogs_of
from aerowire.tools.streams.stream_look import StreamsSeen
from aerowire.tools.streams.stream_model import LogFacts, Publication, Streams, streams_of
from aerowire.tools.streams.stream_rows import rows_of
from aerowire.tools.streams.stream_verdicts import GOOD, LATE, STALLED, slowest_of, verdict_of
from tests.archive.conductor.conftest import CHANNEL, STREAM_ID, Rig
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from aerowire.tools.driver.driver_files import DriverState

Run = Callable[..., tuple[int, str, str]]
IPC, UDP = "aeron:ipc", "aeron:udp?endpoint=localhost:40123"
SESSION, STREAM = -5, 1001
LOG = LogFacts(mtu=1408, term_length=65536, publication_window_length=32768, receiver_window_length=0)


IDS = itertools.count(46)


def counter(
    kind: CounterType, registration_id: int, value: int, *, owner: int = 1, reference: int = 0, channel: str = IPC, **suffix: object
) -> CounterInfo:
    stream = {"registration_id": registration_id, "session_id": SESSION, "stream_id": STREAM}
    label = format_label(kind, channel=channel, mode="exclusive", **stream, **suffix)
    key = StreamCounterKeyEncoder.encode(**stream, channel=channel[:92])
    return CounterInfo(next(IDS), kind, label, value, registration_id, owner, reference, key)


def ipc(position: int, limit: int, *readers: int) -> Streams:
    """An IPC publication 3 and its subscribers 10, 11, ..."""
    items = [counter(CounterType.PUB_POS, 3, position), counter(CounterType.PUB_LMT, 3, limit)]
    items += [
        counter(CounterType.SUB_POS, 10 + index, read, owner=20 + index, reference=3, join_position=64)
        for index, read in enumerate(readers)
    ]
    return streams_of(items, log_facts=lambda _identity: LOG)


def udp(*, position: int, limit: int, sent: int, send_limit: int) -> Streams:
    items = [
        counter(CounterType.PUB_POS, 3, position, channel=UDP),
        counter(CounterType.PUB_LMT, 3, limit, channel=UDP),
        counter(CounterType.SND_POS, 3, sent, channel=UDP),
        counter(CounterType.SND_LMT, 3, send_limit, channel=UDP),
        counter(CounterType.SND_BPE, 3, 7, channel=UDP),
    ]
    return streams_of(items, log_facts=lambda _identity: LOG)


def image(high_water: int, position: int, *readers: int) -> Streams:
    items = [counter(CounterType.RCV_HWM, 4, high_water, channel=UDP), counter(CounterType.RCV_POS, 4, position, channel=UDP)]
    items += [counter(CounterType.SUB_POS, 10 + index, read, reference=4, channel=UDP) for index, read in enumerate(readers)]
    return streams_of(items, log_facts=lambda _identity: LOG, losses={(SESSION, STREAM): (2, 2816)})


def test_joins_a_publication_with_its_subscribers() -> None:
    (publication,) = ipc(4096, 32768, 4096, 1024).publications
    assert (publication.registration_id, publication.session_id, publication.stream_id) == (3, SESSION, STREAM)
    assert (publication.mode, publication.window_left, publication.window_length) == ("exclusive", 28672, 32768)
    assert [(item.registration_id, item.client_id, item.position, item.join_position) for item in publication.subscribers] == [
        (10, 20, 4096, 64),
        (11, 21, 1024, 64),
    ]
    assert [item.registration_id for item in slowest_of(publication)] == [11]


def test_joins_an_image_with_its_subscribers_and_its_losses() -> None:
    (found,) = image(8192, 4096, 4096).images
    assert (found.missing, found.losses, found.lost_bytes) == (4096, 2, 2816)
    assert verdict_of(found) == (LATE, "4 KiB wait behind a gap", frozenset())


def test_a_driver_that_refers_to_nothing_is_joined_by_session_and_stream() -> None:
    items = [counter(CounterType.RCV_POS, 4, 0, channel=UDP), counter(CounterType.SUB_POS, 10, 0, channel=UDP)]
    assert [item.registration_id for item in streams_of(items).images[0].subscribers] == [10]


def test_the_longer_channel_of_a_label_is_taken() -> None:
    channel = f"{UDP}|alias={'x' * 150}"
    assert streams_of([counter(CounterType.PUB_LMT, 3, 0, channel=channel)]).publications[0].channel == channel


@pytest.mark.parametrize(
    ("streams", "severity", "text"),
    [
        (ipc(0, 0), GOOD, "not connected: nobody subscribes"),
        (ipc(4096, 32768, 4096, 1024), GOOD, ""),
        (ipc(20480, 32768, 20480, 0), LATE, "subscriber 11 has not read 50 % of the window or more"),
        (
            ipc(32768, 32768, 32768, 32000, 0),
            STALLED,
            "back-pressured: subscriber 12, 32 KiB behind, stalls the publisher and 2 other subscribers",
        ),
        (ipc(32768, 32768, 0), STALLED, "back-pressured: subscriber 10, 32 KiB behind, stalls the publisher"),
        (ipc(32768, 32768, 0, 0), STALLED, "back-pressured: subscriber 10, subscriber 11, 32 KiB behind, stall the publisher"),
        (udp(position=0, limit=0, sent=0, send_limit=0), GOOD, "not connected: nobody receives"),
        (udp(position=4096, limit=32768, sent=4096, send_limit=4096), GOOD, ""),
        (
            udp(position=4096, limit=32768, sent=2048, send_limit=2048),
            LATE,
            "flow control holds the sender: a receiver does not read, or there is none",
        ),
        (
            udp(position=32768, limit=32768, sent=0, send_limit=128),
            STALLED,
            "back-pressured: flow control holds the sender: a receiver does not read, or there is none",
        ),
        (udp(position=32768, limit=32768, sent=0, send_limit=32768), STALLED, "back-pressured: the sender is behind"),
        (image(32768, 32768, 32768, 31360), GOOD, ""),
        (image(32768, 32768, 32768, 16384), LATE, "subscriber 11 has not read 50 % of the window or more"),
        (
            image(32768, 32768, 32768, 0),
            STALLED,
            "window full: subscriber 11, 32 KiB behind, stalls the publisher and 1 other subscriber",
        ),
    ],
)
def test_says_who_holds_a_stream_up(streams: Streams, severity: str, text: str) -> None:
    (end,) = streams.ends
    found = verdict_of(end)
    assert (found.severity, found.text) == (severity, text)


def test_the_reader_on_the_same_driver_is_named_where_flow_control_holds_a_sender() -> None:
    (publication,) = udp(position=32768, limit=32768, sent=0, send_limit=128).publications
    (end,) = image(32768, 32768, 32768, 2048).images
    found = verdict_of(publication, images=[end])
    assert found.text == "back-pressured: flow control holds the sender: subscriber 11, 30 KiB behind, reads its image here"
    end.session_id += 1
    assert verdict_of(publication, images=[end]).text.endswith("a receiver does not read, or there is none")


def test_backlogs_are_what_is_before_each_end() -> None:
    (publication,) = udp(position=4096, limit=32768, sent=1024, send_limit=2048).publications
    assert [(item.role, item.length, item.left) for item in backlogs_of(publication)] == [
        ("publisher", 3072, 28672),
        ("sender", 3072, 1024),
    ]
    (received,) = image(8192, 4096, 1024).images
    assert [(item.role, item.length) for item in backlogs_of(received)] == [("receiver", 4096), ("subscriber", 7168)]
    assert isinstance(publication, Publication)


def test_a_client_is_known_by_its_heartbeat() -> None:
    label = format_label(CounterType.CLIENT_HEARTBEAT, client_id=9, client_name="pricing", version="0.1.0", commit="aerowire pid=4711")
    official = format_label(CounterType.CLIENT_HEARTBEAT, client_id=8, client_name="", version="1.51.0", commit="abc")
    found = clients_of(
        [
            CounterInfo(46 + index, CounterType.CLIENT_HEARTBEAT, text, 5, 9 - index, 9 - index, 0, b"")
            for index, text in enumerate((label, official))
        ]
    )
    assert [(client.title, client.announced_pid, client.heartbeat_ms) for client in found.values()] == [
        ("pricing", 4711, 5),
        ("client 8", None, 5),
    ]


def test_processes_are_found_by_what_they_map(tmp_path: Path) -> None:
    cnc = tmp_path / "cnc.dat"
    cnc.write_bytes(b"x")
    found = cnc.stat()
    device = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}"
    for pid, line in ((7, f"7f00-7f01 rw-s 00000000 {device} {found.st_ino} /elsewhere/cnc.dat"), (8, "7f00-7f01 rw-p 00000000 00:00 0")):
        folder = tmp_path / "proc" / str(pid)
        folder.mkdir(parents=True)
        (folder / "maps").write_text(f"{line}\n7f00-7f01 r--p 00000000 08:01 12 /bin/java\n")
    assert users_of(cnc, tmp_path / "proc") == {7: {(found.st_dev, found.st_ino), (os.makedev(8, 1), 12)}}
    assert users_of(tmp_path / "none", tmp_path / "proc") == {}


def is_named(counters: CountersReader, name: str) -> bool:
    """Whether a client has put its name behind the label that the driver made."""
    return any(f" name={name} " in item.label for item in counters.for_each())


def test_a_slow_subscriber_is_named_with_its_client_and_process(driver_dir: str, run_command: Run) -> None:
    with (
        Aeron.connect(aeron_dir=driver_dir, client_name="pricing") as publishing,
        Aeron.connect(aeron_dir=driver_dir, client_name="idler") as idling,
        publishing.add_publication(IPC, STREAM) as publication,
        publishing.add_subscription(IPC, STREAM) as reading,
        idling.add_subscription(IPC, STREAM) as slow,
    ):
        while publication.offer(bytes(1000)) != BACK_PRESSURED or not reading.is_connected or not slow.is_connected:
            reading.poll(lambda *_: None)
        while reading.poll(lambda *_: None):
            pass
        labels = publishing.counters_reader
        for name in ("pricing", "idler"):
            wait_until(functools.partial(is_named, labels, name), f"the name {name}")
        code, output, errors = run_command("streams", "--json", "--stream", str(STREAM))
        people = run_command("streams", "--stream", str(STREAM), "--stalled")[1]
        backlog = run_command("backlog", "--stream", str(STREAM))[1]
    assert (code, errors) == (0, "")
    (found,) = json.loads(output)["publications"]
    culprits = [item for item in found["subscribers"] if item["is_culprit"]]
    assert [item["client"]["name"] for item in culprits] == ["idler"]
    assert culprits[0]["client"]["pids"] == [os.getpid()]
    # It has read nothing since it joined; messages may have been written before the driver let it join.
    assert culprits[0]["behind"] == found["position"] - culprits[0]["join_position"] > 0
    assert found["verdict"]["severity"] == "stalled"
    assert f"(idler, pid {os.getpid()})" in people
    assert "stalls the publisher and 1 other subscriber" in people
    assert "SLOWEST" in people
    assert backlog.splitlines()[2].split()[:4] == [f"{culprits[0]['behind']:,}", "not", "taken", "yet"]
    assert any("to read" in line and "idler" in line for line in backlog.splitlines())


def test_only_what_is_asked_for_is_shown(empty_driver_dir: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Aeron.connect(aeron_dir=empty_driver_dir) as aeron, aeron.add_publication(IPC, 1), aeron.add_publication(IPC, 2) as wanted:
        session = wanted.session_id
        assert main(["streams", "--json", "--dir", empty_driver_dir, "--session", str(session)]) == 0
        assert [item["stream_id"] for item in json.loads(capsys.readouterr().out)["publications"]] == [2]
        assert main(["streams", "--json", "--dir", empty_driver_dir, "--stalled"]) == 0
        assert json.loads(capsys.readouterr().out)["publications"] == []
        assert main(["backlog", "--json", "--dir", empty_driver_dir, "--at-least", "1"]) == 0
        assert json.loads(capsys.readouterr().out)["backlogs"] == []


def closed(*, position: int, sent: int, end: int, read: int | None = None) -> Streams:
    """A publication that its publisher has closed at `end`, while the driver still sends; its limit is where the sender is."""
    items = [counter(CounterType.PUB_POS, 3, position), counter(CounterType.PUB_LMT, 3, sent), counter(CounterType.SND_POS, 3, sent)]
    items += [] if read is None else [counter(CounterType.SUB_POS, 10, read, reference=3, join_position=0)]
    return streams_of(items, log_facts=lambda _identity: LOG._replace(end_of_stream_position=end))


def test_a_publication_that_is_sent_to_its_end_after_its_publisher_closed_is_not_back_pressured() -> None:
    (publication,) = closed(position=1_000, sent=600, end=1_064).publications
    verdict = verdict_of(publication)
    assert (verdict.severity, verdict.text) == (GOOD, "closed by its publisher: 464 B still to be sent or read")
    assert publication.send_backlog == 464
    (publication,) = closed(position=1_000, sent=1_064, end=1_064).publications
    assert verdict_of(publication).text == "closed by its publisher"


def test_nobody_is_behind_by_less_than_nothing() -> None:
    (publication,) = closed(position=1_000, sent=1_064, end=1_064, read=1_064).publications
    assert (publication.front, publication.unread) == (1_064, 0)
    seen = StreamsSeen(0, cast("DriverState", None), closed(position=1_000, sent=1_064, end=1_064, read=1_064), {}, None)
    rows = rows_of(seen, seen.streams.publications[0])
    assert not [cell for row in rows for cell in row.cells if cell.startswith("-")]
    assert next(row.cells[-1] for row in rows) == "closed, exclusive"
    # A subscriber's counter may be newer than the publication's.
    (publication,) = ipc(64, 32_768, 128).publications
    seen = StreamsSeen(0, cast("DriverState", None), ipc(64, 32_768, 128), {}, None)
    assert rows_of(seen, seen.streams.publications[0])[-1].cells[4] == "0"


def test_a_recording_stands_with_the_log_that_its_archive_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = Rig(tmp_path / "archive")
    rig.client.start_recording(CHANNEL, STREAM_ID)
    publication = rig.publication()
    recording_id = rig.started()
    end = rig.offer(publication, 3)
    rig.run(lambda: rig.client.get_recording_position(recording_id) == end)
    arguments = ["streams", "--dir", rig.driver.aeron_dir, "--stream", str(STREAM_ID)]
    assert main([*arguments, "--json"]) == 0
    (shown,) = json.loads(capsys.readouterr().out)["publications"]
    (recording,) = shown["recordings"]
    assert (recording["recording_id"], recording["position"], recording["behind"]) == (recording_id, end, 0)
    assert recording["client"]["name"] == "archive archiveId=4711"
    assert main(arguments) == 0
    assert f"recording {recording_id} " in capsys.readouterr().out
    assert main(["stat", "--dir", rig.driver.aeron_dir, "--type", "archive-.*", "--once", "--json"]) == 0
    counters = {one["type_id"]: one["label"] for one in json.loads(capsys.readouterr().out)["counters"]}
    assert set(counters) == set(range(100, 114))
    assert all("archiveId=4711" in label for label in counters.values())
    rig.close()
