"""ReplayMerge and PersistentSubscription of the official client on our archive: every message once, with and without loss."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from aerowire.archive import AeronArchive
from aerowire.client import build_channel, initial_position
from tests.interop.archive.content import Batch, hash_of
from tests.interop.archive.nodes import ArchiveNode, finish, response_channel, start_archive
from tests.interop.harness import Side
from tests.interop.scenarios import LIMIT_S, Scenario, lossy_network
from tests.support.processes import Process, free_port
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

STREAM_ID = 3001
RECORDED, LIVE, AGAIN = Batch(21, 300, 2048), Batch(22, 300, 2048), Batch(23, 200, 2048)
NETWORKS = ["clean", pytest.param("lossy", marks=pytest.mark.lossy)]


@dataclass
class LivePublication:
    """A publication to many destinations that the archive on its driver records; readers are of another driver."""

    archive: AeronArchive
    control: str = field(default_factory=lambda: f"control=127.0.0.1:{free_port()}|control-mode=dynamic")

    def __post_init__(self) -> None:
        self.publication = self.archive.add_recorded_exclusive_publication(f"aeron:udp?{self.control}|term-length=64k|ssc=true", STREAM_ID)

    @property
    def destination(self) -> str:
        """The channel of a reader."""
        return f"aeron:udp?endpoint=127.0.0.1:0|{self.control}"

    def publish(self, batch: Batch) -> None:
        """Publish a batch, and wait until it is recorded."""
        self.archive.await_recorded(0, batch.publish(self.publication))

    def start_again(self) -> None:
        """End the publication, and begin it again where its recording has stopped."""
        position = self.publication.position
        self.archive.stop_recording(self.publication)
        self.publication.close()
        wait_until(lambda: self.archive.get_stop_position(0) == position, "the recording's stop")
        (recording,) = self.archive.list_recording(0)
        start = initial_position(position, recording.initial_term_id, recording.term_buffer_length)
        endpoint, mode = (part.partition("=")[2] for part in self.control.split("|"))
        channel = build_channel("udp", is_spy=False, control=endpoint, control_mode=mode, ssc=True, **start)
        self.archive.extend_recording(0, channel, STREAM_ID)
        self.publication = self.archive.aeron.add_exclusive_publication(channel, STREAM_ID)


def read(
    scenario: Scenario, node: ArchiveNode, driver_side: Side, live: LivePublication, *, lossy: bool, messages: int, **options: object
) -> Process:
    """Start an official reader on a driver of its own."""
    driver = scenario.driver(driver_side, {"aeron.image.liveness.timeout": "2s", **(lossy_network(driver_side) if lossy else {})})
    scenario.row.publishing = f"{node.side} archive, {node.driver.side} driver"
    scenario.row.subscribing = [f"official archive client, {driver_side} driver"]
    given = {
        "dir": driver.directory,
        "requests": node.control_channel,
        "responses": "aeron:udp?endpoint=127.0.0.1:0",
        "stream": STREAM_ID,
        "live": live.destination,
        "recording": 0,
        "session": live.publication.session_id,
        "messages": messages,
        "timeout": int(LIMIT_S),
        **options,
    }
    command = scenario.bench.java.command("ArchiveReader", *(f"{name}={value}" for name, value in given.items()))
    return scenario.bench.workshop.start("official reader", command)


def prove_loss(scenario: Scenario, node: ArchiveNode) -> None:
    """Assert that messages of the archive's driver were lost, and sent again."""
    scenario.prove(node.driver, "NAKs received")
    scenario.prove(node.driver, "Retransmits sent")


def compare(scenario: Scenario, reader: Process, *content: Batch) -> dict[str, object]:
    """Assert that a reader has got this content, and has ended well; return what it said."""
    found = reader.outcome("reader", LIMIT_S)
    expected = hash_of(*content)
    assert {name: found[name] for name in expected} == expected
    assert reader.finish() == 0, reader.said()
    scenario.row.messages = sum(batch.messages for batch in content)
    return found


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize(("archive_driver", "reader_driver"), [("aerowire", "official"), ("official", "aerowire")])
def test_a_replay_merge_of_the_official_client_gets_every_message_once(
    scenario: Scenario, archive_driver: Side, reader_driver: Side, network: str
) -> None:
    is_lossy = network == "lossy"
    scenario.feature("Archive: ReplayMerge of the official client" + (", 5 % loss each way" if is_lossy else ""))
    node = start_archive(scenario, "aerowire", scenario.driver(archive_driver, lossy_network(archive_driver) if is_lossy else None))
    with node.connect("ipc") as archive:
        live = LivePublication(archive)
        live.publish(RECORDED)
        content = RECORDED, LIVE, AGAIN
        total = sum(batch.messages for batch in content)
        reader = read(
            scenario, node, reader_driver, live, lossy=is_lossy, messages=total, way="merge", replay="aeron:udp?endpoint=127.0.0.1:0"
        )
        live.publish(LIVE)
        reader.event("live", LIMIT_S)
        live.publish(AGAIN)
        compare(scenario, reader, *content)
        scenario.observed("merged; content hash")
        if is_lossy:
            prove_loss(scenario, node)
    finish(scenario, node)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize(("archive_driver", "reader_driver"), [("aerowire", "official"), ("official", "aerowire")])
def test_a_persistent_subscription_of_the_official_client_gets_every_message_once(
    scenario: Scenario, archive_driver: Side, reader_driver: Side, network: str
) -> None:
    is_lossy = network == "lossy"
    kind = "response channel" if reader_driver == "official" else "port 0"
    loss = ", 5 % loss each way" if is_lossy else ""
    scenario.feature(f"Archive: persistent subscription of the official client, replay by {kind}{loss}")
    node = start_archive(scenario, "aerowire", scenario.driver(archive_driver, lossy_network(archive_driver) if is_lossy else None))
    with node.connect("ipc") as archive:
        live = LivePublication(archive)
        live.publish(RECORDED)
        content = RECORDED, LIVE, AGAIN
        total = sum(batch.messages for batch in content)
        replay = response_channel() if kind == "response channel" else "aeron:udp?endpoint=127.0.0.1:0"
        reader = read(scenario, node, reader_driver, live, lossy=is_lossy, messages=total, way="persistent", replay=replay)
        live.publish(LIVE)
        reader.event("live", LIMIT_S)
        live.start_again()
        live.publish(AGAIN)
        found = compare(scenario, reader, *content)
        assert found["left"] == 1, found
        scenario.observed("every message once, over a publisher that was started again; content hash")
        if is_lossy:
            prove_loss(scenario, node)
    finish(scenario, node)
