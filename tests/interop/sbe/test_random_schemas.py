"""Schemas that nobody would write: what the official tool makes of them, we make of them.  `make soak BAR=sbe-official` runs more."""

from __future__ import annotations

import pytest

from tests.interop.sbe.agreement import Drawn, check_official_round_trip, check_verdicts
from tests.interop.sbe.official import OfficialTool

pytestmark = pytest.mark.interop

SCHEMAS = 20
MESSAGES = 6


@pytest.fixture(scope="module", params=range(SCHEMAS))
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return Drawn.of(request.param, tmp_path_factory.mktemp("drawn"))


def test_verdicts_agree(official: OfficialTool, drawn: Drawn) -> None:
    check_verdicts(official, drawn)


def test_official_decoders_read_what_official_encoders_write(official: OfficialTool, drawn: Drawn) -> None:
    check_official_round_trip(official, drawn, MESSAGES)
