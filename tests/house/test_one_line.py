"""Text of other processes in the output of every `aerowire` command: it forges no line, steers no terminal and hides nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from aerowire.archive.files.mark_file import ArchiveDetails, ArchiveMarkFile
from aerowire.base.errors import AerowireError
from aerowire.client import Aeron
from aerowire.cluster.files.mark_file import ClusterMarkDetails, ClusterMarkFile
from aerowire.cluster.files.recording_log import RecordingLog
from aerowire.codecs.flyweights.cluster_mark import ClusterComponentType
from aerowire.driver import MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.ipc.error_log import DistinctErrorLog
from aerowire.ipc.loss_report import LossReport
from aerowire.memory.region import Region
from aerowire.system.ports import Ports
from aerowire.tools.dispatch import _OWN
from aerowire.tools.main import main
from tests.support.archives.recordings import RecordingWriter, write_catalog

# A line break, escape sequences of seven and of eight bits, a mark that turns the direction of writing, and a mark-up of rich.
HOSTILE = "x\nFORGED 99\r\x1b[2J\x9b2J\x85FORGED\u202e\u2028FORGED[red]"
# What the protocol's commands can carry of it: ASCII.
ASCII = "x\nFORGED 99\r\x1b[2J[red]"
SHOWN = r"x\nFORGED 99\r\x1b[2J"
LONE = os.fsdecode(b"\xff")  # of a file name that is not UTF-8

MEMBERS = "0,h:1,h:2,h:3,h:4,h:5"

# Command line without its directory -> whether the hostile text is in its output.
COMMANDS: dict[str, list[tuple[list[str], bool]]] = {
    "driver pid": [([], False)],
    "driver idle": [([], True)],
    "driver terminate": [(["--wait", "0.1"], True)],
    "stat": [(["--once"], True), (["--once", "--json"], True)],
    "streams": [(["--once"], True), (["--once", "--json"], True)],
    "backlog": [(["--once"], True), (["--once", "--json"], True)],
    "errors": [([], True), (["--brief"], True), (["--json"], True)],
    "loss": [(["--once"], True), (["--csv"], True), (["--json"], True)],
    "log": [([], True), (["--json"], True)],
    "cnc": [([], True), (["--json"], True)],
    "events": [(["--all", "--once"], True), (["--all", "--once", "--json"], True)],
    "doctor": [(["--seconds", "0.1"], True), (["--seconds", "0.1", "--json"], True)],
    "driver": [(["-Daeron.threading.mode=" + HOSTILE], True)],
    "archive start": [(["--control", HOSTILE, "--replication", "aeron:ipc"], True)],
    "publish": [(["--wait", "0.1", "aeron:ipc?alias=" + ASCII, "9"], True), (["bad:" + HOSTILE, "9"], True)],
    "subscribe": [(["--wait", "0.1", "aeron:ipc?alias=" + ASCII, "9"], True)],
    "file send": [(["--wait", "0.1", str(Path(__file__)), "--channel", "bad:" + HOSTILE], True)],
    "file receive": [(["/nonexistent/" + HOSTILE], True)],
    "ping": [(["--channel", "aeron:" + HOSTILE], False)],
    "pong": [(["--channel", "bad:" + HOSTILE], True)],
    "throughput": [(["--channel", "aeron:" + HOSTILE], False)],
    "rate": [(["publish", "bad:" + HOSTILE, "9"], True)],
    "pcap": [(["summary", "/nonexistent/" + HOSTILE], True), (["streams", "/nonexistent/" + HOSTILE + LONE], True)],
    "demo": [(["--help"], False)],
    "simulate": [(["no:" + HOSTILE], True)],
    "archive describe": [([], True), (["0"], True), (["--json"], True)],
    "archive describe-all": [([], True), (["--json"], True)],
    "archive list": [([], True), (["--json"], True)],
    "archive dump": [([], True), (["--json"], True)],
    "archive errors": [([], True), (["--json"], True)],
    "archive pid": [([], False)],
    "archive verify": [(["--dry-run"], True), (["--dry-run", "--json"], True)],
    "archive checksum": [(["CRC-32", "--dry-run"], False), (["no-" + HOSTILE], True)],
    "archive count-entries": [([], False)],
    "archive max-entries": [([], False)],
    "archive capacity": [([], False)],
    "archive migrate": [(["--dry-run"], False)],
    "archive compact": [(["--dry-run"], True)],
    "archive delete-orphaned-segments": [(["--dry-run"], True)],
    "archive mark-valid": [(["9"], True)],
    "archive mark-invalid": [(["9"], True)],
    "archive repair": [([], True), (["--json"], True)],
    "archive retention": [(["--keep", "1h"], False)],
    "archive unlock": [(["--dry-run"], False)],
    "archive export": [(["0", "/nonexistent/" + HOSTILE], True)],
    "archive record": [(["aeron:ipc", "9"], True)],
    "archive stop": [(["0"], True)],
    "archive replay": [(["0"], True)],
    "archive replicate": [(["aeron:" + HOSTILE, "0"], True)],
    "archive truncate": [(["0", "0"], True)],
    "archive purge": [(["0"], True)],
    "cluster start": [(["--members", HOSTILE], True), (["--members", MEMBERS, "--service", HOSTILE], True)],
    "cluster describe": [([], True), (["--json"], True)],
    "cluster pid": [([], False)],
    "cluster recovery-plan": [(["0"], True), (["0", "--archive-dir", "/nonexistent/" + HOSTILE], True)],
    "cluster replay-check": [(["/nonexistent/" + HOSTILE], True)],
    "cluster recording-log": [([], False), (["--json"], False)],
    "cluster sort-recording-log": [([], False)],
    "cluster seed-recording-log-from-snapshot": [(["--help"], False)],
    "cluster errors": [([], True), (["--json"], True)],
    "cluster list-members": [([], True)],
    "cluster is-leader": [([], True)],
    "cluster snapshot": [([], True)],
    "cluster suspend": [([], True)],
    "cluster resume": [([], True)],
    "cluster shutdown": [([], True)],
    "cluster abort": [([], True)],
    "cluster invalidate-latest-snapshot": [([], False)],
    "cluster describe-latest-cm-snapshot": [([], False)],
}
WITHOUT_DIRECTORY = ("pcap", "demo", "simulate")
CASES = [(name, arguments, is_shown) for name, lines in COMMANDS.items() for arguments, is_shown in lines]


class Planted(NamedTuple):
    """A running driver whose files, counters and events hold hostile text, and the directories of an archive and of a member alike."""

    aeron_dir: str
    archive_dir: str
    cluster_dir: str


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    aeron_dir = str(tmp_path_factory.mktemp("hostile") / ASCII)
    with (
        MediaDriver.launch(
            aeron_dir=aeron_dir,
            threading_mode="SHARED",
            event_log="admin",
            environ={},
            dir_delete_on_shutdown=True,
            term_buffer_length=65536,
        ),
        Aeron.connect(aeron_dir) as aeron,
        aeron.add_counter(1001, "mine") as counter,
        aeron.add_publication(f"aeron:udp?endpoint=127.0.0.1:9|alias={ASCII}", 10),
        aeron.add_subscription(f"aeron:ipc?alias={ASCII}", 11),
        aeron.add_publication(f"aeron:ipc?alias={ASCII}", 11),
    ):
        with pytest.raises(AerowireError):
            aeron.add_publication("aeron:udp?endpoint=localhost:99999|alias=" + ASCII, 1)
        with CncFile.map(str(Path(aeron_dir) / "cnc.dat")) as cnc:
            cnc.counters_manager().append_label(counter.counter_id, HOSTILE)
        folder = Path(aeron_dir)
        with Region.map_file(folder / "loss-report.dat", writable=True) as region:
            LossReport(memoryview(region)).create(1, 1_000, 7, 8, "aeron:udp?alias=" + HOSTILE, HOSTILE)
        (folder / "publications" / f"7{HOSTILE}.logbuffer").write_bytes(b"no log")
        (folder / "images" / f"7{LONE}.logbuffer").write_bytes(b"no log")
        archive = plant_archive(tmp_path_factory.mktemp("hostile-archive") / ASCII)
        yield Planted(aeron_dir, str(archive), str(plant_member(tmp_path_factory.mktemp("hostile-member") / ASCII)))


def plant_archive(directory: Path) -> Path:
    """Make the directory of an archive with hostile text in its catalog and its error log: a recording that is sound, one that is not."""
    directory.mkdir()
    names = {"control_channel": HOSTILE, "local_control_channel": "", "events_channel": "", "aeron_directory": str(directory / "none")}
    details = ArchiveDetails(archive_id=1, control_stream_id=10, local_control_stream_id=10, events_stream_id=30, **names)
    mark = ArchiveMarkFile.create(directory, directory, details, Ports.system(), error_buffer_length=1 << 20)
    DistinctErrorLog(mark.error_log_buffer).record(HOSTILE, 1_700_000_000_000)
    mark.close()
    write_catalog(directory, [RecordingWriter(directory, number, channel=ASCII, state=1 + number, stop=0) for number in range(2)])
    for name in ("0-131072.rec", "1-0.rec"):
        (directory / name).write_bytes(b"\1" * 64)
    return directory


def plant_member(directory: Path) -> Path:
    """Make the directory of a cluster's member with hostile text in its mark file and its error log."""
    directory.mkdir()
    details = ClusterMarkDetails(
        component_type=ClusterComponentType.CONSENSUS_MODULE,
        archive_stream_id=10,
        service_stream_id=104,
        consensus_module_stream_id=105,
        cluster_id=0,
        aeron_directory=str(directory / "none"),
        ingress_channel=HOSTILE,
    )
    mark = ClusterMarkFile.create(directory, directory, details, Ports.system(), error_buffer_length=1 << 20)
    DistinctErrorLog(mark.error_log_buffer).record(HOSTILE, 1_700_000_000_000)
    mark.close()
    log = RecordingLog.open(directory, Ports.system().files, create=True)
    log.append_term(0, 0, 0, 0)
    log.close()
    return directory


def test_every_command_is_tried() -> None:
    assert set(COMMANDS) == set(_OWN)


@pytest.mark.parametrize(("name", "arguments", "is_shown"), CASES, ids=[f"{name} {' '.join(rest)[:20]!r}" for name, rest, _ in CASES])
def test_text_of_others_forges_no_line(
    planted: Planted, name: str, arguments: list[str], is_shown: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    family, _, command = name.partition(" ")
    directories = {"archive": planted.archive_dir, "cluster": planted.cluster_dir}
    is_of_family = family in directories and command != "start"
    where = [] if name in WITHOUT_DIRECTORY or is_of_family else ["--dir", planted.aeron_dir]
    arguments = [directories[family], *arguments] if is_of_family else arguments
    code: object
    try:
        code = main([*name.split(), *arguments, *where])
    except SystemExit as ended:  # of --help and wrong usage
        code = ended.code
    assert code in (0, 1, 2)
    out, err = capsys.readouterr()
    lines = [*out.split("\n"), *err.split("\n")]
    assert [line for line in lines if not line.isprintable()] == []
    assert [line for line in lines if line.startswith("FORGED")] == []
    assert ("FORGED" in out + err) == is_shown
    if "--json" in arguments:
        for line in out.splitlines():
            json.loads(line)


def test_counters_printed_by_a_client_are_a_line_each(planted: Planted, capsys: pytest.CaptureFixture[str]) -> None:
    with Aeron.connect(planted.aeron_dir) as aeron:
        aeron.print_counters()
    out = capsys.readouterr().out
    assert SHOWN in out
    assert [line for line in out.split("\n") if not line.isprintable() or line.startswith("FORGED")] == []
