"""What the agents of simulated drivers note of streams: what was sent again, who is waited for, what was revoked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aerowire.base.directory import EVENT_LOG_FILE_NAME
from aerowire.client import ExclusivePublication
from aerowire.codecs.flyweights.events import DriverEventCode
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.simulation.host import SimulatedHost
from aerowire.simulation.world import SimulatedWorld
from aerowire.tools.driver.event_reader import Event, EventReader
from tests.support.stream_client import STREAM, StreamClient

MS = 1_000_000
SECOND = 1_000_000_000
GROUP = "aeron:udp?endpoint=224.71.31.1:40456|interface=10.0.0.0/24"
UNICAST = "aeron:udp?endpoint=10.0.0.2:40456"
MESSAGE = bytes(968)  # with its header 1,000 bytes, 1,024 in the log
FRAME_LENGTH = 1024
MESSAGES = 20
QUICK: dict[str, Any] = {"environ": {}, "term_buffer_length": 64 * 1024, "timer_interval_ns": "100ms"}


class Scene:
    """Hosts whose drivers note, and clients of theirs."""

    def __init__(self, directory: Path) -> None:
        self.world = SimulatedWorld(seed=1)
        self._directory = directory
        self._count = 0

    def host(self, event_log: str = "admin", **options: Any) -> SimulatedHost:
        self._count += 1
        return self.world.add_host(f"10.0.0.{self._count}", event_log=event_log, **QUICK, **options)

    def publisher(self, host: SimulatedHost, channel: str) -> StreamClient:
        publisher = StreamClient(host)
        publisher.publish(channel, is_exclusive=True)
        return publisher

    def subscriber(self, host: SimulatedHost, channel: str) -> StreamClient:
        subscriber = StreamClient(host, reads=False)
        subscriber.subscribe(channel)
        return subscriber

    def noted(self, host: SimulatedHost, *codes: DriverEventCode) -> list[Event]:
        """Return the events of `codes` that the driver of `host` has noted so far."""
        seen = self._directory / "seen"
        seen.mkdir(exist_ok=True)
        region = host.regions.map(Path(host.driver.aeron_dir) / EVENT_LOG_FILE_NAME)
        (seen / EVENT_LOG_FILE_NAME).write_bytes(bytes(memoryview(region)))
        reader = EventReader(str(seen), from_start=True)
        events = reader.poll()
        reader.close()
        return [event for event in events if event.code in codes]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.world.close()


def revoke(publisher: StreamClient) -> None:
    assert isinstance(publisher.publication, ExclusivePublication)
    publisher.publication.revoke()


def test_what_was_asked_for_is_what_is_sent_again(scene: Scene) -> None:
    sending, receiving = scene.host(), scene.host()
    publisher = scene.publisher(sending, UNICAST)
    subscriber = scene.subscriber(receiving, UNICAST)
    assert scene.world.run(SECOND, until=lambda: subscriber.has_image)
    publisher.send([MESSAGE] * MESSAGES)
    # Nothing is lost on its second way.
    scene.world.network.set_faults(loss=0.5)
    scene.world.run(20_000)
    scene.world.network.set_faults(loss=0.0)
    assert scene.world.run(10 * SECOND, until=lambda: subscriber.counter(CounterType.RCV_POS) == MESSAGES * FRAME_LENGTH)
    asked = scene.noted(sending, DriverEventCode.NAK_RECEIVED)
    resent = scene.noted(sending, DriverEventCode.RESEND)
    assert len(resent) == publisher.counters.value(SystemCounter.RETRANSMITS_SENT) > 0
    ranges = {(nak.facts["frame"]["term_id"], nak.facts["frame"]["term_offset"], nak.facts["frame"]["length"]) for nak in asked}
    assert {(event.facts["term_id"], event.facts["term_offset"], event.facts["resend_length"]) for event in resent} <= ranges
    assert publisher.counters.value(SystemCounter.RETRANSMITTED_BYTES) == sum(event.facts["resend_length"] for event in resent)
    session_id = asked[0].facts["frame"]["session_id"]
    assert {(event.facts["session_id"], event.facts["stream_id"], event.facts["channel"]) for event in resent} == {
        (session_id, STREAM, UNICAST)
    }
    assert not scene.noted(receiving, DriverEventCode.RESEND)


def test_receivers_that_are_waited_for_come_and_go(scene: Scene) -> None:
    sending, staying, dying = scene.host(), scene.host(), scene.host()
    channel = f"{GROUP}|fc=min,t:500ms"
    publisher = scene.publisher(sending, channel)
    scene.subscriber(staying, GROUP)
    assert scene.world.run(SECOND, until=lambda: publisher.counter(CounterType.FC_RECEIVERS) == 1)
    scene.subscriber(dying, GROUP)
    assert scene.world.run(SECOND, until=lambda: publisher.counter(CounterType.FC_RECEIVERS) == 2)
    dying.lose_power()
    assert scene.world.run(SECOND, until=lambda: publisher.counter(CounterType.FC_RECEIVERS) == 1)
    added = scene.noted(sending, DriverEventCode.FLOW_CONTROL_RECEIVER_ADDED)
    (removed,) = scene.noted(sending, DriverEventCode.FLOW_CONTROL_RECEIVER_REMOVED)
    assert [event.facts["receiver_count"] for event in added] == [1, 2]
    assert added[0].facts["receiver_id"] != added[1].facts["receiver_id"]
    assert removed.facts == {**added[1].facts, "receiver_count": 1}
    assert (removed.facts["stream_id"], removed.facts["channel"]) == (STREAM, channel)
    assert removed.timestamp_ns - added[1].timestamp_ns >= 500 * MS


def test_a_revoked_stream_is_noted_at_both_ends_with_its_end(scene: Scene) -> None:
    sending, receiving = scene.host(), scene.host()
    publisher = scene.publisher(sending, UNICAST)
    subscriber = scene.subscriber(receiving, UNICAST)
    publisher.send([MESSAGE] * 3)
    assert scene.world.run(SECOND, until=lambda: subscriber.has_image)
    assert scene.world.run(SECOND, until=lambda: subscriber.counter(CounterType.RCV_POS) == 3 * FRAME_LENGTH)
    revoke(publisher)
    assert scene.world.run(SECOND, until=lambda: subscriber.counters.value(SystemCounter.PUBLICATION_IMAGES_REVOKED) == 1)
    (here,) = scene.noted(sending, DriverEventCode.PUBLICATION_REVOKE, DriverEventCode.PUBLICATION_IMAGE_REVOKE)
    (there,) = scene.noted(receiving, DriverEventCode.PUBLICATION_REVOKE, DriverEventCode.PUBLICATION_IMAGE_REVOKE)
    assert (here.code, there.code) == (DriverEventCode.PUBLICATION_REVOKE, DriverEventCode.PUBLICATION_IMAGE_REVOKE)
    assert here.facts == there.facts
    assert (here.facts["revoked_position"], here.facts["stream_id"], here.facts["channel"]) == (3 * FRAME_LENGTH, STREAM, UNICAST)


def test_a_revoked_stream_of_ipc_is_noted(scene: Scene) -> None:
    host = scene.host()
    channel = "aeron:ipc?alias=x"
    publisher = scene.publisher(host, channel)
    assert scene.world.run(SECOND, until=lambda: publisher.publication is not None)
    revoke(publisher)
    assert scene.world.run(SECOND, until=lambda: publisher.counters.value(SystemCounter.PUBLICATIONS_REVOKED) == 1)
    (event,) = scene.noted(host, DriverEventCode.PUBLICATION_REVOKE)
    assert (event.facts["revoked_position"], event.facts["channel"]) == (0, channel)


@pytest.mark.parametrize("code", ["RESEND", "FLOW_CONTROL_RECEIVER_ADDED", "PUBLICATION_IMAGE_REVOKE"])
def test_of_what_streams_do_only_what_was_asked_for_is_noted(scene: Scene, code: str) -> None:
    sending = scene.host(event_log=code)
    publisher = scene.publisher(sending, f"{GROUP}|fc=min")
    receiving = scene.host(event_log=code)
    subscriber = scene.subscriber(receiving, GROUP)
    assert scene.world.run(SECOND, until=lambda: subscriber.has_image)
    assert scene.world.run(SECOND, until=lambda: publisher.counter(CounterType.FC_RECEIVERS) == 1)
    revoke(publisher)
    assert scene.world.run(SECOND, until=lambda: subscriber.counters.value(SystemCounter.PUBLICATION_IMAGES_REVOKED) == 1)
    found = {event.code.name for host in (sending, receiving) for event in scene.noted(host, *DriverEventCode)}
    assert found - {"START"} == ({code} if code != "RESEND" else set())
