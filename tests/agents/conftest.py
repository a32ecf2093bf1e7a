"""The native agent of these tests, compiled when they first need it."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest

import hatch_build
from tests.conftest import SANITIZE_VARIABLE

SOURCE = Path(__file__).with_name("tally.pyx")
NAME = "tests.agents.tally"


@pytest.fixture(scope="session")
def tally() -> Any:
    """The module `tally.pyx`, built against the declarations of this tree as the modules under test were."""
    sanitize = os.environ.get(SANITIZE_VARIABLE)
    declared = [digest for path, digest in hatch_build.native_sources().items() if path.endswith(".pxd")]
    digest = hatch_build.digest_of(hatch_build.translator(), repr(hatch_build.flags(SOURCE, sanitize)), SOURCE.read_text(), *declared)
    hatch_build.BUILD_DIR.mkdir(parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("LD_PRELOAD", raising=False)  # a sanitizer is for the tests, not for the compiler
        hatch_build.compile_module(NAME, SOURCE, digest, sanitize)
    return importlib.import_module(NAME)
