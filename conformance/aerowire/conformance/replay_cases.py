"""Captures as cases: what `conformance run --pcap` plays beside the catalogue, in both roles."""

from __future__ import annotations

from pathlib import Path

from aerowire.conformance.harness.bench import Bench
from aerowire.conformance.impairment import Impairment
from aerowire.conformance.model import Case, Finding, NotSent, Verdict
from aerowire.conformance.replay import read_capture, replay_streams
from aerowire.conformance.replay_outcome import ReplayOutcome

# The first letter of their ids, as the groups of the catalogue have one.
GROUP = "P"
ROLES = ("sender", "receiver")
REQUIREMENTS = {
    "sender": "What the captured senders said is delivered once, in order and unchanged.",
    "receiver": "What the captured senders said is sent to every receiver once it asks, in order and unchanged.",
}


def load(path: Path, role: str, impairment: Impairment) -> Case:
    """Return the replay of a capture in one role as a case. Raises ReplayError, CaptureError, OSError."""
    capture = read_capture(path)

    def run(bench: Bench) -> None:
        outcome = ReplayOutcome(path.name, capture.datagrams, capture.skipped, impairment, role)
        replay_streams(lambda _: bench, capture, outcome)
        judge(outcome)

    return Case(
        f"{GROUP}-{path.stem}-as-{role}",
        requirement=REQUIREMENTS[role],
        source=path.name,
        stimulus=f"{len(capture.streams)} streams of {path.name}, the harness as {role}; impairment {impairment}",
        expected="the content of each stream; gaps only where the capture has them",
        run=run,
    )


def judge(outcome: ReplayOutcome) -> None:
    """Raise what the streams came to. Raises Finding, NotSent."""
    expected = "the content of each stream"
    for stream in outcome.streams:
        what = f"session {stream.session_id} stream {stream.stream_id}: {stream.finding or stream.inconclusive}"
        if stream.verdict is Verdict.FAIL:
            raise Finding(expected, what)
        if stream.verdict is Verdict.INCONCLUSIVE:
            raise NotSent(expected, what)
