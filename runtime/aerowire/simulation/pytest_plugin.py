"""A pytest plugin: a simulated world for each test that asks for one, its seeds on the command line, and how to repeat a failure.

pytest loads it wherever aerowire is installed. It imports no world before a test asks for one, and does nothing in tests that ask for none.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from aerowire.simulation.pytest_support import WorldRecord
    from aerowire.simulation.world import SimulatedWorld

DEFAULT_SEED = 0
SEED_MAX = (1 << 63) - 1
# Each seed is a test of its own, which pytest collects before it runs the first.
SEEDS_MAX = 100_000
MARKER = "simulation_seeds"
MARKER_LINE = f"{MARKER}(seeds): run the test in a simulated world of each seed, such as range(100), unless the command line names others"
_RECORD: pytest.StashKey[WorldRecord] = pytest.StashKey()
_HAS_FAILED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("aerowire", "simulated worlds")
    group.addoption("--simulation-seed", metavar="N", type=_seed, help="the seed of simulated worlds, in place of their markers'")
    group.addoption("--simulation-seeds", metavar="A-B", type=_seeds, help="run each test of a simulated world with the seeds from A to B")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", MARKER_LINE)
    if config.getoption("simulation_seed") is not None and config.getoption("simulation_seeds") is not None:
        raise pytest.UsageError("--simulation-seed and --simulation-seeds: expected one of them")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each seed, unless the test chooses its seeds by `parametrize` itself."""
    if "simulation_seed" in metafunc.fixturenames and not _is_parametrized(metafunc.definition):
        seeds = _seeds_of(metafunc)
        if seeds is not None:
            metafunc.parametrize("simulation_seed", seeds, ids=[f"seed-{seed}" for seed in seeds])


@pytest.fixture
def simulation_seed() -> int:
    """Return the seed of the test's world, for what the test draws itself."""
    return DEFAULT_SEED


@pytest.fixture
def simulated_world(request: pytest.FixtureRequest, simulation_seed: int) -> Iterator[SimulatedWorld]:
    """Yield a world that follows from the test's seed, and close it.

    After a test that passed all clients are closed, and the test fails if a driver keeps counters of theirs.
    """
    from aerowire.simulation.pytest_support import WorldRecord, end_clients
    from aerowire.simulation.world import SimulatedWorld

    with SimulatedWorld(seed=simulation_seed) as world:
        request.node.stash[_RECORD] = WorldRecord(world, simulation_seed)
        yield world
        if not request.node.stash.get(_HAS_FAILED, False) and (left := end_clients(world)):
            pytest.fail("all clients have ended, and drivers keep counters:\n" + "\n".join(left), pytrace=False)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, None]:
    """Add to the report of a failed test what its world was like, and the command that repeats it."""
    outcome = yield
    record = item.stash.get(_RECORD, None)
    if record is None:
        return
    report = outcome.get_result()
    if report.failed:
        import shlex

        item.stash[_HAS_FAILED] = True
        again = f"again: pytest {shlex.quote(item.nodeid)} --simulation-seed {record.seed}"
        report.sections.append(("simulated world", "\n".join([*record.lines(), again])))


def _is_parametrized(definition: pytest.Item) -> bool:
    for mark in definition.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs.get("argnames", ())
        if "simulation_seed" in (re.split(r"\s*,\s*", names.strip()) if isinstance(names, str) else names):
            return True
    return False


def _seeds_of(metafunc: pytest.Metafunc) -> Sequence[int] | None:
    """Return the seeds that the command line names, or else the test's marker; None without both."""
    config = metafunc.config
    if config.getoption("simulation_seed") is not None:
        return [config.getoption("simulation_seed")]
    if config.getoption("simulation_seeds") is not None:
        first, last = config.getoption("simulation_seeds")
        return range(first, last + 1)
    marker = metafunc.definition.get_closest_marker(MARKER)
    if marker is None:
        return None
    try:
        (given,) = marker.args
        found = list(given)
    except (TypeError, ValueError):
        _refuse(metafunc, f"expected whole numbers such as range(100), got {marker.args}")
    if not found or len(found) > SEEDS_MAX:
        _refuse(metafunc, f"expected 1 to {SEEDS_MAX} seeds, got {len(found)}")
    for seed in found:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= SEED_MAX:
            _refuse(metafunc, f"expected whole numbers from 0 to {SEED_MAX}, got {seed!r}")
    return found


def _refuse(metafunc: pytest.Metafunc, problem: str) -> NoReturn:
    pytest.fail(f"{metafunc.definition.nodeid}: {MARKER}: {problem}", pytrace=False)


def _seed(text: str) -> int:
    if re.fullmatch("[0-9]{1,19}", text) is None or int(text) > SEED_MAX:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to {SEED_MAX}, got {text}")
    return int(text)


def _seeds(text: str) -> tuple[int, int]:
    first, last = (_seed(number) for number in text.split("-", 1)) if "-" in text else (1, 0)
    if not 0 <= last - first < SEEDS_MAX:
        raise argparse.ArgumentTypeError(f"expected two numbers such as 0-99, and at most {SEEDS_MAX} seeds, got {text}")
    return first, last
