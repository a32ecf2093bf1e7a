"""Runs cases on several drivers of one kind at once, a process of the harness beside each.

A case has its driver for itself; the cases that need the same options follow each other on one.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from aerowire.conformance.catalogue import select
from aerowire.conformance.model import Case, Deviation, Result, Verdict
from aerowire.conformance.peers.base import Peer, PeerError, started
from aerowire.conformance.runner import Runner, conclude
from aerowire.conformance.selection import Recipe
from aerowire.process.interruption import Interruption

STOP_TIMEOUT_S = 15.0


def run_in_parallel(
    peer: Peer,
    cases: Sequence[Case],
    *,
    seed: int,
    jobs: int,
    recipes: Sequence[Recipe] = (),
    on_start: Callable[[Case], None] | None = None,
    on_result: Callable[[Result], None] | None = None,
) -> list[Result]:
    """Run cases on up to `jobs` drivers like `peer`, which itself is not started; return the results in the order that was given.

    Cases that are not the catalogue's are made by `recipes`.

    Raises PeerError when a driver cannot be started.
    """
    tasks = tasks_of(cases)
    context = multiprocessing.get_context("spawn")
    workers: dict[Connection, BaseProcess] = {}
    try:
        for _ in range(min(jobs, len(tasks))):
            ours, theirs = context.Pipe()
            process: BaseProcess = context.Process(target=work, args=(theirs, peer.variant({}), seed, tuple(recipes)))
            process.start()
            theirs.close()
            workers[ours] = process
        found = _Gathering(cases, tasks, on_start, on_result).gather(list(workers))
    except BaseException:
        for each in workers.values():
            each.terminate()
        raise
    finally:
        _join(workers)
    return [found[case.id] for case in cases]


def tasks_of(cases: Sequence[Case]) -> deque[list[str]]:
    """Return what is run without a break on one driver, as ids: first the cases of each set of options, then each other one alone."""
    sets: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for case in cases:
        sets.setdefault(tuple(sorted(case.properties.items())), []).append(case.id)
    alone = sets.pop((), [])
    return deque([*sorted(sets.values(), key=len, reverse=True), *([each] for each in alone)])


class _Gathering:
    """Hands tasks to workers and takes their results."""

    def __init__(
        self,
        cases: Sequence[Case],
        tasks: deque[list[str]],
        on_start: Callable[[Case], None] | None,
        on_result: Callable[[Result], None] | None,
    ) -> None:
        self._cases = {case.id: case for case in cases}
        self._tasks = tasks
        self._on_start = on_start
        self._on_result = on_result
        self._under_way: dict[Connection, list[str]] = {}
        self._found: dict[str, Result] = {}

    def gather(self, workers: list[Connection]) -> dict[str, Result]:
        """Return the result of every case by its id."""
        while workers:
            for ready in wait(workers):
                assert isinstance(ready, Connection)
                try:
                    goes_on = self._on_message(ready, ready.recv())
                except (EOFError, ConnectionError):
                    workers.remove(ready)
                    self._lost(self._under_way.pop(ready, []), "the harness's process ended")
                    continue
                if not goes_on:
                    workers.remove(ready)
        self._lost([case_id for task in self._tasks for case_id in task], "no process of the harness is left")
        return self._found

    def _on_message(self, worker: Connection, message: tuple[object, ...]) -> bool:
        """Take in what a worker says; return whether it goes on."""
        match message:
            case ("idle",):
                if not self._tasks:
                    worker.send(None)
                    return False
                self._under_way[worker] = task = self._tasks.popleft()
                worker.send(list(task))
            case ("begun", str(case_id)):
                if self._on_start is not None:
                    self._on_start(self._cases[case_id])
            case ("ended", str(case_id), dict(values)):
                self._under_way[worker].remove(case_id)
                self._keep(Result(self._cases[case_id], **values))
            case ("unable", str(reason)):
                raise PeerError(reason)
        return True

    def _lost(self, case_ids: list[str], reason: str) -> None:
        for case_id in case_ids:
            result = Result(self._cases[case_id], Verdict.INCONCLUSIVE)
            conclude(result, Verdict.INCONCLUSIVE, Deviation(result.case.expected, reason))
            self._keep(result)

    def _keep(self, result: Result) -> None:
        self._found[result.case.id] = result
        if self._on_result is not None:
            self._on_result(result)


def _join(workers: dict[Connection, BaseProcess]) -> None:
    """Wait until each worker has stopped its driver; one that does not come to an end is ended."""
    for connection, process in workers.items():
        connection.close()
        process.join(STOP_TIMEOUT_S)
        if process.is_alive():
            process.kill()
            process.join()


def work(parent: Connection, peer: Peer, seed: int, recipes: Sequence[Recipe] = ()) -> None:
    """Be a worker: start a driver and run on it what the parent sends, until it sends None or is gone."""
    with Interruption(is_last=True) as interruption:
        try:
            interruption.release()
            _serve(parent, peer, seed, {case.id: case for case in (recipe() for recipe in recipes)})
        except (KeyboardInterrupt, EOFError, BrokenPipeError):
            return  # the parent has said it, or is gone


def _serve(parent: Connection, peer: Peer, seed: int, played: dict[str, Case]) -> None:
    def tell(result: Result) -> None:
        values = {
            name: getattr(result, name)
            for name in ("verdict", "expected", "actual", "attempts", "duration_s", "notes", "exchanges", "exchanges_left")
        }
        parent.send(("ended", result.case.id, values))

    try:
        with started(peer):
            while True:
                parent.send(("idle",))
                task = parent.recv()
                if task is None:
                    return
                runner = Runner(peer, seed=seed, on_start=lambda case: parent.send(("begun", case.id)), on_result=tell)
                runner.run([played[each] if each in played else select(each)[0] for each in task])
    except (PeerError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        parent.send(("unable", str(error)))
