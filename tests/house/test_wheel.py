"""What an installation gets: extensions, declarations and stubs, the specification, and no sources of the native core."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import hatch_build
from aerowire.base.version import VERSION

ROOT = Path(hatch_build.ROOT)


@pytest.fixture(scope="module")
def contents(wheel: Path) -> set[str]:
    assert "py3-none-any" not in wheel.name
    assert wheel.name.startswith(f"aerowire-{VERSION}-")
    return set(zipfile.ZipFile(wheel).namelist())


def names(suffix: str) -> set[str]:
    """Return the paths inside a wheel of every file of the five roots that ends in `suffix`."""
    roots = ("generated", "runtime", "codegen", "conformance", "pcap")
    return {str(path.relative_to(ROOT / root)) for root in roots for path in (ROOT / root).rglob(f"*{suffix}")}


def test_wheel_carries_every_extension_once(contents: set[str]) -> None:
    extensions = {str(hatch_build.extension_path(Path(*name.split(".")))) for name in hatch_build.find_modules([])}
    assert {name for name in contents if name.endswith(".so")} == extensions


@pytest.mark.parametrize("suffix", [".py", ".pxd", ".pyi", ".lua", ".tsv", "py.typed"])
def test_wheel_carries(contents: set[str], suffix: str) -> None:
    assert names(suffix) <= contents


@pytest.mark.parametrize("suffix", [".pyx", ".c", ".sha256"])
def test_wheel_leaves_out(contents: set[str], suffix: str) -> None:
    assert not [name for name in contents if name.endswith(suffix)]


def test_wheel_carries_the_specification_for_the_code_generator(contents: set[str]) -> None:
    schemas = {f"{hatch_build.SPEC_IN_WHEEL}/{path.name}" for path in (ROOT / "spec").iterdir() if path.is_file()}
    assert schemas
    assert schemas <= contents


def test_nothing_of_the_wheel_stands_outside_the_namespace(contents: set[str]) -> None:
    assert not [name for name in contents if not name.startswith(("aerowire/", "aerowire-"))]
    assert "aerowire/__init__.py" not in contents
