"""Directories that an archive of one side leaves, in order or by SIGKILL: tools of both sides read them, and the other side goes on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from aerowire.archive.files.mark_life import LOCK_FILE_NAME
from aerowire.tools.main import main
from tests.interop.archive.content import Batch, hash_of, replayed
from tests.interop.archive.nodes import ArchiveNode, finish, start_archive
from tests.interop.archive.remains import assert_sound
from tests.interop.harness import Side
from tests.interop.mark_files import age
from tests.interop.scenarios import Scenario, other

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

TOOL = "io.aeron.archive.ArchiveTool"
CHANNEL, STREAM_ID = "aeron:ipc?alias=left|term-length=64k", 7001
FIRST, SECOND = Batch(31, 150), Batch(32, 100)


def leave(scenario: Scenario, side: Side, *, killed: bool) -> tuple[ArchiveNode, int]:
    """Record a batch, and end archive and driver while it is recorded; return the archive, and the position that it has said."""
    node = start_archive(scenario, side, scenario.driver(side))
    with node.connect("ipc") as archive:
        recorded = archive.add_continued_publication(CHANNEL, STREAM_ID)
        end = archive.await_recorded(0, FIRST.publish(recorded.publication))
        if killed:
            node.kill()
            scenario.kill(node.driver)
        else:
            node.stop()
    return node, end


def facts(text: str) -> list[str]:
    """Return what a tool says of mark file and recordings, without the version of the schema, which is the tool's own."""
    return [line.partition("):")[2] for line in text.splitlines() if line.startswith("[")]


def compare_tools(scenario: Scenario, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Assert that the tools of both sides say the same, and find a copy of the directory sound."""
    capsys.readouterr()
    assert main(["archive", "describe-all", str(directory)]) == 0
    ours = facts(capsys.readouterr().out)
    assert ours == facts(scenario.bench.java.run_tool(TOOL, directory, str(directory), "describe-all"))
    assert len(ours) == 2
    copied = shutil.copytree(directory, directory.with_name(f"{directory.name}-copy"))
    assert_sound(scenario.bench, copied)


@pytest.mark.parametrize("end", ["orderly", "killed"])
@pytest.mark.parametrize("side", ["official", "aerowire"])
def test_the_other_side_goes_on_with_a_directory(scenario: Scenario, side: Side, end: str, capsys: pytest.CaptureFixture[str]) -> None:
    left = "after SIGKILL" if end == "killed" else "after an end in order"
    scenario.feature(f"Archive directory {left}: described and verified by both tools")
    scenario.row.publishing, scenario.row.subscribing = f"{side} archive and driver", [f"{other(side)} archive and driver"]
    node, position = leave(scenario, side, killed=end == "killed")
    compare_tools(scenario, node.directory, capsys)
    scenario.observed("describe-all alike; verify -a")

    scenario.next_feature(f"Archive directory {left}: the other side's archive goes on")
    if end == "killed" and side == "aerowire":
        age(node.directory)
    second = start_archive(scenario, other(side), scenario.driver(other(side)), directory=node.directory)
    with second.connect("ipc") as archive:
        assert replayed(archive, 0) == hash_of(FIRST)
        continued = archive.add_continued_publication(CHANNEL, STREAM_ID)
        assert (continued.recording_id, continued.position) == (0, position)
        archive.await_recorded(0, SECOND.publish(continued.publication))
        continued.publication.close()
        assert replayed(archive, 0) == hash_of(FIRST, SECOND)
        scenario.row.messages = 2 * FIRST.messages + SECOND.messages
    scenario.observed("content hash of what was recorded before, and of the whole")
    # Of our archive that was killed; the official one leaves it alone.
    node.directory.joinpath(LOCK_FILE_NAME).unlink(missing_ok=True)
    finish(scenario, second)
