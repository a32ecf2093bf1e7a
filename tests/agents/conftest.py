"""The native agent of these tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.native_modules import compiled


@pytest.fixture(scope="session")
def tally() -> Any:
    """The module `tally.pyx`."""
    return compiled(Path(__file__).with_name("tally.pyx"))
