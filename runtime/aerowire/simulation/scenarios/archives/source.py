"""The archive that copies are made of, on a host to which nothing happens."""

from __future__ import annotations

from hashlib import shake_128
from typing import TYPE_CHECKING, Any, Final

from aerowire.simulation.scenarios.archives.client import IPC, ArchiveClient
from aerowire.simulation.scenarios.archives.recorded import Recorded
from aerowire.simulation.scenarios.draws import Draws
from aerowire.simulation.scenarios.plan import SECOND

if TYPE_CHECKING:
    from aerowire.simulation.host import SimulatedHost
    from aerowire.simulation.world import SimulatedWorld

COPIED_STREAM: Final = 3001


class SourceArchive:
    """A running archive with one recording, which has ended."""

    def __init__(self, world: SimulatedWorld, host: SimulatedHost, options: dict[str, Any], seed: int) -> None:
        draws = Draws("source", seed)
        archive = host.start_archive(**options)
        world.run(20 * SECOND, until=lambda: archive.is_serving)
        client = ArchiveClient(world, host)
        added = client.complete(client.archive.async_add_continued_publication(IPC, COPIED_STREAM))
        self.recording_id = added.recording_id
        self.recorded = Recorded(COPIED_STREAM)
        self.control_channel = f"aeron:udp?endpoint={host.address}:8010"
        self.control_stream_id = 10
        for _ in range(draws.whole(1, 120)):
            message = shake_128(b"%d" % draws.seed()).digest(draws.whole(1, 3_000))
            client.publish(added.publication, message)
            self.recorded.add(message, added.publication.position)
        end = self.recorded.acknowledged = added.publication.position
        client.complete(client.archive.async_await_recorded(self.recording_id, end))
        added.publication.close()
        world.run(2 * SECOND)
        client.client.close()
