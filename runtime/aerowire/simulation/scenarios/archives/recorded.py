"""What the client of an archive knows of its recordings: what has to be there, whatever happens to the archive."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Recorded:
    """A recording as it has to be.

    `acknowledged` is the position up to which the archive has said that it is recorded, `start` where it begins. It `is_doubtful` while an
    operation that cuts it or takes it away has no answer yet. `detached` has messages before its start, and the positions behind them; the
    files of those from `kept_from` on have to be there. Invariant: the positions behind the messages ascend from `start`.
    """

    stream_id: int
    start: int = 0
    messages: list[bytes] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)  # behind each message
    acknowledged: int = 0
    is_doubtful: bool = False
    detached: list[tuple[bytes, int]] = field(default_factory=list)
    kept_from: int = field(init=False)
    lowest: int = field(init=False)  # where it has begun first

    def __post_init__(self) -> None:
        self.kept_from = self.lowest = self.start

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

    def begin_at(self, position: int, *, is_kept: bool = False) -> None:
        """Let the recording begin at a position, with the messages before it detached. Their files are gone unless they are kept."""
        known = [*self.detached, *zip(self.messages, self.positions, strict=True)]
        behind = [(message, end) for message, end in known if end > position]
        self.detached = known[: len(known) - len(behind)]
        self.messages, self.positions = [message for message, _ in behind], [end for _, end in behind]
        self.start = position
        self.kept_from = min(self.kept_from, position) if is_kept else position


@dataclass
class Memory:
    """All recordings of an archive by their ids, and `lost`: those that nothing can be said of, as their files were not synced.

    `may_disagree` says that catalog and segments need not agree any more: power was lost while neither was synced. `moving` are the source
    and the destination of segments that are being moved, without an answer yet.
    """

    recordings: dict[int, Recorded] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    may_disagree: bool = False
    moving: tuple[int, int] | None = None

    def begin_move(self, source_id: int, target_id: int) -> None:
        """Note that all segments of a recording are to be moved to another, which it joins."""
        self.moving = source_id, target_id
        for recording_id in self.moving:
            self.recordings[recording_id].is_doubtful = True

    def end_move(self, *, is_moved: bool) -> None:
        """Note whether they were moved."""
        assert self.moving is not None
        known = [recording_id for recording_id in self.moving if recording_id in self.recordings]
        if len(known) < len(self.moving):  # one was purged since, and what that took away is not known
            self.moving = None
            for recording_id in known:
                self.give_up(recording_id)
            return
        source, target = (self.recordings[recording_id] for recording_id in self.moving)
        self.moving = None
        source.is_doubtful = target.is_doubtful = False
        if not is_moved:
            return
        if source.acknowledged == target.start:
            target.messages[:0], target.positions[:0] = source.messages, source.positions
            target.start = target.kept_from = target.lowest = source.start
        else:
            target.messages += source.messages
            target.positions += source.positions
            target.acknowledged = source.acknowledged
        source.acknowledged = source.start
        source.cut(source.start)

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
