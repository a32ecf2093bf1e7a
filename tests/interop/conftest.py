"""Fixtures of the interop suite: the official implementation, and a bench that ends what it started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.harness import Bench, Java, find_java
from tests.support.processes import open_workshop

MESSAGES_VARIABLE = "AEROWIRE_INTEROP_MESSAGES"


@pytest.fixture(scope="session")
def java() -> Java:
    return find_java()


@pytest.fixture
def bench(java: Java, tmp_path: Path) -> Iterator[Bench]:
    with open_workshop(tmp_path) as workshop:
        yield Bench(java, workshop)


@pytest.fixture(scope="session")
def messages() -> int:
    """Messages of one run; the environment makes a quick run of it."""
    return int(os.environ.get(MESSAGES_VARIABLE) or 100_000)
