"""Random message schemas and messages against the official SBE tool: 200 schemas, 50 messages of each, both ways."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import hypothesis

from tests.interop.sbe.agreement import Drawn, check_all
from tests.interop.sbe.official import official_tool
from tests.soak.bars import Part, Size
from tests.support.sbe.drawing import schemas
from tests.support.sbe.schemas import Schema

SEEDS = range(1, 5)
SCHEMAS = 50
MESSAGES = 50


def agree(seed: int, scratch: Path) -> str:
    """Let Hypothesis draw schemas; what fails it makes small."""
    counts = [0, 0]
    with official_tool() as official:

        @hypothesis.seed(seed)
        @hypothesis.settings(max_examples=SCHEMAS, database=None, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(schemas())
        def check(schema: Schema) -> None:
            counts[0] += 1
            counts[1] += check_all(official, Drawn(seed, schema, scratch).written(), MESSAGES)

        check()
    return f"{counts[0]} schemas, {counts[1]} messages agree"


def parts(size: Size) -> list[Part]:
    """Nothing at small size: `make interop` draws a few."""
    return [Part(f"schemas-{seed}", seed, partial(agree, seed)) for seed in SEEDS] if size is Size.FULL else []
