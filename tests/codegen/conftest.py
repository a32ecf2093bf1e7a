"""Fixtures of the generator's tests: the project, random values of a struct, a copy of spec/, and a compiler of Cython."""

from __future__ import annotations

import importlib.util
import random
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from aerowire.codegen.layouts.ir import Struct
from aerowire.codegen.load import load_project
from aerowire.codegen.project import Project
from aerowire.codegen.sbe.native.build import c_compiler
from aerowire.codegen.sources import default_spec, find_sources
from tests.support import compiler

ROOT = Path(__file__).resolve().parents[2]
Compile = Callable[[str, str, Path], ModuleType]


@pytest.fixture(scope="session")
def project() -> Project:
    return load_project(find_sources([], default_spec()))


@pytest.fixture
def spec_copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(default_spec(), tmp_path / "spec"))


@pytest.fixture
def draw(seed: int) -> Callable[[Struct], dict[str, int | bytes | tuple[int, ...]]]:
    """Returns a function that draws a value for every field of a struct, tail fields too, the ends of ranges among them."""
    chance = random.Random(seed)

    def values(struct: Struct) -> dict[str, int | bytes | tuple[int, ...]]:
        drawn: dict[str, int | bytes | tuple[int, ...]] = {}
        for field in struct.fields:
            low, high = field.primitive.minimum, field.primitive.maximum
            numbers = tuple(chance.choice([low, high, chance.randint(low, high)]) for _ in range(field.count or 1))
            is_bytes = field.count is not None and field.primitive.size == 1
            drawn[field.name] = bytes(numbers) if is_bytes else numbers[0] if field.count is None else numbers
        for variant in struct.fixed_variants:
            drawn[variant.name] = chance.randbytes(variant.length or 0)
        return drawn

    return values


@pytest.fixture(scope="session")
def compile_cython(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """Returns a function that compiles Cython source against a folder of generated accessors, and imports it."""

    def build(name: str, source: str, generated: Path) -> ModuleType:
        folder = tmp_path_factory.mktemp(name)
        (folder / f"{name}.pyx").write_text(source)
        target = folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}"
        compile_c = shlex.split(compiler.command(*c_compiler()))
        include = sysconfig.get_paths()["include"]
        cython = [sys.executable, "-m", "cython", "-3", "-X", "cdivision=True", "-I", str(generated), f"{name}.pyx"]
        _run(cython, folder)
        _run([*compile_c, "-O0", "-fwrapv", "-fPIC", "-shared", f"-I{include}", f"{name}.c", "-o", str(target)], folder)
        spec = importlib.util.spec_from_file_location(name, target)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return build


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "performance hint" not in done.stderr, done.stderr
