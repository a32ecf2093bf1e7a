"""Runs cases against a peer and comes to verdicts: retries what was late, tells a late driver from a starved one."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Sequence

from aerowire.codecs.tables.errors import ErrorCode
from aerowire.conformance.harness.bench import Bench
from aerowire.conformance.harness.client import CommandRefused
from aerowire.conformance.harness.cnc import DriverUnreachableError
from aerowire.conformance.harness.load import LoadGauge
from aerowire.conformance.model import (
    MACHINE_LACKS,
    MACHINE_LOADED,
    Case,
    Deviation,
    Finding,
    MachineLacks,
    NotSent,
    NotSupported,
    Result,
    TimingMiss,
    Verdict,
    is_older,
)
from aerowire.conformance.peers.base import Peer, PeerError

# A miss on a quiet machine seldom repeats by chance; a starved machine gets a little time between attempts.
ATTEMPTS = 4
RETRY_PAUSE_S = 0.3
# Enough of an error log entry to recognise it; Java puts whole stack traces there.
ERROR_TEXT_MAX = 300

Listener = Callable[[Result], None]


class Runner:
    """One run of some cases, one after the other, on a peer that has been started.

    Cases share system counters, so they never run at the same time. Those that need other properties come last, each set of properties
    with a driver of its own, which ends with the last of its cases.
    """

    def __init__(
        self,
        peer: Peer,
        *,
        seed: int,
        attempts: int = ATTEMPTS,
        on_start: Callable[[Case], None] | None = None,
        on_result: Listener | None = None,
    ) -> None:
        self._attempts = attempts
        self._given = self._peer = peer
        self._seed = seed
        self._on_start = on_start
        self._on_result = on_result
        self._gauge = LoadGauge()

    def run(self, cases: Sequence[Case]) -> list[Result]:
        """Run the cases; return their results in the order that was given."""
        self._gauge.start()
        results: dict[int, Result] = {}
        try:
            for place, case in sorted(enumerate(cases), key=lambda one: sorted(one[1].properties.items())):
                if self._on_start is not None:
                    self._on_start(case)
                results[place] = result = self.run_case(case)
                if self._on_result is not None:
                    self._on_result(result)
        finally:
            self._gauge.stop()
            self._use(self._given)
        return [results[place] for place in range(len(cases))]

    def run_case(self, case: Case) -> Result:
        """Run one case until it has a verdict."""
        started = time.monotonic()
        result = Result(case, Verdict.INCONCLUSIVE)
        try:
            self._prepare(case)
        except PeerError as error:
            verdict = Verdict.UNSUPPORTED if self._peer is self._given else Verdict.FAIL
            conclude(result, verdict, Deviation(f"a driver started with {case.properties}", str(error)))
            return result
        for attempt in range(1, self._attempts + 1):
            result.attempts = attempt
            if self._attempt(case, attempt, result):
                break
            if attempt < self._attempts:
                time.sleep(RETRY_PAUSE_S)
        if result.verdict is Verdict.FAIL and is_older(self._peer.release, case.since):
            result.verdict = Verdict.UNSUPPORTED
            result.notes.append(f"the rule holds since {case.since}; this driver is {self._peer.release}")
        result.duration_s = time.monotonic() - started
        return result

    def _prepare(self, case: Case) -> None:
        """Have a driver with the case's properties: the one that was given, the one that runs, or a new one."""
        held = {**self._given.properties, **case.properties}
        if held == self._given.properties:
            self._use(self._given)
        elif held != self._peer.properties:
            variant = self._given.variant(case.properties)
            self._use(variant)
            variant.start()
            variant.await_ready()

    def _use(self, peer: Peer) -> None:
        """Work with another driver; stop the one before, unless it is the caller's."""
        if self._peer is not self._given and self._peer is not peer:
            self._peer.stop()
        self._peer = peer

    def _attempt(self, case: Case, attempt: int, result: Result) -> bool:
        """Try a case once; return whether the verdict in `result` is final."""
        mark = self._gauge.mark()
        try:
            with Bench(self._peer, f"{self._seed}:{case.id}:{attempt}") as bench:
                try:
                    self._run_noting_errors(case, bench, result)
                finally:
                    result.exchanges, result.exchanges_left = bench.exchanges()
        except Deviation as deviation:
            return self._on_deviation(result, deviation, self._gauge.reason_since(mark))
        except DriverUnreachableError as error:
            return self._on_unreachable(case, result, str(error))
        except Exception:
            result.notes.append(traceback.format_exc())
            conclude(result, Verdict.INCONCLUSIVE, Deviation(case.expected, "the harness itself failed; see the notes"))
            return True
        if not self._peer.is_alive():
            return self._on_unreachable(case, result, "it passed the case, but its process is gone")
        if result.actual:
            result.notes.append(f"attempt {attempt - 1}: {result.actual}")
        result.expected = result.actual = ""
        result.verdict = Verdict.PASS
        return True

    def _run_noting_errors(self, case: Case, bench: Bench, result: Result) -> None:
        """Run a case; when it ends in a deviation, note what the driver's error log gained by it."""
        before = set(bench.client.driver_errors())
        try:
            case.run(bench)
        except Deviation:
            for text in bench.client.driver_errors():
                if text not in before:
                    result.notes.append(f"driver's error log: {text[:ERROR_TEXT_MAX]}")
            raise

    def _on_deviation(self, result: Result, deviation: Deviation, load: str | None) -> bool:
        """Judge a deviation; return whether the verdict is final.

        On a quiet machine a wrong reaction is final. A late one, a port that was taken, and anything on a starved machine are tried again.
        """
        if load is not None:
            result.notes.append(f"{MACHINE_LOADED}: {load}")
        if isinstance(deviation, MachineLacks):
            result.notes.append(MACHINE_LACKS)
        is_refusal = isinstance(deviation, CommandRefused) and not deviation.is_address_in_use
        if isinstance(deviation, NotSupported) or (isinstance(deviation, CommandRefused) and deviation.code == ErrorCode.NOT_SUPPORTED):
            verdict = Verdict.UNSUPPORTED
        elif isinstance(deviation, NotSent) or (isinstance(deviation, TimingMiss) and load is not None):
            verdict = Verdict.INCONCLUSIVE
        else:
            verdict = Verdict.FAIL
        conclude(result, verdict, deviation)
        return is_refusal or verdict is Verdict.UNSUPPORTED or (isinstance(deviation, Finding) and load is None)

    def _on_unreachable(self, case: Case, result: Result, what: str) -> bool:
        conclude(result, Verdict.FAIL, Deviation(case.expected, what))
        if not self._peer.is_alive():
            result.actual = f"the driver ended: {what}"
            result.notes.append(self._peer.diagnostics())
            self._peer.restart()
        return True


def conclude(result: Result, verdict: Verdict, deviation: Deviation) -> None:
    """Write a verdict and its reasons into `result`."""
    result.verdict = verdict
    result.expected = deviation.expected
    result.actual = deviation.actual
