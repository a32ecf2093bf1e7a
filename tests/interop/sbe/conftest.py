"""The fixture of the tests against the official SBE tool."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.interop.sbe.official import OfficialTool, official_tool


@pytest.fixture(scope="session")
def official() -> Iterator[OfficialTool]:
    with official_tool() as tool:
        yield tool
