"""A replay by our client that meets its live stream: every message once and in order, under loss too, and the replay ends."""

from __future__ import annotations

import struct

import pytest

from aerowire.archive import AeronArchive, ReplayMerge
from aerowire.client import ExclusivePublication, Header, Publication
from tests.interop.archive.nodes import ArchiveNode, finish, start_archive
from tests.interop.harness import Side
from tests.interop.scenarios import Scenario, counters, losing_arrivals
from tests.support.processes import free_port
from tests.support.waiting import rest, wait_until

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

STREAM_ID = 3001
LENGTH = 200
RECORDED_FIRST, LIVE_AFTER = 3000, 500


class LiveStream:
    """A publication to many destinations that its archive records, and one reader that comes late."""

    def __init__(self, archive: AeronArchive, **options: str) -> None:
        control = f"control=127.0.0.1:{free_port()}"
        self.destination = f"aeron:udp?endpoint=127.0.0.1:0|{control}|control-mode=dynamic"
        more = "".join(f"|{name}={value}" for name, value in options.items())
        self.publication: Publication | ExclusivePublication = archive.add_recorded_publication(
            f"aeron:udp?{control}|control-mode=dynamic|term-length=64k|ssc=true{more}", STREAM_ID
        )
        self.sent = 0
        self.received: list[int] = []

    def send(self, count: int = 1) -> None:
        """Send as many of the next messages as there is room for, at most `count`."""
        for _ in range(count):
            if self.publication.offer(struct.pack("<i", self.sent).ljust(LENGTH, b".")) < 0:
                return
            self.sent += 1

    def send_all(self, until: int) -> None:
        def work() -> None:
            self.send(until - self.sent)
            rest()

        wait_until(lambda: self.sent >= until, "messages sent", work=work)

    def take(self, buffer: memoryview, offset: int, _length: int, _header: Header) -> None:
        self.received.append(struct.unpack_from("<i", buffer, offset)[0])


def merge(node: ArchiveNode, archive: AeronArchive) -> None:
    stream = LiveStream(archive)
    stream.send_all(RECORDED_FIRST)
    (recording,) = archive.list_recordings()
    with archive.aeron.add_subscription("aeron:udp?control-mode=manual", STREAM_ID) as subscription:
        merged = ReplayMerge(
            subscription, archive, "aeron:udp?alias=replay", "aeron:udp?endpoint=127.0.0.1:0", stream.destination, recording.recording_id
        )

        def work() -> None:
            stream.send()
            if merged.poll(stream.take, 50) == 0:
                rest()

        with merged:
            wait_until(lambda: merged.is_merged, lambda: f"{merged}, {len(stream.received)} of {stream.sent}", work=work)
            assert merged.is_live_added
            wait_until(lambda: counters(node.driver, "Archive Replay Sessions")[label_of(node)] == 0, "the end of the replay", work=work)
            last = stream.sent + LIVE_AFTER
            wait_until(lambda: stream.sent >= last, "messages sent", work=work)
            wait_until(
                lambda: len(stream.received) >= stream.sent,
                lambda: f"{merged}, {len(stream.received)} of {stream.sent}",
                work=lambda: rest() if merged.poll(stream.take, 50) == 0 else None,
            )
        assert stream.received == list(range(stream.sent))
        assert merged.image is not None
        assert merged.image.active_transport_count == 1


def label_of(node: ArchiveNode) -> str:
    return next(iter(counters(node.driver, "Archive Replay Sessions")))


@pytest.mark.parametrize("network", ["clean", pytest.param("lossy", marks=pytest.mark.lossy)])
@pytest.mark.parametrize("driver_side", ["official", "aerowire"])
@pytest.mark.parametrize("archive_side", ["official", "aerowire"])
def test_a_late_reader_gets_every_message_once(scenario: Scenario, archive_side: Side, driver_side: Side, network: str) -> None:
    is_lossy = network == "lossy"
    scenario.feature("Archive client: ReplayMerge" + (", 5 % loss" if is_lossy else ""))
    driver = scenario.driver(driver_side, losing_arrivals(driver_side, 0.05) if is_lossy else None)
    node = start_archive(scenario, archive_side, driver)
    with node.connect("ipc") as archive:
        merge(node, archive)
        if is_lossy:
            scenario.prove(driver, "NAKs sent")
    scenario.observed("merged, every message once")
    finish(scenario, node)
