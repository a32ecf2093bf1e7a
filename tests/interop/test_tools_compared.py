"""Our tools and the official ones look at the same driver, of either side, and say the same numbers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import pytest

from aerowire.base.errors import AerowireError
from aerowire.client import Aeron
from aerowire.codecs.flyweights.transport import FrameType
from tests.interop.harness import Bench, Driver, Side, counters_by_label
from tests.interop.official_output import Position, backlog_stat, log_frames, log_terms, loss_stat, stream_stat
from tests.interop.scenarios import End, Scenario, Stream, lossy_network, other
from tests.support.processes import LIMIT_S, free_port, wait_for_driver

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

SAMPLES = "io.aeron.samples"
ALLOW = {"aeron.driver.termination.validator": "io.aeron.driver.DefaultAllowTerminationValidator"}
OVER_ZEROES = {"aeron.log.inspector.scanOverZeroes": "true"}
# Counters that move while nobody does anything.
MOVING = re.compile(r"client-heartbeat|max cycle|exceeded threshold|max time|^Bytes|^Status|^Heartbeats|version|Aeron software")


def ours(driver: Driver, *arguments: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "aerowire.tools.main", *arguments, "--dir", str(driver.directory)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == code, f"{arguments} exited {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def ours_as_json(driver: Driver, *arguments: str) -> Any:
    return json.loads(ours(driver, *arguments, "--json"))


def our_positions(driver: Driver) -> set[Position]:
    """Return what `aerowire streams` says, in StreamStat's words."""
    found = ours_as_json(driver, "streams")
    positions: set[Position] = set()
    for end in (*found["publications"], *found["images"]):
        named = {
            "pub-pos": end["position"],
            "pub-lmt": end.get("limit"),
            "snd-pos": end.get("sender_position"),
            "snd-lmt": end.get("sender_limit"),
        }
        if "high_water" in end:
            named = {"rcv-pos": end["position"], "rcv-hwm": end["high_water"]}
        values = [(name, end["registration_id"], value) for name, value in named.items() if value is not None]
        values += [("sub-pos", item["registration_id"], item["position"]) for item in end["subscribers"]]
        positions |= {Position(end["session_id"], end["stream_id"], *value) for value in values}
    return positions


def compare_stat(bench: Bench, driver: Driver) -> None:
    official = counters_by_label(bench.java.run_tool(f"{SAMPLES}.AeronStat", driver.directory, "watch=false"))
    found = counters_by_label(ours(driver, "stat", "--once"))
    assert found.keys() == official.keys()
    still = {label: value for label, value in official.items() if not MOVING.search(label)}
    assert len(still) > 30
    assert still.items() <= found.items()
    filters = ("type=^2$", "stream=^1001$")
    one = counters_by_label(bench.java.run_tool(f"{SAMPLES}.AeronStat", driver.directory, "watch=false", *filters))
    assert one == counters_by_label(ours(driver, "stat", "--once", "--type", "snd-pos", "--stream", "1001"))
    assert len(one) == 1


def compare_streams(bench: Bench, driver: Driver) -> None:
    names = {"pub-pos", "pub-lmt", "snd-pos", "snd-lmt", "rcv-pos", "rcv-hwm", "sub-pos"}
    official = stream_stat(bench.java.run_tool(f"{SAMPLES}.StreamStat", driver.directory))
    found = our_positions(driver)
    assert {position for position in official if position.name in names} == found
    assert {position.name for position in found} == names


def compare_processes(driver: Driver, stream: Stream) -> None:
    """Each end of a UDP stream maps a log of its own, by which its process is found, whoever wrote its client."""
    found = ours_as_json(driver, "streams", "--stream", str(stream.stream))
    (sending,), (image,) = found["publications"], found["images"]
    assert stream.publisher is not None
    assert sending["client"]["pids"] == [stream.publisher.popen.pid]
    assert [item["client"]["pids"] for item in image["subscribers"]] == [[peer.popen.pid] for peer in stream.subscribers]


def compare_backlogs(bench: Bench, driver: Driver) -> None:
    official = backlog_stat(bench.java.run_tool(f"{SAMPLES}.BacklogStat", driver.directory))
    found = {}
    for item in ours_as_json(driver, "backlog")["backlogs"]:
        is_place = item["role"] in {"publisher", "receiver"}
        found[item["role"], item["registration_id"]] = item["position"] if is_place else item["bytes"], item["left"]
    # Where a publisher has no receiver on this driver, BacklogStat says nothing of its subscribers.
    assert official.items() <= found.items()
    assert {role for role, _ in official} == {"publisher", "sender", "receiver", "subscriber"}
    assert any(length > 0 for (role, _), (length, _) in official.items() if role == "subscriber")


def compare_logs(bench: Bench, driver: Driver) -> None:
    logs = ours_as_json(driver, "log")["logs"]
    assert len(logs) == 3
    for log in logs:
        printed = bench.java.run_tool(f"{SAMPLES}.LogInspector", driver.directory, log["file"], "0", properties=OVER_ZEROES)
        found = json.loads(ours(driver, "log", log["file"], "--limit", "1000000", "--json"))
        for term in found["terms"]:
            frames = [
                (item["offset"], item["frame_length"], item["flags"], FrameType[item["type"]], item["term_id"], item["reserved_value"])
                for item in term["entries"]
                if item["kind"] == "frame"
            ]
            inspected = log_frames(printed, term["index"])
            assert term["state"] in {"unused", "clean"} or frames
            # LogInspector stops where a driver has cleaned half a frame.
            assert set(inspected) <= set(frames)
            if "image" not in found["type"] and term["position"] is not None:
                assert log_terms(printed)[term["index"]] == (term["tail_offset"], term["term_id"], term["position"])
        assert f"Term length: {found['metadata']['term_length']}\n" in printed
        assert f"Initial term id: {found['metadata']['initial_term_id']}\n" in printed


def compare_errors(bench: Bench, driver: Driver) -> None:
    with Aeron.connect(aeron_dir=driver.directory) as aeron:
        for _ in range(3):
            with pytest.raises(AerowireError):
                aeron.add_publication("aeron:udp?endpoint=localhost:99999", 1)
    printed = bench.java.run_tool(f"{SAMPLES}.ErrorStat", driver.directory)
    errors = ours_as_json(driver, "errors")["errors"]
    assert f"{len(errors)} distinct errors observed." in printed
    observed = sorted(int(count) for count in re.findall(r"^(\d+) observations from", printed, re.MULTILINE))
    assert observed == sorted(error["count"] for error in errors)
    assert sum(observed) >= 3
    assert all(error["text"].splitlines()[0] in printed for error in errors)


def compare_driver(bench: Bench, driver: Driver) -> None:
    pid = bench.java.run_tool(f"{SAMPLES}.DriverTool", driver.directory, "pid").strip()
    assert ours(driver, "driver", "pid").strip() == pid == str(driver.process.popen.pid)
    about = bench.java.run_tool(f"{SAMPLES}.DriverTool", driver.directory)
    cnc = ours_as_json(driver, "cnc")
    assert f"Version: {cnc['header']['version']}, PID: {cnc['header']['pid']}" in about
    assert cnc["driver"] == "alive"


@pytest.mark.parametrize("driving", ["aerowire", "official"])
def test_the_same_numbers_of_one_driver(scenario: Scenario, driving: Side) -> None:
    scenario.feature("Tools of both sides on one driver's directory")
    bench, driver = scenario.bench, scenario.driver(driving)
    stream = scenario.stream()
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    stream.subscribe(End(driving, driver), channel)
    with (
        Aeron.connect(aeron_dir=driver.directory, client_name="idler") as idler,
        idler.add_subscription("aeron:ipc", 2002) as unread,
        idler.add_publication("aeron:ipc?term-length=64k", 2002) as unheard,
    ):
        stream.publish(End(other(driving), driver), channel)
        stream.compare()
        while unheard.offer(b"never read") < 0:
            continue
        compare_stat(bench, driver)
        compare_streams(bench, driver)
        compare_processes(driver, stream)
        assert not unread.has_no_images
        compare_logs(bench, driver)
        compare_errors(bench, driver)
        compare_driver(bench, driver)
    scenario.observed("AeronStat, StreamStat, LogInspector, ErrorStat and DriverTool print what ours do")
    stream.finish()
    scenario.finish()


@pytest.mark.parametrize("driving", ["aerowire", "official"])
def test_the_same_backlog_of_a_subscriber_that_stands_still(bench: Bench, driving: Side) -> None:
    driver = bench.driver(driving)
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    wait_for_driver(driver.directory, driver.process)
    with (
        Aeron.connect(aeron_dir=driver.directory) as aeron,
        aeron.add_subscription(channel, 1001) as still,
        aeron.add_subscription(channel, 1001) as reading,
        aeron.add_publication(channel, 1001) as publication,
    ):
        for _ in range(20):
            while publication.offer(bytes(1000)) < 0:
                continue
        while reading.images[0].position < publication.position if reading.images else True:
            reading.poll(lambda *_: None)
        assert not still.has_no_images
        compare_backlogs(bench, driver)
        (image,) = ours_as_json(driver, "streams")["images"]
        slowest = [item for item in image["subscribers"] if item["is_slowest"]]
        assert [item["behind"] for item in slowest] == [publication.position]
        assert image["verdict"]["severity"] in {"late", "good"}


@pytest.mark.parametrize("receiving", ["aerowire", "official"])
def test_the_same_losses(scenario: Scenario, receiving: Side) -> None:
    scenario.feature("Loss report read by the tools of both sides")
    sending = other(receiving)
    receiver, sender = scenario.driver(receiving), scenario.driver(sending, lossy_network(sending))
    stream = scenario.stream()
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    stream.subscribe(End(receiving, receiver), channel)
    stream.publish(End(sending, sender), channel)
    stream.compare()
    official = loss_stat(scenario.bench.java.run_tool(f"{SAMPLES}.LossStat", receiver.directory))
    found = ours_as_json(receiver, "loss")["losses"]
    names = ("observation_count", "total_bytes_lost", "session_id", "stream_id")
    assert sorted(tuple(item[name] for name in names) for item in found) == official
    assert official[0][1] > 0
    images = ours_as_json(receiver, "streams")["images"]
    assert [image["lost_bytes"] for image in images] == [official[0][1]]
    scenario.prove(receiver, "NAKs sent")
    scenario.observed("LossStat prints what ours does")
    stream.finish()
    scenario.finish()


def test_our_tool_ends_an_official_driver(bench: Bench) -> None:
    driver = bench.driver("official", ALLOW)
    wait_for_driver(driver.directory, driver.process)
    assert json.loads(ours(driver, "driver", "terminate", "--json"))["outcome"] == "ended"
    assert driver.process.popen.wait(LIMIT_S) == 0
    assert not driver.directory.exists()
    ours(driver, "driver", "terminate", code=2)


def test_the_official_tool_ends_our_driver(bench: Bench) -> None:
    driver = bench.driver("aerowire", ALLOW)
    wait_for_driver(driver.directory, driver.process)
    bench.java.run_tool(f"{SAMPLES}.DriverTool", driver.directory, "terminate")
    assert driver.process.popen.wait(LIMIT_S) == 0
    assert not driver.directory.exists()


@pytest.mark.parametrize("driving", ["aerowire", "official"])
def test_a_driver_that_refuses_to_end_goes_on(bench: Bench, driving: Side) -> None:
    driver = bench.driver(driving)
    wait_for_driver(driver.directory, driver.process)
    told = json.loads(ours(driver, "driver", "terminate", "--token", "wrong", "--wait", "1.5", "--json", code=1))
    assert told["outcome"] == "refused"
    bench.java.run_tool(f"{SAMPLES}.DriverTool", driver.directory, "terminate")
    assert ours_as_json(driver, "driver", "pid")["driver"] == "alive"
    assert driver.process.popen.poll() is None


PING_CHANNELS = {"aeron.sample.ping.channel": 0, "aeron.sample.pong.channel": 1}


@pytest.mark.parametrize("driving", ["aerowire", "official"])
def test_the_official_ping_hears_our_pong(bench: Bench, driving: Side, messages: int) -> None:
    driver = bench.driver(driving)
    wait_for_driver(driver.directory, driver.process)
    channels = [f"aeron:udp?endpoint=localhost:{free_port()}" for _ in range(2)]
    arguments = ["--channel", channels[0], "--reply-channel", channels[1], "--stream", "1002", "--dir", str(driver.directory)]
    bench.workshop.start("aerowire pong", [sys.executable, "-m", "aerowire.tools.main", "pong", *arguments])
    properties = {
        "aeron.dir": str(driver.directory),
        **{name: channels[index] for name, index in PING_CHANNELS.items()},
        "aeron.sample.messages": str(messages),
        "aeron.sample.warmup.messages": "100",
        "aeron.sample.warmup.iterations": "1",
        "aeron.sample.messageLength": "3000",
        "aeron.sample.idleStrategy": "org.agrona.concurrent.YieldingIdleStrategy",
    }
    command = bench.java.command(f"{SAMPLES}.Ping", properties=properties)
    done = subprocess.run(command, input="n\n", capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    assert f"Pinging {messages} messages" in done.stdout
    counted = re.search(r"Total count\s*=\s*(\d+)", done.stdout)
    assert counted is not None
    assert int(counted[1]) == messages


@pytest.mark.parametrize("driving", ["aerowire", "official"])
def test_our_ping_hears_the_official_pong(bench: Bench, driving: Side, messages: int) -> None:
    driver = bench.driver(driving)
    wait_for_driver(driver.directory, driver.process)
    channels = [f"aeron:udp?endpoint=localhost:{free_port()}" for _ in range(2)]
    properties = {"aeron.dir": str(driver.directory), **{name: channels[index] for name, index in PING_CHANNELS.items()}}
    bench.workshop.start("official pong", bench.java.command(f"{SAMPLES}.Pong", properties=properties))
    size = ["--messages", str(messages), "--warmup", "100", "--length", "3000", "--stream", "1002"]
    found = ours_as_json(driver, "ping", "--far", "--channel", channels[0], "--reply-channel", channels[1], *size)
    assert sum(samples for _, _, samples in found["histogram_us"]) == messages
    assert 0 < found["p50_us"] <= found["p99_999_us"]
