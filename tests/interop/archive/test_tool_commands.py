"""Our commands on an archive that runs, official and ours: found by its directory, recorded, listed, replayed, shortened, retained."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aerowire.tools.main import main
from tests.interop.archive.nodes import finish, start_archive
from tests.interop.harness import Side
from tests.interop.scenarios import Scenario
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

CHANNEL, STREAM_ID = "aeron:ipc?term-length=64k", 7
MESSAGE = b"x" * 1000


@pytest.mark.parametrize("side", ["official", "aerowire"])
def test_commands_work_with_either_archive(scenario: Scenario, side: Side, capsys: pytest.CaptureFixture[str]) -> None:
    scenario.feature("aerowire archive on a running archive")
    node = start_archive(scenario, side, scenario.driver(side))

    def run(name: str, *arguments: object, code: int = 0) -> str:
        capsys.readouterr()
        assert main(["archive", name, str(node.directory), *map(str, arguments)]) == code
        return capsys.readouterr().out

    def shown(name: str, *arguments: object) -> Any:
        return json.loads(run(name, *arguments, "--json"))

    with node.connect("ipc") as client, client.aeron.add_exclusive_publication(CHANNEL, STREAM_ID) as publication:
        begun = shown("record", CHANNEL, STREAM_ID, "--wait", 60, "--timeout", 60)
        for _ in range(200):
            publication.send(MESSAGE, timeout_ns="60s")
        end = client.await_recorded(begun["recording_id"], publication.position)
        (row,) = shown("list")["recordings"]
        assert (row["activity"], row["position"]) == ("recording", end)
        assert run("unlock", code=2) == ""
        assert shown("stop", begun["recording_id"], "--timeout", 60) == {"stopped": True}
        wait_until(lambda: client.get_stop_position(begun["recording_id"]) == end, "the recording goes on")
    lines = run("replay", begun["recording_id"], "--timeout", 60).splitlines()
    assert lines == [MESSAGE.decode()] * 200
    assert shown("truncate", begun["recording_id"], 131072, "--yes", "--timeout", 60)["lost_bytes"] == end - 131072
    assert shown("retention", "--keep", "to-position:65536", "--apply")["removals"][0]["new_start_position"] == 65536
    (row,) = shown("list")["recordings"]
    assert (row["start_position"], row["stop_position"]) == (65536, 131072)
    assert shown("purge", begun["recording_id"], "--yes", "--timeout", 60)["lost_bytes"] == 65536
    scenario.observed(f"{len(lines)} messages replayed, {end} bytes recorded")
    finish(scenario, node)
