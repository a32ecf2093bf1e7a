"""ReplayMerge and PersistentSubscription of the official client on our archive: every message once, with and without loss."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field

import pytest

from aerowire.archive import FROM_START, AeronArchive, ArchiveClientContext, PersistentStream, PersistentSubscription
from aerowire.base.directory import CNC_FILE_NAME
from aerowire.client import Aeron, build_channel, initial_position
from aerowire.codecs.tables.counters import CounterType
from aerowire.ipc.cnc import CncFile
from tests.interop.archive.content import Batch, hash_of
from tests.interop.archive.nodes import ArchiveNode, finish, response_channel, restart_archive, start_archive
from tests.interop.harness import PATIENT_MS, Driver, Side
from tests.interop.scenarios import LIMIT_S, Scenario, lossy_network
from tests.support.processes import Process, free_port
from tests.support.waiting import rest, wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

STREAM_ID = 3001
ANY_PORT = "aeron:udp?endpoint=127.0.0.1:0"
RECORDED, LIVE, AGAIN = Batch(21, 300, 2048), Batch(22, 300, 2048), Batch(23, 200, 2048)
# State, join difference, times that it left and joined the live stream.
PERSISTENT_TYPES = range(114, 118)
# What a reader has no room for cannot be sent again once the terms are used again.
FLOW = "term-length=64k|ssc=true|fc=min"
NETWORKS = ["clean", pytest.param("lossy", marks=pytest.mark.lossy)]


@dataclass
class LivePublication:
    """A publication to many destinations that the archive on its driver records; readers are of another driver."""

    archive: AeronArchive
    control: str = field(default_factory=lambda: f"control=127.0.0.1:{free_port()}|control-mode=dynamic")

    def __post_init__(self) -> None:
        self.publication = self.archive.add_recorded_exclusive_publication(f"aeron:udp?{self.control}|{FLOW}", STREAM_ID)

    @property
    def destination(self) -> str:
        """The channel of a reader."""
        return f"aeron:udp?endpoint=127.0.0.1:0|{self.control}"

    def publish(self, batch: Batch) -> None:
        """Publish a batch, and wait until it is recorded."""
        self.archive.await_recorded(0, batch.publish(self.publication))

    def await_reader(self) -> None:
        """Wait until the publisher reckons with a reader: before that spies alone move it on, also past a reader that has merged."""
        counters = self.archive.aeron.counters_reader

        def has_reader() -> bool:
            found = [each for each in counters.for_each() if each.type_id == CounterType.FC_RECEIVERS and self.control in each.label]
            return any(each.value for each in found)

        wait_until(has_reader, "the reader's status messages")

    def start_again(self) -> None:
        """End the publication, and begin it again where its recording has stopped."""
        position = self.publication.position
        self.archive.try_stop_recording(self.publication)
        self.publication.close()
        wait_until(lambda: self.archive.get_stop_position(0) == position, "the recording's stop")
        (recording,) = self.archive.list_recording(0)
        start = initial_position(position, recording.initial_term_id, recording.term_buffer_length)
        endpoint, mode = (part.partition("=")[2] for part in self.control.split("|"))
        channel = build_channel("udp", is_spy=False, control=endpoint, control_mode=mode, ssc=True, **start)
        self.archive.extend_recording(0, channel, STREAM_ID)
        self.publication = self.archive.aeron.add_exclusive_publication(channel, STREAM_ID)


def drive_reader(scenario: Scenario, side: Side, *, lossy: bool) -> Driver:
    """Start the driver of a reader."""
    return scenario.driver(side, {"aeron.image.liveness.timeout": "2s", **(lossy_network(side) if lossy else {})})


def read(scenario: Scenario, node: ArchiveNode, driver: Driver, live: LivePublication, *, messages: int, **options: object) -> Process:
    """Start an official reader on a driver of its own."""
    scenario.row.publishing = f"{node.side} archive, {node.driver.side} driver"
    scenario.row.subscribing = [f"official archive client, {driver.side} driver"]
    given = {
        "dir": driver.directory,
        "requests": node.control_channel,
        "responses": ANY_PORT,
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


def compare_counters(node: ArchiveNode, driver: Driver, live: LivePublication) -> None:
    """Let our client read the same beside an official reader, and assert that both have the same counters."""
    stream = PersistentStream(
        recording_id=0,
        live_channel=live.destination,
        live_stream_id=STREAM_ID,
        replay_channel=ANY_PORT,
        replay_stream_id=STREAM_ID + 1,
        start_position=FROM_START,
    )
    context = ArchiveClientContext(control_request_channel=node.control_channel, control_response_channel=ANY_PORT, environ={})
    with (
        Aeron.connect(driver.directory, environ={"AERON_DRIVER_TIMEOUT": PATIENT_MS}) as aeron,
        PersistentSubscription(aeron, stream, context) as ours,
    ):
        wait_until(lambda: ours.is_live, lambda: ours, work=lambda: rest() if ours.poll(lambda *_: None, 50) == 0 else None)
        with CncFile.map(str(driver.directory / CNC_FILE_NAME), writable=False) as cnc:
            found = [info for info in cnc.counters_reader().for_each() if info.type_id in PERSISTENT_TYPES]
        own = aeron.client_id
        assert {info.type_id for info in found} == set(PERSISTENT_TYPES)
        mine, theirs = ([info[1:4] + info[7:] for info in found if (info.owner_id == own) is is_own] for is_own in (True, False))
        assert sorted(mine) == sorted(theirs)


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
        driver = drive_reader(scenario, reader_driver, lossy=is_lossy)
        reader = read(scenario, node, driver, live, messages=total, way="merge", replay=ANY_PORT)
        live.publish(LIVE)
        reader.event("live", LIMIT_S)
        live.await_reader()
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
    with ExitStack() as clients:
        live = LivePublication(clients.enter_context(node.connect("ipc")))
        live.publish(RECORDED)
        content = RECORDED, LIVE, AGAIN
        total = sum(batch.messages for batch in content)
        replay = response_channel() if kind == "response channel" else ANY_PORT
        driver = drive_reader(scenario, reader_driver, lossy=is_lossy)
        reader = read(scenario, node, driver, live, messages=total, way="persistent", replay=replay)
        live.publish(LIVE)
        reader.event("live", LIMIT_S)
        if replay == ANY_PORT and not is_lossy:
            compare_counters(node, driver, live)
            scenario.observed("counters alike")
        again = "a publisher that was started again"
        if kind == "port 0" and not is_lossy:
            again = "an archive and a publisher that were started again"
            node = restart_archive(scenario, node)
            live.archive = clients.enter_context(node.connect("ipc"))
        live.start_again()
        live.publish(AGAIN)
        found = compare(scenario, reader, *content)
        assert found["left"] == 1, found
        scenario.observed(f"every message once, over {again}; content hash")
        if is_lossy:
            prove_loss(scenario, node)
    finish(scenario, node)
