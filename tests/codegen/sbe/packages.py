"""Generated packages of flyweights for the tests: rendered, written and imported, each under a name of its own."""

from __future__ import annotations

import hashlib
import itertools
import sys
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType

import pytest

from aerowire.codegen.main import main
from aerowire.codegen.output import write_files
from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.native.build import c_compiler
from aerowire.codegen.sbe.placement import Placement
from aerowire.codegen.sbe.reader import load_message_schema
from aerowire.codegen.sbe.targets.flyweights import MessageFlyweightsTarget
from tests.support import compiler

SCHEMAS = Path(__file__).with_name("schemas")
Both = tuple[ModuleType, ModuleType]  # of one schema: the Python package, and the module of the compiled codecs
_number = itertools.count()


def write_package(schema: MessageSchema, folder: Path, name: str) -> None:
    """Write the package into a folder."""
    write_files(folder, MessageFlyweightsTarget().render(schema, Placement(name)), is_complete=False)


def import_package(schema: MessageSchema, folder: Path) -> ModuleType:
    """Write a package and import it."""
    name = f"flyweights_{next(_number)}"
    write_package(schema, folder, name)
    sys.path.insert(0, str(folder))
    try:
        invalidate_caches()
        package = import_module(name)
        for one in package.__all__:
            getattr(package, one)
    finally:
        sys.path.remove(str(folder))
    return package


def import_native(text: str, folder: Path, targets: str = "flyweights,native", *, flags: str = "-O0") -> Both:
    """Generate a package with compiled codecs of a schema, which is written to the folder's schema.xml, and import both.

    `flags` are added to those of the compiler.
    """
    # The same package has the same name in each run, so that the same C is made of it.
    name = f"native_{hashlib.sha256(f'{targets} {flags} {text}'.encode()).hexdigest()[:12]}"
    assert name not in sys.modules, "a package of this schema is imported already"
    file = folder / "schema.xml"
    file.write_text(text, encoding="utf-8")
    command = ["generate", str(file), "--out", str(folder), "--package", name, "--target", targets, "--native"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CFLAGS", flags)
        patch.setenv("CC", compiler.command(*c_compiler()))
        assert main(command) == 0
        patch.syspath_prepend(str(folder))
        return import_module(name), import_module(f"{name}.native")


def garage() -> MessageSchema:
    return load_message_schema(SCHEMAS / "garage.xml", "garage.xml")
