"""The streams of one capture, read in this process: a few bytes of each frame are kept, however long the capture is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from aerowire.pcap.analysis.columns import SENT, PathName, Place, endpoint
from aerowire.pcap.analysis.gathering import Gathering
from aerowire.pcap.analysis.numbers import numbered
from aerowire.pcap.analysis.partial import Partial
from aerowire.pcap.analysis.parts import from_bytes, to_bytes
from aerowire.pcap.analysis.reconciling import lay_out_whole, reconcile
from aerowire.pcap.analysis.stream import Stream
from aerowire.pcap.analysis.summarising import summarise_part
from aerowire.pcap.capture import Capture

UNPACKED_MAX = 1 << 20  # frames and runs of all streams, some 200 bytes each


@dataclass(slots=True)
class _Kept:
    """What is kept of a stream: the summaries of its parts, in the order of the capture, those of long ago packed."""

    packed: list[bytes] = field(default_factory=list)
    parts: list[Partial] = field(default_factory=list)
    path_names: set[PathName] = field(default_factory=set)
    frame_count: int = 0
    appearance: Place | None = None  # of the first frame that its sender sent

    def add(self, partial: Partial) -> None:
        self.parts.append(partial)
        self.path_names.update(partial.frames.path_names)
        self.frame_count += partial.frame_count
        if self.appearance is None and partial.frames.of_type(*SENT).any():
            self.appearance = partial.frames.appearance

    def pack(self) -> None:
        self.packed += map(to_bytes, self.parts)
        self.parts = []

    def joined(self) -> Partial:
        return Partial.joined([*map(from_bytes, self.packed), *self.parts])

    def of_links(self, links: set[tuple[str, str]]) -> _Kept:
        """Return the same of what came over links that count.

        Frames of others are only there where the end of the capture told which do.
        """
        if all(name[:2] in links for name in self.path_names):
            return self
        frames, out = self.joined().expanded(), _Kept()
        counted = np.array([name[:2] in links for name in frames.path_names], dtype=bool)[frames.paths]
        if counted.any():
            out.add(Partial.whole(frames.take(counted)))
        return out


class CaptureStreams:
    """What there is to know of a capture's streams, after one pass over it.

    `counts` are the frames of each (type, dropped), those that name no stream among them.
    """

    def __init__(self, capture: Capture, *, packet_index: bool = False) -> None:
        """packet_index: the streams' frames need to tell theirs.  Raises CaptureError for what is no capture."""
        gathering = Gathering()
        kept: dict[tuple[int, int], _Kept] = {}
        rows = 0
        for frames in gathering.frames(numbered(capture.selections(), packet_index=packet_index)):
            partial = summarise_part(frames)
            kept.setdefault((int(frames["session_id"][0]), int(frames["stream_id"][0])), _Kept()).add(partial)
            rows += len(partial.frames)
            if rows > UNPACKED_MAX:
                for one in kept.values():
                    one.pack()
                rows = 0
        self.counts: Counter[tuple[str, bool]] = gathering.counts(capture.counted)
        links = {(endpoint(*source), endpoint(*destination)) for source, destination in capture.links}
        counting = [one.of_links(links) for one in kept.values()]
        found = [(one.appearance, one) for one in counting if one.appearance is not None]
        self._kept = [one for _, one in sorted(found, key=lambda item: item[0])]

    @property
    def frame_counts(self) -> list[int]:
        """How many frames each stream has."""
        return [one.frame_count for one in self._kept]

    def streams(self) -> Iterator[Stream]:
        """Yield each stream that DATA, PAD or SETUP frames name, in order of the first of these."""
        return (reconcile(one.joined()) for one in self._kept)

    def whole(self, number: int) -> Stream:
        """Return a stream with all its frames.  number: of those that `streams` yields."""
        return lay_out_whole(self._kept[number].joined())
