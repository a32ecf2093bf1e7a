"""What the client of an archive knows of its recordings: what has to be there, whatever happens to the archive."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Recorded:
    """A recording as it has to be.

    `acknowledged` is the position up to which the archive has said that it is recorded, `start` where it begins. It `is_doubtful` while an
    operation that cuts it or takes it away has no answer yet. Invariant: the positions behind the messages ascend from `start`.
    """

    stream_id: int
    start: int = 0
    messages: list[bytes] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)  # behind each message
    acknowledged: int = 0
    is_doubtful: bool = False

    def add(self, message: bytes, position: int) -> None:
        """Note a message that was published, and the position behind it."""
        self.messages.append(message)
        self.positions.append(position)

    def count(self, position: int) -> int:
        """Return how many messages end at or before a position."""
        return sum(1 for one in self.positions if one <= position)

    def cut(self, position: int) -> None:
        """Forget what is behind a position, which is the end of the recording."""
        count = self.count(position)
        del self.messages[count:], self.positions[count:]

    def begin_at(self, position: int) -> None:
        """Forget what is before a position, which is the start of the recording."""
        count = self.count(position)
        del self.messages[:count], self.positions[:count]
        self.start = position


@dataclass
class Memory:
    """All recordings of an archive by their ids, and `lost`: those that nothing can be said of, as their files were not synced.

    `may_disagree` says that catalog and segments need not agree any more: power was lost while neither was synced.
    """

    recordings: dict[int, Recorded] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    may_disagree: bool = False

    def give_up(self, recording_id: int) -> None:
        """Say nothing of a recording any more."""
        del self.recordings[recording_id]
        self.lost.add(recording_id)

    def continued(self, recording_id: int, stream_id: int, position: int) -> Recorded:
        """Return a recording that goes on at a position: one that nothing is known of where it was lost."""
        if position == 0:
            self.lost.discard(recording_id)  # a catalog that has lost its end gives out ids again
        if recording_id in self.lost:
            return Recorded(stream_id)
        found = self.recordings.setdefault(recording_id, Recorded(stream_id))
        found.cut(position)
        return found
