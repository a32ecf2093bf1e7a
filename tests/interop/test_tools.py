"""The official tools read our driver's directory: counters, distinct errors, and (in test_matrix.py) the loss report."""

from __future__ import annotations

import pytest

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.base.errors import AerowireError
from aerowire.base.idle import CONTROLLABLE_YIELD
from aerowire.client import Aeron
from aerowire.codecs.tables.counters import SYSTEM_COUNTER_LABELS, SystemCounter
from aerowire.ipc.cnc import CncFile
from aerowire.tools.main import main
from tests.interop.harness import Bench, Side, counters_by_label
from tests.support.processes import free_port, wait_for_driver
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

STREAM = 1001


def test_aeron_stat_shows_our_counters(bench: Bench) -> None:
    driver = bench.driver("aerowire")
    wait_for_driver(driver.directory, driver.process)
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with (
        Aeron.connect(aeron_dir=driver.directory) as aeron,
        aeron.add_subscription(channel, STREAM) as subscription,
        aeron.add_publication(channel, STREAM) as publication,
    ):
        while publication.offer(b"counted") < 0:
            pass
        while not subscription.poll(lambda *_: None):
            pass
        printed = counters_by_label(bench.java.run_tool("io.aeron.samples.AeronStat", driver.directory, "watch=false"))
        position, session_id = publication.position, publication.session_id
    for label in SYSTEM_COUNTER_LABELS.values():
        assert any(shown.startswith(label) for shown in printed), label
    sender_positions = [value for label, value in printed.items() if label.startswith("snd-pos:") and str(session_id) in label]
    assert sender_positions == [position]
    for kind in ("pub-lmt", "pub-pos", "snd-lmt", "sub-pos", "rcv-hwm", "rcv-pos", "snd-channel", "rcv-channel", "client-heartbeat"):
        assert any(label.startswith(kind) for label in printed), kind


def test_error_stat_shows_our_errors(bench: Bench) -> None:
    driver = bench.driver("aerowire")
    wait_for_driver(driver.directory, driver.process)
    with Aeron.connect(aeron_dir=driver.directory) as aeron, pytest.raises(AerowireError):
        aeron.add_publication("aeron:udp?endpoint=no-such-host.invalid:40123", STREAM)
    printed = bench.java.run_tool("io.aeron.samples.ErrorStat", driver.directory)
    assert CNC_FILE_NAME in printed
    assert "1 distinct errors observed" in printed
    assert "no-such-host.invalid" in printed


def test_the_official_tool_tells_a_controllable_strategy_what_to_do(bench: Bench) -> None:
    driver = bench.driver("aerowire", {"aeron.shared.idle.strategy": "controllable"})
    wait_for_driver(driver.directory, driver.process)
    told = bench.java.run_tool("io.aeron.samples.SetControllableIdleStrategy", driver.directory, str(CONTROLLABLE_YIELD))
    assert f"status to {CONTROLLABLE_YIELD}" in told
    with CncFile.map(str(driver.directory / CNC_FILE_NAME), writable=False) as cnc:
        assert cnc.counters_reader().value(SystemCounter.CONTROLLABLE_IDLE_STRATEGY) == CONTROLLABLE_YIELD


@pytest.mark.parametrize("side", ["official", "aerowire"])
def test_our_tool_tells_a_controllable_strategy_what_to_do(bench: Bench, side: Side, capsys: pytest.CaptureFixture[str]) -> None:
    driver = bench.driver(side, {"aeron.shared.idle.strategy": "controllable"})
    wait_for_driver(driver.directory, driver.process)
    place = ("--dir", str(driver.directory))

    def has_strategy() -> bool:  # the thread that idles says so soon after the driver's start
        assert main(["driver", "idle", *place]) == 0
        return not capsys.readouterr().out.startswith("0 none")

    wait_until(has_strategy, "the driver's thread obeys no strategy")
    assert main(["driver", "idle", *place]) == 0
    assert main(["driver", "idle", "yield", *place]) == 0
    assert capsys.readouterr() == ("4 park\n3 yield, was 4 park\n", "")
    printed = counters_by_label(bench.java.run_tool("io.aeron.samples.AeronStat", driver.directory, "watch=false"))
    assert printed[SYSTEM_COUNTER_LABELS[SystemCounter.CONTROLLABLE_IDLE_STRATEGY]] == CONTROLLABLE_YIELD


def test_our_tool_says_that_an_official_driver_has_no_controllable_strategy(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    driver = bench.driver("official")
    wait_for_driver(driver.directory, driver.process)
    assert main(["driver", "idle", "spin", "--dir", str(driver.directory)]) == 1
    assert "the counter stood at 0" in capsys.readouterr().err
