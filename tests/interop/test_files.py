"""Files between our `aerowire file` and Aeron's samples FileSender and FileReceiver, over one driver and between two."""

from __future__ import annotations

import hashlib
import random
import sys
from pathlib import Path

import pytest

from tests.conftest import SEED
from tests.interop.harness import PATIENT_MS, Driver, Side
from tests.interop.scenarios import LIMIT_S, STREAM, TERM_LENGTH, End, Scenario, describe, lossy_network, wait_until
from tests.support.processes import Process, free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

SAMPLES = "io.aeron.samples"
# Nothing that a chunk, a frame or a term is a part of.
LENGTH = 7_654_321
# What one message of either sender holds of it: FileSender fills a frame, ours as many as a message may have in terms of 64 KiB.
FRAME_PAYLOAD, CHUNK_HEADER = 1_376, 32
CHUNK = {"official": FRAME_PAYLOAD - CHUNK_HEADER, "aerowire": TERM_LENGTH // 8 // FRAME_PAYLOAD * FRAME_PAYLOAD - CHUNK_HEADER}
MEDIA = {"ipc": "IPC, one driver", "udp": "UDP, two drivers", "lossy": "UDP, two drivers, 5 % loss each way"}


def channel_of(medium: str) -> str:
    media = "ipc" if medium == "ipc" else f"udp?endpoint=127.0.0.1:{free_port()}"
    return f"aeron:{media}{'|' if '?' in media else '?'}term-length={TERM_LENGTH}"


def losses(medium: str, side: Side) -> dict[str, str]:
    return lossy_network(side) if medium == "lossy" else {}


def sample_properties(channel: str) -> dict[str, str]:
    """Return where the samples send to and receive from."""
    return {"aeron.sample.channel": channel, "aeron.sample.streamId": str(STREAM), "aeron.driver.timeout": PATIENT_MS}


def ours(scenario: Scenario, driver: Driver, channel: str, command: str, path: Path, *more: str) -> Process:
    stream = ("--channel", channel, "--stream", str(STREAM), "--dir", str(driver.directory), f"-Daeron.driver.timeout={PATIENT_MS}")
    words = [sys.executable, "-m", "aerowire.tools.main", "file", command, str(path), "--json", "--wait", f"{LIMIT_S:.0f}", *stream, *more]
    return scenario.bench.workshop.start(f"aerowire file {command}", words)


def write_file(folder: Path) -> Path:
    folder.mkdir()
    path = folder / "grüße und mehr.bin"
    path.write_bytes(random.Random(SEED).randbytes(LENGTH))
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def note(scenario: Scenario, publishing: End, subscribing: End, medium: str) -> None:
    scenario.feature(f"A file, sent and received by the tools of either side, {MEDIA[medium]}")
    scenario.row.publishing = describe(publishing)
    scenario.row.subscribing.append(describe(subscribing))
    scenario.row.messages = 1 + -(-LENGTH // CHUNK[publishing.side])
    scenario.row.terms = LENGTH // TERM_LENGTH
    scenario.observed("SHA-256 of the file")
    scenario.observed("its name")
    if medium == "lossy":
        scenario.prove(subscribing.driver, "NAKs sent")
        scenario.prove(publishing.driver, "Retransmits sent")
    if medium != "ipc":
        scenario.prove(publishing.driver, "Status Messages received")
        scenario.prove(subscribing.driver, "Status Messages sent")


@pytest.mark.parametrize("medium", ["ipc", "udp", pytest.param("lossy", marks=pytest.mark.lossy)])
def test_the_official_receiver_takes_our_file(scenario: Scenario, tmp_path: Path, medium: str) -> None:
    channel, source, inbox = channel_of(medium), write_file(tmp_path / "source"), tmp_path / "inbox"
    inbox.mkdir()
    # FileReceiver has a driver within it, and looks at its folder only when something more is given.
    directory = scenario.bench.workshop.directory()
    properties = {
        "aeron.dir": str(directory),
        "aeron.dir.delete.on.shutdown": "true",
        **sample_properties(channel),
        **losses(medium, "official"),
    }
    command = scenario.bench.java.command(f"{SAMPLES}.FileReceiver", str(inbox), "and nothing else", properties=properties)
    receiving = scenario.adopt(Driver("official", directory, scenario.bench.workshop.start("official FileReceiver", command)))
    sending = receiving if medium == "ipc" else scenario.driver("aerowire", losses(medium, "aerowire"))
    sender = ours(scenario, sending, channel, "send", source)
    told = sender.result(LIMIT_S)
    assert (told["name"], told["length"]) == (source.name, LENGTH)
    assert sender.finish() == 0, sender.said()
    target = inbox / source.name
    wait_until(lambda: target.exists() and digest(target) == digest(source), "the file is there as it was sent")
    assert [path.name for path in inbox.iterdir()] == [source.name]
    note(scenario, End("aerowire", sending), End("official", receiving), medium)
    scenario.finish()


@pytest.mark.parametrize("medium", ["ipc", "udp", pytest.param("lossy", marks=pytest.mark.lossy)])
def test_our_receiver_takes_the_official_file(scenario: Scenario, tmp_path: Path, medium: str) -> None:
    channel, source, inbox = channel_of(medium), write_file(tmp_path / "source"), tmp_path / "inbox"
    inbox.mkdir()
    receiving = scenario.driver("aerowire", losses(medium, "aerowire"))
    sending = receiving if medium == "ipc" else scenario.driver("official", losses(medium, "official"))
    receiver = ours(scenario, receiving, channel, "receive", inbox, "--once")
    scenario.bench.java.run_tool(f"{SAMPLES}.FileSender", sending.directory, str(source), properties=sample_properties(channel))
    told = receiver.result(LIMIT_S)
    assert (told["outcome"], told["name"], told["length"], told["received"]) == ("received", source.name, LENGTH, LENGTH)
    assert receiver.finish() == 0, receiver.said()
    assert [path.name for path in inbox.iterdir()] == [source.name]
    assert digest(inbox / source.name) == digest(source)
    note(scenario, End("official", sending), End("aerowire", receiving), medium)
    scenario.finish()
