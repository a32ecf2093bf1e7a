"""Fixtures of the interop suite: the official implementation, a bench that ends what it started, and scenarios that the matrix shows."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.interop.class_archive import with_archive
from tests.interop.harness import AERON_ALL, HERE, Bench, Java, OfficialVerification, find_java
from tests.interop.matrix import Outcome, java_version, render
from tests.interop.scenarios import ROWS_PROPERTY, Row, Scenario
from tests.support.processes import open_workshop

MESSAGES_VARIABLE = "AEROWIRE_INTEROP_MESSAGES"
MATRIX_OPTION = "--interop-matrix"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(MATRIX_OPTION, metavar="FILE", help="write the matrix of the interop scenarios that ran to FILE")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark all that stands in this folder, which `make test` does not collect: no test can be left out of both runs."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.interop)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the matrix of this run's scenarios where the command line asks for it."""
    path = config.getoption(MATRIX_OPTION)
    if path is None:
        return
    outcomes = [
        Outcome(report.nodeid, kind == "passed", Row(**row))
        for kind in ("passed", "failed")
        for report in terminalreporter.stats.get(kind, [])
        if report.when == "call"
        for row in dict(report.user_properties).get(ROWS_PROPERTY, ())
    ]
    java = shutil.which("java")
    if not outcomes or java is None:
        return
    Path(path).write_text(render(outcomes, jar=AERON_ALL.version, java=java_version(java)), encoding="utf-8")
    terminalreporter.write_line(f"{len(outcomes)} scenarios in {path}")


@pytest.fixture(scope="session")
def java() -> Java:
    return with_archive(find_java())


@pytest.fixture(scope="session")
def verification(java: Java, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OfficialVerification]:
    opened = OfficialVerification(java, tmp_path_factory.mktemp("verification") / "log")
    yield opened
    opened.close()


@pytest.fixture
def bench(java: Java, verification: OfficialVerification, tmp_path: Path) -> Iterator[Bench]:
    with open_workshop(tmp_path) as workshop:
        yield Bench(java, workshop, verification)


@pytest.fixture
def scenario(bench: Bench, messages: int) -> Scenario:
    """A scenario that the matrix will show; the test calls its `finish`."""
    return Scenario(bench, messages)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the rows of a scenario into its report, as plain dicts: reports come from other processes too."""
    report = yield
    made = getattr(item, "funcargs", {}).get("scenario")
    if isinstance(made, Scenario):
        report.user_properties.append((ROWS_PROPERTY, [asdict(row) for row in made.rows]))
    return report


@pytest.fixture(scope="session")
def messages() -> int:
    """Messages of one stream; the environment makes a quick run of it, or a long one."""
    return int(os.environ.get(MESSAGES_VARIABLE) or 10_000)
