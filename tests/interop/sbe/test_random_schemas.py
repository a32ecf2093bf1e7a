"""Schemas that nobody would write: what the official tool makes of them, we make of them.  `make soak BAR=sbe-official` runs more."""

from __future__ import annotations

import pytest

from aerowire.codegen.sbe.interpreter import JsonCodec
from aerowire.codegen.sbe.reading import load_message_schema
from tests.interop.sbe import agreement
from tests.interop.sbe.agreement import Drawn
from tests.interop.sbe.official import OfficialTool
from tests.interop.sbe.ours import Interpreter

pytestmark = pytest.mark.interop

SCHEMAS = 24
MESSAGES = 8


@pytest.fixture(scope="module", params=range(SCHEMAS))
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return Drawn.of(request.param, tmp_path_factory.mktemp("drawn"))


def test_verdicts_agree(official: OfficialTool, drawn: Drawn) -> None:
    agreement.check_verdicts(official, drawn)


def test_official_decoders_read_what_official_encoders_write(official: OfficialTool, drawn: Drawn) -> None:
    agreement.check_official_round_trip(official, drawn, MESSAGES)


def test_bytes_agree(official: OfficialTool, drawn: Drawn) -> None:
    agreement.check_messages(official, drawn, Interpreter(drawn.path(drawn.schema.version)), MESSAGES)


def test_json_agrees(official: OfficialTool, drawn: Drawn) -> None:
    codec = JsonCodec(load_message_schema(drawn.path(drawn.schema.version)))
    agreement.check_json(official, drawn, codec, MESSAGES)


def test_versions_agree(official: OfficialTool, drawn: Drawn) -> None:
    agreement.check_versions(official, drawn, {one: Interpreter(drawn.path(one)) for one in drawn.versions}, MESSAGES)
