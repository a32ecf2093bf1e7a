"""Native modules of tests, compiled against the declarations of this tree when a test first needs them."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest

import hatch_build
from tests.conftest import SANITIZE_VARIABLE


def compiled(source: Path) -> Any:
    """Return the module of a `.pyx` in the tests, built as the modules under test were; it is built again when any declaration changed."""
    name = ".".join(source.relative_to(hatch_build.ROOT).with_suffix("").parts)
    sanitize = os.environ.get(SANITIZE_VARIABLE)
    declared = [digest for path, digest in hatch_build.native_sources().items() if path.endswith(".pxd")]
    digest = hatch_build.digest_of(hatch_build.translator(), repr(hatch_build.flags(source, sanitize)), source.read_text(), *declared)
    hatch_build.BUILD_DIR.mkdir(parents=True, exist_ok=True)
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("LD_PRELOAD", raising=False)  # a sanitizer is for the tests, not for the compiler
        hatch_build.compile_module(name, source, digest, sanitize)
    return importlib.import_module(name)
