"""Fixtures of the tests of message schemas: generated modules, imported under a name of their own."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from aerowire.codegen.output import write_files
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.codegen.sbe.targets.registry import MESSAGE_TARGETS

Generate = Callable[[MessageSchema, str], ModuleType]
SCHEMAS = Path(__file__).parent / "schemas"
_number = itertools.count()


@pytest.fixture(scope="session", params=["littleEndian", "bigEndian"])
def trading(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> MessageSchema:
    """schemas/trading.xml in either byte order."""
    file = tmp_path_factory.mktemp("trading") / "trading.xml"
    file.write_text((SCHEMAS / "trading.xml").read_text().replace("littleEndian", request.param))
    return load_message_schema(file)


@pytest.fixture(scope="session")
def generate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generate]:
    """Returns a function that renders one target of a schema and imports the module."""
    folder = tmp_path_factory.mktemp("generated")
    sys.path.insert(0, str(folder))

    def generated(schema: MessageSchema, target: str) -> ModuleType:
        package = f"generated_{target}_{next(_number)}"
        write_files(folder, MESSAGE_TARGETS[target].render(schema, Placement(package)), is_complete=False)
        return import_module(f"{package}.{target}")

    yield generated
    sys.path.remove(str(folder))
