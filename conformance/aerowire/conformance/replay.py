"""Replays captured streams against a live driver: the harness plays one end, the driver the other, a bad network lies between.

The oracle is the stream's content: every frame or message of the capture, once, in order and unchanged, whatever the impairment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Capture:
    """What a file holds: its streams, how many datagrams there are and how many belong to no sender, and whether the file goes on."""

    streams: Sequence[CapturedStream]
    datagrams: int
    skipped: int
    is_cut: bool


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
    capture = read_capture(path, limit)
    outcome = ReplayOutcome(path.name, capture.datagrams, capture.skipped, impairment or Impairment(), role)
    with ExitStack() as benches:

        def next_bench(number: int) -> Bench:
            benches.close()
            return benches.enter_context(Bench(peer, f"replay:{outcome.impairment.seed}:{number}"))

        replay_streams(next_bench, capture, outcome, is_paced=is_paced, progress=progress)
    return outcome


def read_capture(path: Path, limit: int | None = None) -> Capture:
    """Return the streams of a file, or of its first datagrams. Raises ReplayError, CaptureError, OSError."""
    datagrams = list(islice(read_datagrams(path), limit))
    streams, skipped = find_streams(datagrams)
    if not streams:
        raise ReplayError(f"{path}: no stream with a SETUP and data among {len(datagrams)} UDP datagrams")
    return Capture(streams, len(datagrams), skipped, limit is not None)


def replay_streams(
    bench_of: Callable[[int], Bench],
    capture: Capture,
    outcome: ReplayOutcome,
    *,
    is_paced: bool = False,
    progress: Progress | None = None,
) -> None:
    """Replay the streams of a capture one after the other, each on the bench that is made for its number; `outcome` takes what came."""
    for number, stream in enumerate(capture.streams):
        played = StreamOutcome(stream.session_id, stream.stream_id)
        outcome.streams.append(played)
        try:
            bench = bench_of(number)
            replay: SenderReplay | ReceiverReplay
            if outcome.role == "receiver":
                replay = ReceiverReplay(bench, stream, played, impairment=outcome.impairment, is_paced=is_paced, progress=progress)
            else:
                replay = SenderReplay(
                    bench,
                    stream,
                    played,
                    impairment=outcome.impairment,
                    sources=places_of(capture.streams, stream.stream_id),
                    is_cut=capture.is_cut,
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


def places_of(streams: Sequence[CapturedStream], stream_id: int) -> list[Address]:
    """Return where the sessions of a stream to a single place each went: with more places than one, its subscriber had many sources."""
    return list(dict.fromkeys(stream.destination for stream in streams if stream.stream_id == stream_id and len(stream.destinations) == 1))
