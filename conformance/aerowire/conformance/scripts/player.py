"""Plays scripts: a script becomes a case, its lines what the case does."""

from __future__ import annotations

import struct
import time
from pathlib import Path

from aerowire.codecs.flyweights.transport import TERM_LENGTH_MIN
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.options import OPTIONS
from aerowire.conformance.harness.bench import CONDUCTOR_MS, TIMER_TOLERANCE_MS, Bench, Sink, Source
from aerowire.conformance.harness.client import Image
from aerowire.conformance.harness.frames import StreamFrames
from aerowire.conformance.model import Case, Deviation, Finding, TimingMiss
from aerowire.conformance.scripts.frames import matches, to_bytes
from aerowire.conformance.scripts.language import DATAGRAM_MAX, Script, ScriptError, Step, read_script

GROUP = "X"


def load(path: Path) -> Case:
    """Return a script as a case, called X and its file's name. Raises ScriptError, OSError."""
    script = read_script(path)
    _check_frames(script)
    told = "; ".join(str(frame) for step in script.steps if step.what == "send" for frame in step.frames)
    return Case(
        f"{GROUP}-{path.stem}",
        requirement=script.headings["requirement"],
        source=script.headings.get("source", path.name),
        stimulus=told or f"{script.side} {script.params}".strip(),
        expected=script.headings.get("expected", "every line of the script, within its time"),
        run=lambda bench: Player(bench, script).play(),
        since=script.headings.get("since", ""),
        properties={OPTIONS[name].property: value for name, value in script.options.items()},
    )


def _check_frames(script: Script) -> None:
    """Raise ScriptError for a frame that has no bytes: a value is too large for its field, or there are more than a datagram holds."""
    stream = StreamFrames(0, 0, initial_term_id=0, term_length=TERM_LENGTH_MIN)
    for step in script.steps:
        if step.what != "send":
            continue
        place = f"{script.path}:{step.line}:1"
        try:
            length = sum(len(to_bytes(frame, stream, 0)) for frame in step.frames)
        except (struct.error, OverflowError, ValueError) as error:
            raise ScriptError(f"{place}: expected values that fit their fields; got {error}") from None
        if length > DATAGRAM_MAX:
            raise ScriptError(f"{place}: expected a datagram of at most {DATAGRAM_MAX} bytes; got {length}")


class Player:
    """One playing of one script."""

    def __init__(self, bench: Bench, script: Script) -> None:
        self._bench = bench
        self._script = script
        self._source: Source | None = None
        self._sink: Sink | None = None
        if script.side == "subscribe":
            self._source = bench.source(bench.subscribe(script.params))
            self._end: Source | Sink = self._source
        else:
            self._end = self._sink = bench.publish(script.params)
        self._receiver_id = self._sink.receiver_id if self._sink is not None else 0
        self._counts = bench.counts(*SystemCounter)
        self._image: Image | None = None
        self._seen = 0
        # When the line before was done: what a line's time counts from.
        self._since_ns = time.monotonic_ns()

    def play(self) -> None:
        """Do each line in turn. Raises Deviation with the line that was not kept."""
        for step in self._script.steps:
            try:
                getattr(self, f"_{step.what}")(step)
            except Deviation as deviation:
                deviation.expected = f"{self._script.path.name}:{step.line}: {deviation.expected}"
                raise

    # -- the lines ----------------------------------------------------------------------------------------------------

    def _send(self, step: Step) -> None:
        self._wait(step)
        self._since_ns = self._end.send(b"".join(to_bytes(frame, self._end.frames, self._receiver_id) for frame in step.frames))

    def _expect(self, step: Step) -> None:
        wanted = step.frames[0]
        arrival = self._end.wire.expect(
            lambda frame: matches(frame, wanted, self._end.frames),
            str(wanted),
            within_ms=step.within_ms,
            start=self._seen,
            since_ns=self._since_ns,
        )
        self._seen = self._end.wire.arrivals.index(arrival, self._seen) + 1
        length = wanted.fields.get("datagram", len(arrival.payload))
        if length != len(arrival.payload):
            raise Finding(f"a datagram of {length!r} bytes", f"{len(arrival.payload)} bytes")
        self._since_ns = max(arrival.time_ns, self._since_ns)

    def _nothing(self, step: Step) -> None:
        wanted = step.frames[0]
        self._end.wire.expect_none(
            lambda frame: matches(frame, wanted, self._end.frames), str(wanted), for_ms=step.within_ms, start=self._seen
        )
        self._seen = self._end.wire.mark()
        self._since_ns = time.monotonic_ns()

    def _act(self, step: Step) -> None:
        self._wait(step)
        client = self._bench.client
        if step.word == "offer":
            self._publishing(step).publication.append(" ".join(step.arguments).encode())
        elif step.word == "close":
            client.remove_publication(self._publishing(step).publication)
        else:
            client.remove_subscription(self._subscribing(step).subscription.registration_id)
        self._since_ns = time.monotonic_ns()

    def _state(self, step: Step) -> None:
        getattr(self, f"_state_{step.word.replace('-', '_')}")(step)
        self._since_ns = time.monotonic_ns()

    # -- states -------------------------------------------------------------------------------------------------------

    def _state_image(self, step: Step) -> None:
        self._image = self._subscribing(step).expect_image(within_ms=step.within_ms)

    def _state_no_image(self, step: Step) -> None:
        source = self._subscribing(step)
        gone = self._bench.client.unavailable

        def has_none() -> bool:
            return all(image.correlation_id in gone for image in source.images())

        self._bench.expect(has_none, "no image", within_ms=step.within_ms, actual=lambda: "one")

    def _state_connected(self, step: Step) -> None:
        self._bench.expect(self._publishing(step).is_connected, "the publication to be connected", within_ms=step.within_ms)

    def _state_not_connected(self, step: Step) -> None:
        sink = self._publishing(step)
        self._bench.expect(lambda: not sink.is_connected(), "the publication not to be connected", within_ms=step.within_ms)

    def _state_delivered(self, step: Step) -> None:
        source = self._subscribing(step)
        image = self._image or source.expect_image()
        source.expect_payloads(image, [text.encode() for text in step.arguments], within_ms=step.within_ms)

    def _state_counter(self, step: Step) -> None:
        counter = SystemCounter[step.arguments[0]]
        self._bench.expect_count(counter, self._counts[counter] + int(step.arguments[1]), within_ms=step.within_ms)

    # -- helpers ------------------------------------------------------------------------------------------------------

    def _wait(self, step: Step) -> None:
        """Let the step's time pass from the line before; what comes meanwhile is kept."""
        due_ns = self._since_ns + int(step.within_ms * 1e6)
        left_ms = (due_ns - time.monotonic_ns()) / 1e6
        if left_ms > 0:
            self._end.wire.collect(left_ms)
        elif step.within_ms and -left_ms > TIMER_TOLERANCE_MS + CONDUCTOR_MS:
            raise TimingMiss(f"to go on {step.within_ms:g} ms after the line before", f"the harness was {-left_ms:.0f} ms late")

    def _subscribing(self, step: Step) -> Source:
        if self._source is None:
            raise Finding(f"a script with `subscribe` for `{step.word}`", "one with `publish`")
        return self._source

    def _publishing(self, step: Step) -> Sink:
        if self._sink is None:
            raise Finding(f"a script with `publish` for `{step.word}`", "one with `subscribe`")
        return self._sink
