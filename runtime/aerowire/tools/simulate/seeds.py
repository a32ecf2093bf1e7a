"""Runs of seeds, some of them twice to see that it is the same world, and of what an exception is among their outcomes."""

from __future__ import annotations

import gc
import importlib
import sys
import traceback
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.base.errors import ConfigurationError
from aerowire.tools.simulate.code_version import code_version
from aerowire.tools.simulate.ledger import FAILED, LOST, PASSED, RAISED, Entry

if TYPE_CHECKING:
    from typing import TypeAlias

    from aerowire.simulation.scenarios.archives.run import ArchiveRun
    from aerowire.simulation.scenarios.catalogue import AnyPlan, AnyScenario
    from aerowire.simulation.scenarios.clusters.run import ClusterRun
    from aerowire.simulation.scenarios.outcome import Outcome
    from aerowire.simulation.scenarios.run import Run

    AnyRun: TypeAlias = Run | ArchiveRun | ClusterRun

Task = tuple[str, int, bool]
"""A scenario, a seed, and whether to run it twice."""
Result = tuple[Entry, dict[str, list[str]]]
"""The entry of a seed, and the last events of each host."""


def scenario_of(name: str) -> AnyScenario:
    """Return a scenario by its name, or a user's own as MODULE:OBJECT, in the working directory or installed. Raises ConfigurationError."""
    from aerowire.simulation.scenarios.catalogue import ALL_SCENARIOS, AnyScenario

    if ":" not in name:
        if name not in ALL_SCENARIOS:
            hint = "or MODULE:OBJECT for one of your own"
            raise ConfigurationError("no such scenario", where=name, expected=", ".join(ALL_SCENARIOS), hint=hint)
        return ALL_SCENARIOS[name]
    module, _, attribute = name.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")  # as for `python -m`
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (Exception, SystemExit) as error:  # whatever the module raises
        raise ConfigurationError("the scenario cannot be loaded", where=name, actual=told_of(error)) from None
    if not isinstance(found, AnyScenario):
        raise ConfigurationError("not a scenario", where=name, expected="a Scenario", actual=type(found).__name__)
    return found


class RunRaisedError(Exception):
    """A run that did not come to an end, by what a scenario, a checker or an application raised: in one line."""

    def __init__(self, told: str, events: dict[str, list[str]]) -> None:
        super().__init__(told)
        self.told = told
        self.events = events


def plan_of(name: str, seed: int) -> AnyPlan:
    """Draw the plan of a seed. Raises ConfigurationError for no scenario, RunRaisedError for what a user's own raises."""
    scenario = scenario_of(name)
    try:
        return scenario.plan(seed)
    except Exception as error:
        raise RunRaisedError(told_of(error), {}) from error


def run_of(plan: AnyPlan, *, stop_at: int | None = None, on_event: Callable[[str], None] | None = None) -> AnyRun:
    """Return the run of a plan, whose world is made; `stop_at` and `on_event` are as in Run."""
    from aerowire.simulation.scenarios.archives.plan import ArchivePlan
    from aerowire.simulation.scenarios.clusters.plan import ClusterPlan

    if isinstance(plan, ArchivePlan):
        from aerowire.simulation.scenarios.archives.run import ArchiveRun

        return ArchiveRun(plan, stop_at=stop_at, on_event=on_event)
    if isinstance(plan, ClusterPlan):
        from aerowire.simulation.scenarios.clusters.run import ClusterRun

        return ClusterRun(plan, stop_at=stop_at, on_event=on_event)
    from aerowire.simulation.scenarios.run import Run

    return Run(plan, stop_at=stop_at, on_event=on_event)


def execute(plan: AnyPlan, make: Callable[[AnyPlan], AnyRun] | None = None) -> Outcome:
    """Run a plan. Raises StoppedError, and RunRaisedError for all else but what interrupts the process."""
    from aerowire.simulation.scenarios.outcome import StoppedError

    run = (make or run_of)(plan)
    try:
        return run.execute()
    except StoppedError:
        raise
    except Exception as error:
        events = run.events
        run.close()
        raise RunRaisedError(told_of(error), events) from error


def fails(plan: AnyPlan) -> bool:
    """Run a plan; return whether a rule is broken, or something is raised."""
    try:
        return not execute(plan).is_well
    except RunRaisedError:
        return True


def run_seed(name: str, seed: int, *, twice: bool = False) -> Result:
    """Run a seed; return its entry, and the last events of each host. What a scenario or checker raises is an outcome too."""
    try:
        outcome = execute(plan_of(name, seed))
        told = outcome.failure or ""
        if twice and (again := _without_collector(outcome.plan)).digest != outcome.digest:
            told = f"the same seed made another world: digest {outcome.digest:016x} after {outcome.steps} steps"
            told += f", then {again.digest:016x} after {again.steps}"
    except RunRaisedError as error:
        return _without_end(name, seed, RAISED, error.told), error.events
    entry = Entry(
        name,
        seed,
        code_version(),
        FAILED if told else PASSED,
        outcome.steps,
        outcome.simulated_ns / 1e9,
        outcome.packets,
        outcome.messages,
        f"{outcome.digest:016x}",
        told,
    )
    return entry, outcome.events


def _without_collector(plan: AnyPlan) -> Outcome:
    """Run a plan; unreferenced objects live on until its end: that has to make no difference."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return execute(plan)
    finally:
        if was_enabled:
            gc.enable()


def lost_seed(task: Task, why: str) -> Result:
    """Return what is known of a seed whose process ended before it."""
    name, seed, _ = task
    return _without_end(name, seed, LOST, why), {}


def _without_end(name: str, seed: int, outcome: str, told: str) -> Entry:
    return Entry(name, seed, code_version(), outcome, 0, 0.0, 0, 0, "", told)


def run_seeds(tasks: Iterator[Task], jobs: int, is_over: Callable[[], bool]) -> Generator[Result, None, None]:
    """Yield the result of each task as they end; begin no more once `is_over`. Closing it ends what is under way."""
    if jobs == 1:
        for name, seed, twice in tasks:
            if is_over():
                return
            yield run_seed(name, seed, twice=twice)
        return
    from aerowire.tools.simulate.jobs import Jobs

    with Jobs(jobs) as processes:
        yield from processes.run(tasks, is_over)


def told_of(error: BaseException) -> str:
    """Return an exception in one line, and where it was raised unless that was here or by an import."""
    text = " ".join(str(error).split())
    place = traceback.extract_tb(error.__traceback__)[-1]
    if place.filename == __file__ or place.filename.startswith("<frozen importlib"):
        return text
    return f"{type(error).__name__}: {text} ({Path(place.filename).name}:{place.lineno})"
