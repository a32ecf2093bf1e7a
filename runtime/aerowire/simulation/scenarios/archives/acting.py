"""What the operations of a life have in common: how recordings are chosen, messages published, and answers compared with what is known."""

from __future__ import annotations

from hashlib import shake_128
from typing import TYPE_CHECKING, Final

from aerowire.simulation.scenarios.plan import MS, SECOND
from aerowire.simulation.scenarios.violation import ViolationError

if TYPE_CHECKING:
    from aerowire.archive.client.descriptors import RecordingDescriptor
    from aerowire.client.publications.publication import ExclusivePublication
    from aerowire.codecs.flyweights.archive import RecordingSignal
    from aerowire.simulation.scenarios.archives.client import ArchiveClient
    from aerowire.simulation.scenarios.archives.recorded import Memory, Recorded
    from aerowire.simulation.scenarios.draws import Draws

MESSAGES_MAX: Final = 120
LENGTH_MAX: Final = 3_000


class Acting:
    """A client of an archive that does something, and knows what has to come of it.

    `is_faultless` says that nothing keeps the archive from doing what it is asked for; `published` counts messages.
    """

    def __init__(self, client: ArchiveClient, memory: Memory, *, is_faultless: bool) -> None:
        self.published = 0
        self.client = client
        self.archive = client.archive
        self.memory = memory
        self.is_faultless = is_faultless

    def publish(self, draws: Draws, publication: ExclusivePublication, recorded: Recorded) -> None:
        for number in range(draws.whole(0, MESSAGES_MAX)):
            message = message_of(draws, LENGTH_MAX)
            if not self.client.publish(publication, message):
                if self.is_faultless:
                    raise self.wrong("what lives makes progress", f"room for message {number}", "none within 2 s")
                break
            self.published += 1
            recorded.add(message, publication.position)
            if draws.happens(0.1):
                self.client.pause(1 + draws.whole(0, MS))

    def await_stop(self, recording_id: int, position: int) -> None:
        client = self.client
        listed = client.recording(recording_id)
        for _ in range(100):
            if listed.stop_position >= 0:
                break
            client.pause(100 * MS)
            listed = client.recording(recording_id)
        if listed.stop_position != position:
            raise self.wrong("a recording ends where its stream does", f"recording {recording_id} at {position}", listed.stop_position)

    def any_stopped(self, draws: Draws) -> RecordingDescriptor | None:
        found = [one for one in self.client.recordings() if one.stop_position >= 0 and one.recording_id in self.memory.recordings]
        return draws.one_of(found) if found else None

    def known_stopped(self, draws: Draws) -> tuple[RecordingDescriptor, Recorded] | None:
        """Choose a recording that has ended, and has messages."""
        found = self.any_stopped(draws)
        if found is None:
            return None
        recorded = self.memory.recordings[found.recording_id]
        recorded.cut(found.stop_position)
        return (found, recorded) if recorded.messages else None

    def await_signals(self, recording_id: int, *signals: RecordingSignal) -> None:
        """See that signals of a recording have come, in this order."""
        if not self.is_faultless:
            return

        def come() -> list[RecordingSignal]:
            return [one.signal for one in self.client.signals if one.recording_id == recording_id and one.signal in signals]

        if not self.client.world.run(5 * SECOND, until=lambda: come() == list(signals)):
            raise self.wrong("signals arrive", [one.name for one in signals], [one.name for one in come()])

    def check_messages(self, recording_id: int, found: list[bytes], expected: list[bytes]) -> None:
        if found != expected and self.is_faultless:
            place = next((n for n, (a, b) in enumerate(zip(found, expected, strict=False)) if a != b), min(len(found), len(expected)))
            seen = f"{len(found)}, another one from {place} on"
            raise self.wrong("replays give back what was recorded", f"{len(expected)} messages of recording {recording_id}", seen)

    def wrong(self, rule: str, expected: object, saw: object) -> ViolationError:
        return ViolationError(rule, expected, saw, self.client.host.address)


def message_of(draws: Draws, length_max: int) -> bytes:
    """Return a message that is like no other."""
    return shake_128(b"%d" % draws.seed()).digest(draws.whole(1, length_max))
