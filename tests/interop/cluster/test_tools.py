"""aerowire cluster and the official ClusterTool on the same members, official and ours, live and killed: both print the same.

One virtual machine runs all commands of the official tool on a live member, another one those on the killed one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from aerowire.tools.main import main
from tests.cluster.files.official_text import printed_headers, printed_log
from tests.interop.cluster.mixed import MixedCluster
from tests.interop.cluster.nodes import Member
from tests.interop.cluster.talk import Ears, ask, poll_until
from tests.interop.cluster.tool_script import Script
from tests.interop.harness import Side
from tests.interop.scenarios import Scenario

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

REQUESTS = ("snapshot", "suspend", "resume")
DEAD = ("describe", "pid", "recording-log", "errors")
LIVE = (*REQUESTS, *DEAD, "list-members", "is-leader", "recovery-plan 1", "describe-latest-cm-snapshot")
TIMEOUT = ("--timeout", "60")
_PASSING = re.compile(r"\b(currentTimeNs|timeOfLastAppendPositionNs|logPosition)=\d+")
_HEX_ROW = re.compile(r"^(\d{6}:  [0-9a-f ]{48}).*", re.DOTALL)
_ERROR_COUNT = re.compile(r"^([0-9O]+) distinct errors observed", re.MULTILINE)
_CONTROL = {
    "aeron.archive.control.channel": "aeron:ipc",
    "aeron.archive.control.response.channel": "aeron:ipc",
    "aeron.cluster.tool.timeout": "60s",
}


class Tools:
    """Both tools on the directory of one member."""

    def __init__(self, scenario: Scenario, member: Member, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self._java = scenario.bench.java
        self._member = member
        self._capsys = capsys
        self._folder = folder

    @property
    def directory(self) -> Path:
        return self._member.directory / "cluster"

    def ours(self, command: str, *more: str, code: int = 0) -> str:
        """Return what our command prints."""
        self._capsys.readouterr()
        assert main(["cluster", command, str(self.directory), *more]) == code, self._capsys.readouterr()
        return self._capsys.readouterr().out

    def theirs(self, commands: Sequence[str]) -> dict[str, str]:
        """Return what the official tool prints by command, without what the library logs."""
        script = Script(self._java, self._folder)
        for command in commands:
            name, *more = command.split()
            script.add("tool", name, self.directory, *more)
        outcomes = script.run({"aeron.dir": str(self._member.aeron_dir), **_CONTROL})
        assert [was_refused for _, was_refused in outcomes] == [False] * len(commands), outcomes
        return {
            command: "\n".join(line for line in said.splitlines() if not line.startswith("INFO: "))
            for command, (said, _) in zip(commands, outcomes, strict=True)
        }


def lines(text: str) -> list[str]:
    """Return lines without the official tool's status, empty ones, and the characters behind rows of a dump: those are escaped by ours."""
    rows = (_HEX_ROW.sub(r"\1", line).rstrip() for line in text.splitlines())
    return [row for row in rows if row and not row.startswith("status ") and re.match(r"\d{6}: |[A-Z]", row)]


def fields(text: str) -> list[str]:
    """Return the fields of members that do not pass."""
    return _PASSING.sub(r"\1=", text.splitlines()[0]).split(", ")


def marks(text: str) -> list[dict[str, str]]:
    """Return the fields of mark files but the one that is written each second."""
    return [{name: value for name, value in header.items() if name != "activityTimestamp"} for _, header in printed_headers(text)]


def error_counts(text: str) -> list[int]:
    """Return how many errors each log has; the official tool's 0 is a letter in the version of the jar."""
    return [int(count.replace("O", "0")) for count in _ERROR_COUNT.findall(text)]


def status(text: str) -> str:
    return text.splitlines()[-1]


@pytest.mark.parametrize("side", ["official", "aerowire"])
def test_both_tools_tell_the_same_of_a_member(scenario: Scenario, side: Side, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scenario.feature(f"aerowire cluster and ClusterTool on a member of {side}")
    cluster = MixedCluster(scenario, (side,))
    cluster.start()
    (member,) = cluster.members
    driver = scenario.driver("aerowire")
    cluster.leader_of(cluster.members)
    ears = Ears()
    with cluster.connect(aeron_dir=driver.directory, egress_listener=ears) as client:
        poll_until(client, lambda: ears.messages == [b"opened"], "the opening")
        assert ask(client, ears, b"12345678") == b"12345678"
    tools = Tools(scenario, member, capsys, tmp_path)
    for request in REQUESTS:
        assert lines(tools.ours(request, *TIMEOUT)) == [f"Member [0]: {request.upper()} applied successfully"]
    said = tools.theirs(LIVE)
    for request in REQUESTS:
        assert lines(said[request]) == [f"Member [0]: {request.upper()} applied successfully"]
    assert marks(tools.ours("describe")) == marks(said["describe"])
    assert len(marks(said["describe"])) == 2
    assert tools.ours("pid").split() == said["pid"].split()[:1]
    log = printed_log(tools.ours("recording-log"))
    assert log == printed_log(said["recording-log"])
    assert [one.entry_type.name for one in log.entries] == ["TERM", "SNAPSHOT", "SNAPSHOT", "SNAPSHOT", "SNAPSHOT"]
    assert fields(tools.ours("list-members", *TIMEOUT)) == fields(said["list-members"])
    assert (tools.ours("is-leader"), status(said["is-leader"])) == ("", "status 0")
    assert lines(tools.ours("recovery-plan", "1")) == lines(said["recovery-plan 1"])
    snapshot = lines(said["describe-latest-cm-snapshot"])
    assert lines(tools.ours("describe-latest-cm-snapshot", *TIMEOUT)) == snapshot
    assert snapshot[-1].startswith("Consensus Module Snapshot End: memberId=0 ")
    assert error_counts(tools.ours("errors")) == error_counts(said["errors"])
    member.kill()
    dead = tools.theirs(DEAD)
    assert marks(tools.ours("describe")) == marks(dead["describe"])
    assert tools.ours("pid").split() == dead["pid"].split()[:1]
    assert printed_log(tools.ours("recording-log")) == printed_log(dead["recording-log"]) == log
    assert error_counts(tools.ours("errors")) == error_counts(dead["errors"])
    scenario.observed(f"{len(LIVE)} commands on the live member and {len(DEAD)} on the killed one, field by field")
    cluster.stop()
    scenario.finish()
