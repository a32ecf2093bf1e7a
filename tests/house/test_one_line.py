"""Text of other processes in the output of every `aerowire` command: it forges no line, steers no terminal and hides nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from aerowire.base.errors import AerowireError
from aerowire.client import Aeron
from aerowire.driver import MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.ipc.loss_report import LossReport
from aerowire.memory.region import Region
from aerowire.tools.dispatch import _OWN
from aerowire.tools.main import main

# A line break, escape sequences of seven and of eight bits, a mark that turns the direction of writing, and a mark-up of rich.
HOSTILE = "x\nFORGED 99\r\x1b[2J\x9b2J\x85FORGED\u202e\u2028FORGED[red]"
# What the protocol's commands can carry of it: ASCII.
ASCII = "x\nFORGED 99\r\x1b[2J[red]"
SHOWN = r"x\nFORGED 99\r\x1b[2J"
LONE = os.fsdecode(b"\xff")  # of a file name that is not UTF-8

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
}
WITHOUT_DIRECTORY = ("pcap", "demo", "simulate")
CASES = [(name, arguments, is_shown) for name, lines in COMMANDS.items() for arguments, is_shown in lines]


class Planted(NamedTuple):
    """A running driver whose directory, counters, errors, losses, logs and events hold hostile text."""

    aeron_dir: str


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
        yield Planted(aeron_dir)


def test_every_command_is_tried() -> None:
    assert set(COMMANDS) == set(_OWN)


@pytest.mark.parametrize(("name", "arguments", "is_shown"), CASES, ids=[f"{name} {' '.join(rest)[:20]!r}" for name, rest, _ in CASES])
def test_text_of_others_forges_no_line(
    planted: Planted, name: str, arguments: list[str], is_shown: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    where = [] if name in WITHOUT_DIRECTORY else ["--dir", planted.aeron_dir]
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
