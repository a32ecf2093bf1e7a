"""The streams of one capture, read in this process: bounded memory for frames that came as they should, however long the capture is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from aerowire.pcap.analysis.columns import SENT, endpoint
from aerowire.pcap.analysis.condensing import condense
from aerowire.pcap.analysis.gathering import Gathering
from aerowire.pcap.analysis.partial import Partial
from aerowire.pcap.analysis.settling import settle
from aerowire.pcap.capture import Capture
from aerowire.pcap.streams import Stream, lay_out


class CaptureStreams:
    """What there is to know of a capture's streams, after one pass over it.

    `counts` are the frames of each (type, dropped), those that name no stream among them.
    """

    def __init__(self, capture: Capture, *, packet_index: bool = False) -> None:
        """packet_index: the streams' frames need to tell theirs.  Raises CaptureError for what is no capture."""
        gathering = Gathering(packet_index=packet_index)
        parts: dict[tuple[int, int], list[Partial]] = {}
        for frames in gathering.frames(capture.selections()):
            parts.setdefault((int(frames["session_id"][0]), int(frames["stream_id"][0])), []).append(condense(frames))
        self.counts: Counter[tuple[str, bool]] = gathering.counts(capture.counted)
        links = {(endpoint(*source), endpoint(*destination)) for source, destination in capture.links}
        joined = (_of_links(Partial.joined(some), links) for some in parts.values())
        found = [one for one in joined if one is not None and one.frames.of_type(*SENT).any()]
        self._partials = sorted(found, key=lambda one: one.frames.appearance)

    @property
    def frame_counts(self) -> list[int]:
        """How many frames each stream has."""
        return [one.frame_count for one in self._partials]

    def streams(self) -> Iterator[Stream]:
        """Yield each stream that DATA, PAD or SETUP frames name, in order of the first of these."""
        return map(settle, self._partials)

    def whole(self, number: int) -> Stream:
        """Return a stream with all its frames.  number: of those that `streams` yields."""
        return lay_out(Partial.whole(self._partials[number].expanded()))


def _of_links(partial: Partial, links: set[tuple[str, str]]) -> Partial | None:
    """Return what of a stream's frames came over links that count; None for nothing.

    Frames of others are only there where the end of the capture told which count.
    """
    frames = partial.frames
    if all(name[:2] in links for name in frames.path_names):
        return partial
    frames = partial.expanded()
    counted = np.array([name[:2] in links for name in frames.path_names], dtype=bool)[frames.paths]
    return Partial.whole(frames.take(counted)) if counted.any() else None
