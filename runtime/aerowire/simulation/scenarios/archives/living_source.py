"""An archive that copies are made of while it records, on a host that fails and comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from aerowire.archive.client.recording_pos import recording_positions
from aerowire.base.errors import AerowireError
from aerowire.simulation.scenarios.archives.acting import LENGTH_MAX, message_of
from aerowire.simulation.scenarios.archives.client import IPC, ArchiveClient
from aerowire.simulation.scenarios.archives.recorded import Recorded
from aerowire.simulation.scenarios.archives.source import COPIED_STREAM
from aerowire.simulation.scenarios.plan import SECOND
from aerowire.simulation.scenarios.violation import ViolationError

if TYPE_CHECKING:
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.simulation.archives import SimulatedArchive
    from aerowire.simulation.host import SimulatedHost
    from aerowire.simulation.scenarios.draws import Draws
    from aerowire.simulation.world import SimulatedWorld

MESSAGES_MAX: Final = 60
_KEPT = "what was acknowledged is there"


class LivingSource:
    """A source of one recording, of what is `recorded`. Its stream goes on from `begin` to `end`, or until it fails."""

    def __init__(self, world: SimulatedWorld, host: SimulatedHost, options: dict[str, Any], driver: dict[str, Any]) -> None:
        self.recorded = Recorded(COPIED_STREAM)
        self.recording_id = -1
        self.address = host.address
        self.control_channel = f"aeron:udp?endpoint={host.address}:8010"
        self.control_stream_id = 10
        self._world = world
        self._host = host
        self._options = options
        self._driver = driver
        self._publication: ExclusivePublication | None = None
        self._archive: SimulatedArchive
        self._client = self._opened()

    def begin(self, draws: Draws) -> None:
        """Let the stream go on: from now on it is recorded."""
        added = self._client.complete(self._client.archive.async_add_continued_publication(IPC, COPIED_STREAM))
        self.recording_id = added.recording_id
        self.recorded.cut(added.position)
        self._publication = added.publication
        self.publish(draws)

    def publish(self, draws: Draws) -> None:
        """Publish some messages while the stream goes on."""
        if (publication := self._publication) is None:
            return
        for _ in range(draws.whole(1, MESSAGES_MAX)):
            message = message_of(draws, LENGTH_MAX)
            if not self._client.publish(publication, message):
                break
            self.recorded.add(message, publication.position)

    def end(self) -> None:
        """Let the stream end, once all of it is recorded."""
        if (publication := self._publication) is None:
            return
        client, self._publication = self._client, None
        client.complete(client.archive.async_await_recorded(self.recording_id, publication.position))
        self.recorded.acknowledged = publication.position
        publication.close()
        client.pause(SECOND)

    def fail(self, draws: Draws) -> None:
        """Kill the archive, or let the power fail where that loses nothing of what was acknowledged."""
        counters = self._host.cnc.counters_reader()
        positions = {one.recording_id: counters.value(one.counter_id) for one in recording_positions(counters)}
        self.recorded.acknowledged = max(self.recorded.acknowledged, positions.get(self.recording_id, 0))
        self._publication = None
        if self._options["file_sync_level"] == 0 or draws.happens(0.5):
            self._archive.kill()
        else:
            self._host.lose_power()

    def mend(self) -> None:
        """Start the archive again, and see that it has what it has acknowledged."""
        if self._host.has_power:
            self._client.client.kill()
            self._world.run(3 * SECOND)
        else:
            self._world.run(SECOND)
            self._host.restart()
            self._host.start_driver(**self._driver)
        self._client = client = self._opened()
        recorded, where = self.recorded, self._host.address
        try:
            found = next((one for one in client.recordings() if one.recording_id == self.recording_id), None)
            messages = client.replayed(self.recording_id) if found is not None else []
        except AerowireError as error:
            raise ViolationError(_KEPT, f"a recording up to {recorded.acknowledged}", error, where) from error
        end = found.stop_position if found is not None else 0
        if end < recorded.acknowledged or messages != recorded.messages[: recorded.count(end)]:
            known = f"{len(recorded.messages)} messages, acknowledged up to {recorded.acknowledged}"
            raise ViolationError(_KEPT, known, f"{len(messages)} messages up to {end}", where)
        recorded.cut(end)
        recorded.acknowledged = end

    def _opened(self) -> ArchiveClient:
        archive = self._archive = self._host.start_archive(**self._options)
        if not self._world.run(20 * SECOND, until=lambda: archive.is_serving or archive.has_ended) or archive.failure is not None:
            raise ViolationError("an archive starts, whatever has befallen it", "one that serves", archive.failure, self._host.address)
        return ArchiveClient(self._world, self._host)
