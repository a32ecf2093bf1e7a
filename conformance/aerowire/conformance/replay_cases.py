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
        check_outcome(outcome)

    return Case(
        f"{GROUP}-{path.stem}-as-{role}",
        requirement=REQUIREMENTS[role],
        source=path.name,
        stimulus=f"{len(capture.streams)} streams of {path.name}, the harness as {role}; impairment {impairment}",
        expected="the content of each stream; gaps only where the capture has them",
        run=run,
    )


def check_outcome(outcome: ReplayOutcome) -> None:
    """Raise the worst that the streams came to, as `conformance replay` reports it. Raises Finding, NotSent."""
    for stream in outcome.streams:
        if stream.verdict is outcome.verdict is not Verdict.PASS:
            kind = Finding if stream.verdict is Verdict.FAIL else NotSent
            told = stream.finding or stream.inconclusive
            raise kind("the content of each stream", f"session {stream.session_id} stream {stream.stream_id}: {told}")
