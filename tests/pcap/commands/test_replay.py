"""`aerowire pcap replay` as a process: from a capture, through our own driver, to a subscriber."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aerowire.client import Aeron, FragmentAssembler, Subscription
from aerowire.codecs.flyweights.transport import DataFlags
from aerowire.driver.media_driver import MediaDriver
from aerowire.pcap import publishing
from aerowire.pcap.publishing import Opener, PublishError, find_opener
from aerowire.tools.main import main
from aerowire.tools.streams.publisher import open_publisher
from tests.support.processes import free_port
from tests.support.subscribed import subscribed
from tests.support.waiting import rest

CAPTURES = Path(__file__).parent.parent.parent / "data" / "captures"
STREAM = 4001
TIMEOUT_S = 60
pytestmark = pytest.mark.timeout(120)
Start = Callable[..., subprocess.Popen[str]]
Replay = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def driver_dir() -> Iterator[str]:
    with MediaDriver.launch_embedded(
        threading_mode="SHARED", term_buffer_length=65536, ipc_term_buffer_length=65536, publication_linger_timeout_ns=200_000_000
    ) as driver:
        yield driver.aeron_dir


@pytest.fixture
def aeron(driver_dir: str) -> Iterator[Aeron]:
    with Aeron.connect(driver_dir) as client:
        yield client


@pytest.fixture
def start(driver_dir: str) -> Iterator[Start]:
    """Start `aerowire pcap replay ... --dir`; what still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start_replay(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "aerowire.tools.main", "pcap", "replay", *arguments, "--dir", driver_dir]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start_replay
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def replay(driver_dir: str, capsys: pytest.CaptureFixture[str]) -> Replay:
    """Run the same command in this process, where nothing is done beside it; return its exit code, output and errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            code = main(["pcap", "replay", *arguments, "--dir", driver_dir])
        except SystemExit as ended:  # as argparse ends a command that it does not understand
            code = int(ended.code or 0)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def capture_of(build: SimpleNamespace, path: Path, payloads: list[bytes], *, fragment_length: int = 1376, session_id: int = 7) -> Path:
    """A capture of some messages, a packet a fragment, a second apart."""
    packets, offset = [], 0
    for payload in payloads:
        parts = [payload[at : at + fragment_length] for at in range(0, len(payload), fragment_length)] or [b""]
        for index, part in enumerate(parts):
            flags = (DataFlags.BEGIN if index == 0 else 0) | (DataFlags.END if index == len(parts) - 1 else 0)
            data = build.data_frame(offset, part, flags=flags, session_id=session_id, reserved_value=offset)
            packets.append(build.ethernet(build.ip4(data, build.SENDER, build.RECEIVER)))
            offset += len(data)
    path.write_bytes(build.classic(packets))
    return path


def received(subscription: Subscription, process: subprocess.Popen[str], *, limit: int = 10) -> list[bytes]:
    """Poll until the publisher has ended and nothing is left; fragments are put together."""
    found: list[bytes] = []
    assembler = FragmentAssembler(lambda buffer, offset, length, _header: found.append(bytes(buffer[offset : offset + length])))
    while process.poll() is None or subscription.image_count:
        if not subscription.poll(assembler, limit):
            if process.poll() is not None:
                break
            rest()
    return found


def test_a_subscriber_gets_the_messages_of_the_capture_whole_and_in_order(
    build: SimpleNamespace, tmp_path: Path, start: Start, aeron: Aeron
) -> None:
    rng = random.Random(1)
    payloads = [rng.randbytes(rng.choice([0, 1, 100, 1376, 1377, 6000])) for _ in range(300)]
    path = capture_of(build, tmp_path / "many.pcap", payloads)
    with aeron.add_subscription("aeron:ipc", STREAM) as subscription:
        process = start(str(path), "aeron:ipc", str(STREAM), "--speed", "max", "--json", "--wait", "10", "--ports", str(build.RECEIVER[1]))
        assert received(subscription, process, limit=1) == payloads
    output, errors = process.communicate(timeout=TIMEOUT_S)
    assert (process.returncode, errors) == (0, "")
    told = json.loads(output)
    assert (told["sent"], told["messages"], told["bytes"]) == (300, 300, sum(map(len, payloads)))
    assert (told["problem"], told["interrupted"], told["damaged"]) == (None, False, False)
    assert told["streams"] == [{"session_id": 7, "stream_id": 1001}]


def test_sends_over_udp_what_a_real_capture_of_a_fragmented_message_holds(start: Start, aeron: Aeron) -> None:
    channel = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    with aeron.add_subscription(channel, STREAM) as subscription:
        roomy = f"{channel}|term-length=256k"
        process = start(str(CAPTURES / "fragmented_10k.pcap"), roomy, str(STREAM), "--speed", "max", "--json", "--linger", "0.2")
        found = received(subscription, process)
    output, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, errors
    told = json.loads(output)
    assert told["messages"] == 8
    assert [len(message) for message in found] == [10_000] * 8


def test_keeps_the_captures_time_and_its_reserved_values(build: SimpleNamespace, tmp_path: Path, start: Start, aeron: Aeron) -> None:
    path = capture_of(build, tmp_path / "paced.pcap", [b"a", b"b", b"c", b"d"])
    values: list[int] = []
    with aeron.add_subscription("aeron:ipc", STREAM + 1) as subscription:
        process = start(str(path), "aeron:ipc", str(STREAM + 1), "--speed", "10x", "--json", "--ports", str(build.RECEIVER[1]))
        while process.poll() is None:
            subscription.poll(lambda _buffer, _offset, _length, header: values.append(header.reserved_value))
            rest()
    assert values == [0, 64, 128, 192]
    assert json.loads(process.communicate()[0])["elapsed_s"] >= 0.3


def test_messages_that_are_not_whole_are_left_out_and_told(build: SimpleNamespace, tmp_path: Path, start: Start, aeron: Aeron) -> None:
    frames = [build.data_frame(0, b"one"), build.data_frame(128, b"three" * 40), build.data_frame(384, b"four")]
    packets = [build.ethernet(build.ip4(data, build.SENDER, build.RECEIVER)) for data in frames]
    path = tmp_path / "holes.pcap"
    path.write_bytes(build.classic(packets, snap=120))
    with aeron.add_subscription("aeron:ipc", STREAM + 2) as subscription:
        process = start(str(path), "aeron:ipc", str(STREAM + 2), "--speed", "max", "--ports", str(build.RECEIVER[1]))
        assert received(subscription, process) == [b"one", b"four"]
    output, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert "2 messages sent" in output
    assert "1 captured in part" in errors


def test_asks_which_stream_when_there_are_several(
    build: SimpleNamespace, tmp_path: Path, start: Start, replay: Replay, aeron: Aeron
) -> None:
    first = capture_of(build, tmp_path / "1.pcap", [b"of seven"])
    second = capture_of(build, tmp_path / "2.pcap", [b"of eight"], session_id=8)
    arguments = [str(first), str(second), "aeron:ipc", str(STREAM + 3), "--speed", "max", "--ports", str(build.RECEIVER[1])]
    code, _, errors = replay(*arguments)
    assert code == 2
    assert "2 streams, expected one; choose with --session" in errors
    for chosen, expected in ([("--session", "8"), [b"of eight"]], [("--all",), [b"of seven", b"of eight"]]):
        with aeron.add_subscription("aeron:ipc", STREAM + 3) as subscription:
            assert received(subscription, start(*arguments, *chosen)) == expected


def test_says_that_nobody_subscribes(build: SimpleNamespace, tmp_path: Path, replay: Replay) -> None:
    path = capture_of(build, tmp_path / "alone.pcap", [b"x"])
    code, output, _ = replay(str(path), "aeron:ipc", str(STREAM + 4), "--wait", "0.1", "--json", "--ports", str(build.RECEIVER[1]))
    assert code == 1
    told = json.loads(output)
    assert told["sent"] == 0
    assert "no subscriber" in told["problem"]


def test_says_that_a_subscriber_does_not_keep_up(build: SimpleNamespace, tmp_path: Path, replay: Replay, aeron: Aeron) -> None:
    path = capture_of(build, tmp_path / "much.pcap", [bytes(1000)] * 200)
    with aeron.add_subscription("aeron:ipc", STREAM + 5):
        code, output, _ = replay(
            str(path), "aeron:ipc", str(STREAM + 5), "--speed", "max", "--offer-timeout", "0.2", "--json", "--ports", str(build.RECEIVER[1])
        )
    assert code == 1
    told = json.loads(output)
    assert 0 < told["sent"] < 200
    assert "do not keep up" in told["problem"]
    assert told["blocked_ns"] >= 200_000_000


def test_refuses_a_message_that_the_target_cannot_take_after_those_before_it(
    build: SimpleNamespace, tmp_path: Path, start: Start, aeron: Aeron
) -> None:
    path = capture_of(build, tmp_path / "long.pcap", [b"one", b"two", bytes(8193), b"four"])
    with aeron.add_subscription("aeron:ipc", STREAM + 7) as subscription:
        process = start(str(path), "aeron:ipc", str(STREAM + 7), "--speed", "max", "--json", "--ports", str(build.RECEIVER[1]))
        assert received(subscription, process) == [b"one", b"two"]
    told = json.loads(process.communicate(timeout=TIMEOUT_S)[0])
    assert (process.returncode, told["sent"]) == (1, 2)
    assert "8192" in told["problem"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_with_a_summary(
    build: SimpleNamespace, tmp_path: Path, start: Start, aeron: Aeron, number: signal.Signals
) -> None:
    path = capture_of(build, tmp_path / "slow.pcap", [b"x"] * 100)
    with aeron.add_subscription("aeron:ipc", STREAM + 6) as subscription:
        process = start(str(path), "aeron:ipc", str(STREAM + 6), "--speed", "0.01x", "--json", "--ports", str(build.RECEIVER[1]))
        while not subscription.poll(lambda *_: None):
            assert process.poll() is None, process.communicate()
            rest()
        process.send_signal(number)
        output, errors = process.communicate(timeout=TIMEOUT_S)
    told = json.loads(output)
    assert (process.returncode, told["sent"], told["interrupted"]) == (1, 1, True), errors


@pytest.mark.spark
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("kept_session")
def test_spark_reads_and_one_task_publishes(
    build: SimpleNamespace, tmp_path: Path, driver_dir: str, capsys: pytest.CaptureFixture[str]
) -> None:
    payloads = [bytes([number]) * number * 30 for number in range(100)]
    path = capture_of(build, tmp_path / "many.pcap", payloads)
    options = ["--speed", "max", "--json", "--ports", str(build.RECEIVER[1]), "--dir", driver_dir, "--spark", "local[1]"]
    with subscribed(driver_dir, STREAM + 8) as found:
        code = main(["pcap", "replay", str(path), "aeron:ipc", str(STREAM + 8), *options])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    assert len(found.sessions) == 1
    assert found.messages == payloads
    told = json.loads(printed.out)
    assert (told["sent"], told["messages"], told["bytes"]) == (100, 100, sum(map(len, payloads)))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["/no/such/file", "aeron:ipc", "1"], "/no/such/file: no such file"),
        ([str(CAPTURES / "index.json"), "aeron:ipc", "1"], "not a capture"),
        ([str(CAPTURES / "unicast_simple.pcap"), "aeron:ipc", "1", "--speed", "fast"], "expected a factor above 0"),
        ([str(CAPTURES / "unicast_simple.pcap"), "aeron:ipc", "x"], "expected a number from -2147483648"),
        ([str(CAPTURES / "unicast_simple.pcap"), "aeron:nonsense", "1"], "nonsense"),
        ([str(CAPTURES / "unicast_simple.pcap"), "aeron:ipc", "1", "-D", "x"], "expected NAME=VALUE"),
        ([str(CAPTURES / "unicast_simple.pcap"), "aeron:ipc", "1", "--spark", "local", "--linger", "1"], "--linger: not with --spark"),
        ([str(CAPTURES / "unicast_simple.pcap"), "aeron:ipc", "1", "--session", "1"], "no data of such a stream"),
    ],
)
def test_usage_is_refused_with_the_reason(replay: Replay, arguments: list[str], said: str) -> None:
    code, _, errors = replay(*arguments)
    assert code == 2
    assert said in errors


def test_the_runtime_fills_the_port() -> None:
    opener: Opener = open_publisher  # mypy compares the shapes
    assert find_opener() is opener
    assert [entry.value for entry in metadata.entry_points(group=publishing.ENTRY_POINT_GROUP)] in ([], [publishing.RUNTIME_HOME])


def test_says_that_nothing_can_publish(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_entry_points(**_: Any) -> list[Any]:
        return []

    monkeypatch.setattr(metadata, "entry_points", no_entry_points)
    monkeypatch.setattr(publishing, "RUNTIME_HOME", "aerowire.no_such_package:open_publisher")
    with pytest.raises(PublishError, match=r"nothing here can publish: expected aerowire\.no_such_package:open_publisher"):
        find_opener()
