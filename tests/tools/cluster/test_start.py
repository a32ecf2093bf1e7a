"""`aerowire cluster start`: members in processes of their own, ended in order, by their cluster, or for want of what they need."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.tools.cluster.start import _properties
from aerowire.tools.dispatch import parse
from aerowire.tools.main import main
from tests.support.processes import LIMIT_S, Process, Workshop, free_port, open_workshop, wait_for_driver

SERVICE = "aerowire.cluster.services:ClusteredService"
QUICK = ("--threading", "shared", "-Daeron.cluster.log.channel=aeron:udp?term-length=64k", "-Daeron.archive.segment.file.length=64k")


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    with open_workshop(tmp_path) as workshop:
        yield workshop


def endpoints() -> str:
    return ",".join(f"127.0.0.1:{free_port()}" for _ in range(5))


def start(workshop: Workshop, *arguments: str) -> Process:
    process = workshop.start("member", [sys.executable, "-m", "aerowire.tools.main", "cluster", "start", *arguments])
    assert process.line(LIMIT_S) == f"aerowire cluster: pid {process.popen.pid}, member 0 of 1, cluster 0"
    return process


def until(process: Process, text: str) -> list[str]:
    """Return the lines up to one that has a text."""
    lines = [process.line(LIMIT_S)]
    while text not in lines[-1]:
        lines.append(process.line(LIMIT_S))
    return lines


def test_runs_a_whole_node_until_it_is_told_to_end_and_goes_on_from_its_log(workshop: Workshop, tmp_path: Path) -> None:
    node, directory, members = tmp_path / "node", workshop.directory(), f"0,{endpoints()}"
    given = ("--members", members, "--service", SERVICE, "--node-dir", str(node), "--dir", str(directory), *QUICK)
    for run, threading in enumerate(("shared", "node")):
        member = start(workshop, *given, "--threading", threading)
        lines = until(member, "leads in term")
        assert lines[0] == f"  media driver      SHARED, in {directory}"
        assert f"in {node}/archive, control aeron:udp?endpoint={members.rpartition(',')[2]}" in lines[1]
        assert lines[2].startswith(f"  consensus module  in {node}/cluster, consensus 127.0.0.1:")
        assert lines[4] == f"  service 0         {SERVICE}"
        assert lines[-1] == f"aerowire cluster: member 0 leads in term {run}"
        threads = [Path(path, "comm").read_text().strip() for path in Path("/proc", str(member.popen.pid), "task").iterdir()]
        assert threads.count("node") == run, threads
        member.popen.terminate()
        assert member.popen.wait(LIMIT_S) == 0, member.said()


def test_attaches_to_a_driver_and_an_archive_and_ends_with_its_cluster(workshop: Workshop, tmp_path: Path) -> None:
    directory = workshop.directory()
    driver = workshop.driver(directory, {"aeron.threading.mode": "SHARED"})
    wait_for_driver(directory, driver)
    members = f"0,{endpoints()}"
    control = f"aeron:udp?endpoint={members.rpartition(',')[2]}"
    command = [sys.executable, "-m", "aerowire.tools.main", "archive", "start", "--dir", str(directory), "--control", control]
    archive = workshop.start("archive", [*command, "--archive-dir", str(tmp_path / "archive"), *QUICK])
    archive.line(LIMIT_S)
    given = ("--attach", "--dir", str(directory), "--members", members, "--service", SERVICE, "--node-dir", str(tmp_path), *QUICK)
    member = start(workshop, *given)
    assert until(member, "leads in term")[0] == f"  media driver      {directory}, which runs with an archive already"
    assert main(["cluster", "shutdown", str(tmp_path / "cluster"), "--timeout", "60"]) == 0
    assert until(member, "has ended")[-1] == "aerowire cluster: member 0 has ended with its cluster"
    assert member.popen.wait(LIMIT_S) == 0, member.said()


def test_refuses_to_run_without_what_it_needs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AERON_CLUSTER_MEMBERS", raising=False)

    def refused(*arguments: str) -> str:
        assert main(["cluster", "start", *arguments]) == 2
        return capsys.readouterr().err

    members = ("--members", "0,h:1,h:2,h:3,h:4,h:5|2,h:6,h:7,h:8,h:9,h:10")
    assert "a cluster of one on this machine: 0,localhost:9000," in refused()
    assert "this member is none of the members; at --member-id; expected one of 0, 2; got 1" in refused("--member-id", "1", *members)
    assert "expected MODULE:CLASS" in refused(*members, "--service", "counter")
    assert "No module named 'no_such_module'" in refused(*members, "--service", "no_such_module:Service")
    assert "modules are looked for in the current directory" in refused(*members, "--service", "json:Service")
    assert "a service is no class" in refused(*members, "--service", "json:__name__")
    assert "share no thread with this one; at --threading; expected not node" in refused(*members, "--attach", "--threading", "node")


def test_takes_a_service_from_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "service_of_a_test.py").write_text("raise ImportError('it was found')\n")
    assert main(["cluster", "start", "--members", f"0,{endpoints()}", "--service", "service_of_a_test:Service"]) == 2
    assert "it was found" in capsys.readouterr().err


def test_options_follow_from_the_endpoints_unless_they_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("AERON_")]:
        monkeypatch.delenv(name)
    members = ("--members", "0,h:1,h:2,h:3,h:4,[::1]:5|1,i:1,i:2,i:3,i:4,i:5")

    def properties(*arguments: str) -> dict[str, str]:
        return _properties(parse(["cluster", "start", *members, *arguments]))

    found = properties("--service", "a:A", "--service", "b:B", "--node-dir", "n")
    assert found["aeron.dir"].endswith("-0")
    assert found["aeron.archive.control.channel"] == "aeron:udp?endpoint=[::1]:5"
    assert found["aeron.archive.replication.channel"] == found["aeron.cluster.replication.channel"] == "aeron:udp?endpoint=[::1]:0"
    assert (found["aeron.cluster.ingress.channel"], found["aeron.cluster.service.count"]) == ("aeron:udp", "2")
    assert (found["aeron.cluster.dir"], found["aeron.archive.dir"]) == ("n/cluster", "n/archive")
    found = properties("--extension", "e:E")
    assert (found["aeron.cluster.consensus.module.extension"], found["aeron.cluster.service.count"]) == ("e:E", "0")
    monkeypatch.setenv("AERON_CLUSTER_INGRESS_CHANNEL", "aeron:udp?term-length=64k")
    monkeypatch.setenv("AERON_CLUSTER_MEMBER_ID", "1")
    found = properties("--dir", "/dev/shm/mine", "-Daeron.archive.control.channel=aeron:udp?endpoint=j:1", "--idle", "yield")
    assert (found["aeron.dir"], found["aeron.archive.control.channel"]) == ("/dev/shm/mine", "aeron:udp?endpoint=j:1")
    assert found["aeron.cluster.replication.channel"] == "aeron:udp?endpoint=i:0"
    assert "aeron.cluster.ingress.channel" not in found
    assert found["aeron.cluster.idle.strategy"] == found["aeron.sender.idle.strategy"] == "yield"
    assert "aeron.archive.control.channel" not in properties("--attach")
    assert "aeron.dir" not in properties("--attach")


def test_lists_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "start", "--options"]) == 0
    output = capsys.readouterr().out
    assert output.count("aeron.cluster.session.timeout=10s\n") == 1
    assert output.count("aeron.cluster.dir=aeron-cluster\n") == 1
    assert "aeron.cluster.service.name=\n" in output
