"""A client of an archive in a simulated world, with a publication that is recorded."""

from __future__ import annotations

from functools import partial

from aerowire.client import ExclusivePublication
from aerowire.simulation.scenarios.archives.client import IPC
from aerowire.simulation.scenarios.archives.client import ArchiveClient as ScenarioClient
from aerowire.simulation.scenarios.plan import MS, SECOND

__all__ = ["IPC", "MS", "SECOND", "STREAM", "ArchiveClient"]

STREAM = 1001


def is_taken(publication: ExclusivePublication, message: bytes) -> bool:
    """Offer a message; return whether there was room for it, which a closed publication has none of."""
    return not publication.is_closed and publication.offer(message) > 0


class ArchiveClient(ScenarioClient):
    """An application beside an archive. Its calls let the world run until they are answered."""

    def record(self) -> tuple[ExclusivePublication, int]:
        """Return a publication, and the id of its recording, which has begun."""
        self.client.complete(self.archive.async_start_recording(IPC, STREAM))
        publication = self.client.complete(self.client.aeron.async_add_exclusive_publication(IPC, STREAM))
        assert self.world.run(10 * SECOND, until=lambda: publication.is_connected)
        while not (found := self.recordings()):
            self.world.run(10 * MS)
        return publication, found[-1].recording_id

    def send(self, publication: ExclusivePublication, messages: list[bytes]) -> None:
        """Publish messages, some at a time."""
        for number, message in enumerate(messages):
            assert self.world.run(10 * SECOND, until=partial(is_taken, publication, message))
            if number % 10 == 9:
                self.world.run(MS)

    def position(self, recording_id: int) -> int:
        """Return up to where a recording is durable."""
        return self.client.complete(self.archive.async_get_recording_position(recording_id))
