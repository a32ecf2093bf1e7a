"""`aerowire pcap replay` to official subscribers: over UDP from our driver, and at an official driver of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from aerowire.pcap.replay.replaying import Recorded, find_streams
from tests.interop.harness import Bench, Side
from tests.support.peers.payloads import ContentHash
from tests.support.processes import LIMIT_S, free_port, wait_for_driver

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
CAPTURES = Path(__file__).parent.parent / "data" / "captures"
STREAM = 1001


@pytest.mark.parametrize("side", ["official", "aerowire"])
@pytest.mark.parametrize("name", ["fragmented_10k", "loss_data_sender_side", "reorder_dup"])
def test_an_official_subscriber_gets_the_messages_of_a_capture(bench: Bench, side: Side, name: str) -> None:
    """side: the driver that the replay publishes at; the subscriber's is the official one."""
    path = str(CAPTURES / f"{name}.pcap")
    expected = ContentHash()
    for message in Recorded([path], find_streams([path])):
        expected.add(message.payload)
    assert expected.messages > 0
    receiving = bench.driver("official")
    wait_for_driver(receiving.directory, receiving.process)
    sending = receiving if side == "official" else bench.driver("aerowire")
    wait_for_driver(sending.directory, sending.process)
    channel = "aeron:ipc" if side == "official" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    common = {"stream": STREAM, "messages": expected.messages, "timeout": int(LIMIT_S)}
    subscriber = bench.peer("official", "subscriber", receiving, channel=channel, **common)
    assert subscriber.result(LIMIT_S)["ready"]
    target = f"{channel}{'|' if '?' in channel else '?'}term-length=128k"
    options = ["--speed", "max", "--json", "--wait", "60", "--dir", str(sending.directory)]
    command = [sys.executable, "-m", "aerowire.tools.main", "pcap", "replay", path, target, str(STREAM), *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert json.loads(ended.stdout)["sent"] == expected.messages
    got = subscriber.outcome("subscriber", LIMIT_S)
    assert {field: got[field] for field in ("messages", "bytes", "sha256")} == expected.fields()
    assert subscriber.finish() == 0, subscriber.said()
