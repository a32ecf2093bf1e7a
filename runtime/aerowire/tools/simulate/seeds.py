"""Runs of seeds, in this process or side by side, each once more every so often to see that it is the same world."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING

from aerowire.base.errors import ConfigurationError
from aerowire.base.version import VERSION
from aerowire.tools.simulate.ledger import FAILED, PASSED, RAISED, Entry

if TYPE_CHECKING:
    from aerowire.simulation.scenarios.plan import Plan, Scenario
    from aerowire.simulation.scenarios.run import Outcome, Run


def scenario_of(name: str) -> Scenario:
    """Return a scenario by its name, or a user's own as MODULE:OBJECT. Raises ConfigurationError."""
    from aerowire.simulation.scenarios.catalogue import SCENARIOS
    from aerowire.simulation.scenarios.plan import Scenario

    if ":" not in name:
        if name not in SCENARIOS:
            hint = "or MODULE:OBJECT for one of your own"
            raise ConfigurationError("no such scenario", where=name, expected=", ".join(SCENARIOS), hint=hint)
        return SCENARIOS[name]
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError("the scenario cannot be loaded", where=name, actual=error) from None
    if not isinstance(found, Scenario):
        raise ConfigurationError("not a scenario", where=name, expected="a Scenario", actual=type(found).__name__)
    return found


def execute(plan: Plan, make: Callable[[Plan], Run] | None = None) -> Outcome:
    """Run a plan."""
    from aerowire.simulation.scenarios.run import Run

    return (make or Run)(plan).execute()


def run_seed(name: str, seed: int, *, twice: bool = False) -> tuple[Entry, dict[str, list[str]]]:
    """Run a seed; return its entry, and the last events of each host. What a scenario or checker raises is an outcome too."""
    try:
        outcome = execute(scenario_of(name).plan(seed))
        told = outcome.failure or ""
        if twice and (again := execute(outcome.plan)).digest != outcome.digest:
            told = f"the same seed made another world: digest {outcome.digest:016x} after {outcome.steps} steps"
            told += f", then {again.digest:016x} after {again.steps}"
    except Exception as error:
        return _raised(name, seed, error), {}
    entry = Entry(
        name,
        seed,
        VERSION,
        FAILED if told else PASSED,
        outcome.steps,
        outcome.simulated_ns / 1e9,
        outcome.packets,
        outcome.messages,
        f"{outcome.digest:016x}",
        told,
    )
    return entry, outcome.events


def _raised(name: str, seed: int, error: BaseException) -> Entry:
    place = traceback.extract_tb(error.__traceback__)[-1]
    told = f"{type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
    return Entry(name, seed, VERSION, RAISED, 0, 0.0, 0, 0, "", told)


def run_seeds(
    tasks: Iterator[tuple[str, int, bool]], jobs: int, is_over: Callable[[], bool]
) -> Iterator[tuple[Entry, dict[str, list[str]]]]:
    """Yield what each task (scenario, seed, whether to run it twice) gave, as they end; begin no more once `is_over`."""
    if jobs == 1:
        for name, seed, twice in tasks:
            if is_over():
                return
            yield run_seed(name, seed, twice=twice)
        return
    with ProcessPoolExecutor(jobs) as pool:
        running: set[Future[tuple[Entry, dict[str, list[str]]]]] = set()
        try:
            while True:
                while len(running) < 2 * jobs and not is_over() and (task := next(tasks, None)) is not None:
                    running.add(pool.submit(run_seed, task[0], task[1], twice=task[2]))
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        finally:
            for future in running:
                future.cancel()
