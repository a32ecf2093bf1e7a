"""Each way of sending and of taking messages that a client has, against the other implementation's client over one driver's shared memory.

Our client acts on the official driver, the official one on ours; the client at the other end checks what came of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.harness import Side
from tests.interop.scenarios import LIMIT_S, End, Scenario, other
from tests.support.processes import free_port

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

CHANNEL = "aeron:ipc"
CLIENT_THREAD = "aeron-client"
ACTING = pytest.mark.parametrize("acting", ["aerowire", "official"])


def ends(scenario: Scenario, acting: Side) -> tuple[End, End]:
    """Return the end under test and its opposite, on a driver of the opposite's implementation."""
    driver = scenario.driver(other(acting))
    return End(acting, driver), End(other(acting), driver)


@ACTING
@pytest.mark.parametrize(
    ("way", "feature", "exclusive"),
    [
        ("parts", "Offers of several buffers, reserved values by function", False),
        ("claim", "Claims: committed, aborted, with reserved values", False),
        ("padding", "Padding between messages", True),
        ("block", "Blocks of frames, offered whole", True),
    ],
)
def test_ways_of_sending(scenario: Scenario, acting: Side, way: str, feature: str, exclusive: bool) -> None:
    scenario.feature(feature)
    sender, receiver = ends(scenario, acting)
    stream = scenario.stream()
    subscriber = stream.subscribe(receiver, CHANNEL, checks="true")
    stream.publish(sender, CHANNEL, way=way, exclusive=str(exclusive).lower())
    stream.compare()
    checked = stream.outcomes[subscriber.name]["checked"]
    assert checked >= stream.messages
    scenario.observed("reserved value of every frame is its checksum")
    stream.finish()
    scenario.finish()


@ACTING
@pytest.mark.parametrize(
    ("way", "feature", "proofs"),
    [
        ("controlled", "Controlled poll: ABORT, BREAK, COMMIT, CONTINUE", ("aborted", "committed")),
        ("bounded", "Bounded polls, plain and controlled", ("bounded", "aborted")),
        ("image", "Assemblers of an image, plain and controlled", ("images", "aborted")),
        ("block", "Block poll", ("blocks", "padding")),
        ("raw", "Raw poll, read from the log's file", ("blocks", "padding")),
    ],
)
def test_ways_of_taking(scenario: Scenario, acting: Side, way: str, feature: str, proofs: tuple[str, ...]) -> None:
    scenario.feature(feature)
    receiver, sender = ends(scenario, acting)
    stream = scenario.stream()
    subscriber = stream.subscribe(receiver, CHANNEL, way=way, checks="true")
    stream.publish(sender, CHANNEL, way="parts")
    stream.compare()
    for name in proofs:
        count = stream.outcomes[subscriber.name][name]
        assert count > 0, name
        scenario.observed(name)
    stream.finish()
    scenario.finish()


@ACTING
@pytest.mark.parametrize("media", ["IPC", "UDP"])
def test_a_client_without_threads(scenario: Scenario, acting: Side, media: str) -> None:
    """Its application invokes it between two polls or offers, and it lives as long as another client."""
    scenario.feature(f"Clients without threads, {media}")
    channel = CHANNEL if media == "IPC" else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
    driver = scenario.driver(other(acting))
    end = End(acting, driver)
    stream = scenario.stream()
    peers = [take(end, channel, client="invoked") for take in (stream.subscribe, stream.publish)]
    stream.compare()
    for peer in peers:
        assert not [name for name in threads_of(peer.popen.pid) if name.startswith(CLIENT_THREAD)]
    scenario.observed("no thread of a client in either process")
    stream.finish()
    scenario.finish()


def threads_of(pid: int) -> list[str]:
    return [Path(task, "comm").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]


@ACTING
def test_the_port_that_the_system_chose(scenario: Scenario, acting: Side) -> None:
    """The subscribing client tells its channel with the port in it, and the other one publishes to that."""
    scenario.feature("Port 0 resolved by the subscribing client")
    receiver, sender = ends(scenario, acting)
    stream = scenario.stream()
    subscriber = stream.subscribe(receiver, "aeron:udp?endpoint=127.0.0.1:0")
    assert subscriber.popen.stdin is not None
    subscriber.popen.stdin.write(b"resolve\n")
    subscriber.popen.stdin.flush()
    resolved = subscriber.event("resolved", LIMIT_S)
    port = resolved["endpoint"].rpartition(":")[2]
    assert int(port) > 0
    assert resolved["channel"] == f"aeron:udp?endpoint=127.0.0.1:{port}"
    assert resolved["addresses"] == [f"127.0.0.1:{port}"]
    stream.publish(sender, resolved["channel"])
    stream.compare()
    scenario.observed("resolved endpoint, channel and local socket address")
    stream.finish()
    scenario.finish()
