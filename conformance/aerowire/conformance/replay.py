"""Replays captured streams against a live driver: the harness plays one end, the driver the other, a bad network lies between.

The oracle is the stream's content: every frame or message of the capture, once, in order and unchanged, whatever the impairment.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from aerowire.conformance.errors import ConformanceError
from aerowire.conformance.harness.bench import Bench
from aerowire.conformance.harness.capture import Address, read_datagrams
from aerowire.conformance.impairment import Impairment
from aerowire.conformance.model import Deviation, NotSent
from aerowire.conformance.peers.base import Peer
from aerowire.conformance.replay_outcome import Progress, ReplayOutcome, StreamOutcome
from aerowire.conformance.replay_receiver import ReceiverReplay
from aerowire.conformance.replay_sender import SenderReplay
from aerowire.conformance.streams import CapturedStream, find_streams


class ReplayError(ConformanceError):
    """The capture holds nothing that can be replayed."""


def replay_file(
    peer: Peer,
    path: Path,
    *,
    role: str = "sender",
    impairment: Impairment | None = None,
    limit: int | None = None,
    is_paced: bool = False,
    progress: Progress | None = None,
) -> ReplayOutcome:
    """Replay every stream of a capture, one after the other, to a peer that has been started.

    The harness plays the `role`: the captured sender to subscriptions of the driver, or the receivers to its publication.
    Raises ReplayError when the capture holds no stream with its SETUP, CaptureError when it cannot be read.
    """
    datagrams = list(islice(read_datagrams(path), limit))
    streams, skipped = find_streams(datagrams)
    if not streams:
        raise ReplayError(f"{path}: no stream with a SETUP and data among {len(datagrams)} UDP datagrams")
    outcome = ReplayOutcome(path.name, len(datagrams), skipped, impairment or Impairment(), role)
    for number, stream in enumerate(streams):
        played = StreamOutcome(stream.session_id, stream.stream_id)
        outcome.streams.append(played)
        try:
            with Bench(peer, f"replay:{outcome.impairment.seed}:{number}") as bench:
                replay: SenderReplay | ReceiverReplay
                if role == "receiver":
                    replay = ReceiverReplay(bench, stream, played, impairment=outcome.impairment, is_paced=is_paced, progress=progress)
                else:
                    is_cut = limit is not None
                    replay = SenderReplay(
                        bench,
                        stream,
                        played,
                        impairment=outcome.impairment,
                        sources=places_of(streams, stream.stream_id),
                        is_cut=is_cut,
                        is_paced=is_paced,
                        progress=progress,
                    )
                replay.run()
        except NotSent as deviation:
            played.inconclusive = str(deviation)
        except Deviation as deviation:
            played.finding = str(deviation)
    if progress is not None:
        progress("")
    return outcome


def places_of(streams: Sequence[CapturedStream], stream_id: int) -> list[Address]:
    """Return where the sessions of a stream to a single place each went: with more places than one, its subscriber had many sources."""
    return list(dict.fromkeys(stream.destination for stream in streams if stream.stream_id == stream_id and len(stream.destinations) == 1))
