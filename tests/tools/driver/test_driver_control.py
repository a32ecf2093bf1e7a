"""`aerowire driver pid`, `driver terminate` and `cnc`: what a driver is, and what came of asking it to end."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.client import Aeron
from aerowire.codecs.flyweights.cnc import CncHeaderEncoder
from aerowire.driver.media_driver import MediaDriver
from aerowire.ipc.cnc import CncFile
from aerowire.tools.main import main
from tests.support.processes import Process, Workshop, open_workshop, wait_for_driver
from tests.support.waiting import wait_until

Launch = Callable[..., tuple[str, Process]]
ALLOW = {"aeron.driver.termination.validator": "io.aeron.driver.DefaultAllowTerminationValidator"}


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launch]:
    def start(workshop: Workshop, **properties: str) -> tuple[str, Process]:
        directory = workshop.directory()
        process = workshop.driver(directory, {"aeron.threading.mode": "SHARED", **properties})
        wait_for_driver(directory, process)
        return str(directory), process

    with open_workshop(tmp_path) as workshop:
        yield lambda **properties: start(workshop, **properties)


def printed(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> tuple[str, str]:
    assert main(list(arguments)) == code
    output, errors = capsys.readouterr()
    return output, errors


def test_a_driver_that_allows_it_ends(launch: Launch, capsys: pytest.CaptureFixture[str]) -> None:
    directory, process = launch(**ALLOW)
    assert printed(capsys, 0, "driver", "pid", "--dir", directory) == (f"{process.popen.pid}\n", "")
    output, errors = printed(capsys, 0, "driver", "terminate", "--dir", directory)
    assert (output.startswith(f"driver {process.popen.pid} in {directory} has ended after "), errors) == (True, "")
    assert process.popen.wait(20) == 0
    output, errors = printed(capsys, 1, "driver", "pid", "--dir", directory, "--json")
    assert json.loads(output)["driver"] == "ended"
    assert "the driver has ended" in errors
    assert "no driver lives in the directory" in printed(capsys, 2, "driver", "terminate", "--dir", directory)[1]


def test_a_driver_that_refuses_goes_on(driver_dir: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = tmp_path / "token"
    token.write_bytes(b"secret")
    output, _ = printed(capsys, 1, "driver", "terminate", "--dir", driver_dir, "--token-file", str(token), "--wait", "0.2", "--json")
    told = json.loads(output)
    assert (told["outcome"], told["pid"]) == ("refused", os.getpid())
    assert "its validator refused the token" in printed(capsys, 1, "driver", "terminate", "--dir", driver_dir, "--wait", "0.2")[0]
    assert printed(capsys, 0, "driver", "pid", "--dir", driver_dir)[0] == f"{os.getpid()}\n"


def test_a_driver_that_stands_still_has_not_taken_the_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with MediaDriver.launch(aeron_dir=str(tmp_path / "driver"), threading_mode="INVOKER", environ={}) as driver:
        driver.invoker.invoke()
        output, _ = printed(capsys, 1, "driver", "terminate", "--dir", driver.aeron_dir, "--wait", "0.1", "--json")
        assert json.loads(output)["outcome"] == "ignored"


def test_a_driver_that_was_killed_is_gone_at_once(launch: Launch, capsys: pytest.CaptureFixture[str]) -> None:
    directory, process = launch()
    process.popen.kill()
    process.popen.wait(20)
    output, errors = printed(capsys, 1, "driver", "pid", "--dir", directory, "--json")
    assert json.loads(output) == {"pid": process.popen.pid, "aeron_dir": directory, "driver": "gone"}
    assert f"process {process.popen.pid} is gone" in errors


def test_a_driver_of_another_pid_namespace_lives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unseen = int(Path("/proc/sys/kernel/pid_max").read_text()) + 1
    options: dict[str, Any] = {"threading_mode": "SHARED", "timer_interval_ns": "20ms", "environ": {}}
    with MediaDriver.launch(aeron_dir=str(tmp_path / "driver"), **options) as driver:
        with CncFile.map(tmp_path / "driver" / "cnc.dat") as cnc:
            assert cnc.region is not None
            CncHeaderEncoder(memoryview(cnc.region)).pid = unseen
        output, errors = printed(capsys, 0, "driver", "pid", "--dir", driver.aeron_dir, "--json")
    assert json.loads(output) == {"pid": unseen, "aeron_dir": driver.aeron_dir, "driver": "alive"}
    assert f"process {unseen} is not seen from here, but its heartbeat moves" in errors


@pytest.mark.parametrize("name", ["pid", "terminate"])
def test_without_a_driver_there_is_nothing_to_end(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "start a media driver" in printed(capsys, 2, "driver", name, "--dir", "/nonexistent")[1]


def test_the_commands_of_two_words_leave_the_driver_s_files_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert "a properties file cannot be read; at terminate.properties" in printed(capsys, 2, "driver", "terminate.properties")[1]
    with pytest.raises(SystemExit):
        main(["driver", "terminate", "--help"])
    assert "DefaultAllowTerminationValidator" in capsys.readouterr().out


def test_cnc_shows_clients_with_their_process_and_endpoints(driver_dir: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Aeron.connect(aeron_dir=driver_dir, client_name="pricing") as aeron, aeron.add_subscription("aeron:udp?endpoint=127.0.0.1:0", 5):
        labels = aeron.counters_reader
        wait_until(lambda: any("name=pricing" in item.label for item in labels.for_each()), "the client's name")
        found = json.loads(printed(capsys, 0, "cnc", "--dir", driver_dir, "--json")[0])
        people = printed(capsys, 0, "cnc", "--dir", driver_dir)[0]
    named = [client for client in found["clients"] if client["name"] == "pricing"]
    assert [client["pids"] for client in named] == [[os.getpid()]]
    assert 0 <= named[0]["age_ms"] < 60_000
    assert found["header"]["pid"] == os.getpid()
    assert found["to_driver"]["used"] <= found["to_driver"]["capacity"]
    assert {channel["status"] for channel in found["channels"]} == {"active"}
    lengths = {section["name"]: (section["offset"], section["length"]) for section in found["sections"]}
    assert lengths["to_driver"] == (lengths["header"][1], found["header"]["to_driver_buffer_length"])
    assert "pricing" in people
    assert "rcv-channel: aeron:udp?endpoint=127.0.0.1:0" in people
