"""A subscriber of a log: takes what is there frame by frame, as a client does, and moves its position counter."""

from __future__ import annotations

from aerowire.codecs.flyweights.transport import FRAME_ALIGNMENT, DataHeaderDecoder, FrameType
from aerowire.ipc.counters import CountersManager
from aerowire.logbuffer.log import LogBuffers

HEADER = DataHeaderDecoder.ENCODED_LENGTH


class LogReader:
    """Keeps the payload of every frame that it has read in `fragments`."""

    def __init__(self, log: LogBuffers, counters: CountersManager, position_id: int) -> None:
        self.log = log
        self.position_id = position_id
        self.fragments: list[bytes] = []
        self._counters = counters

    @property
    def position(self) -> int:
        """How far it has read."""
        return self._counters.value(self.position_id)

    def poll(self, limit: int = 1 << 30) -> int:
        """Read up to `limit` messages; return how many there were."""
        start = position = self.position
        handled = 0
        while handled < limit:
            term = self.log.term_view(position // self.log.length_of_term % 3)
            offset = position % self.log.length_of_term
            header = DataHeaderDecoder(term, offset)
            length = header.frame_length
            if length <= 0:
                break
            if header.type != FrameType.PAD:
                self.fragments.append(bytes(term[offset + HEADER : offset + length]))
                handled += 1
            position += -(-length // FRAME_ALIGNMENT) * FRAME_ALIGNMENT
        if position != start:
            self._counters.set_value(self.position_id, position)
        return handled
