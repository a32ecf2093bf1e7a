"""The shape of the tree: one namespace, packages that are typed, and nothing that belongs to one machine."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.house.stubtest import misplaced_stubs

ROOT = Path(__file__).resolve().parents[2]
SOURCE_ROOTS = ("generated", "runtime", "codegen", "conformance", "pcap")
TEXT_SUFFIXES = {".py", ".pyx", ".pxd", ".pyi", ".xml", ".xsd", ".j2", ".md", ".toml", ".sh", ".java", ".lua", ""}

# What stands in no file of the project: paths of one machine, hosts of package registries, unfinished work.
FOREIGN = {
    "a path of one machine": re.compile(r"(?<![\w.])/(?:root|home/\w+|work)/"),
    "a registry's host": re.compile(r"\b(?:files\.pythonhosted|pypi\.(?:org|python)|repo1?\.maven|deb\.debian|registry\.npmjs)\b"),
    "unfinished work": re.compile(r"\b(?:TODO|FIXME|XXX)\b"),
}


def tracked() -> list[Path]:
    if shutil.which("git") is None:
        pytest.skip("git is not installed, which knows the files of the project")
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.split("\0") if name]


def test_no_root_claims_the_namespace() -> None:
    assert not [root for root in SOURCE_ROOTS if (ROOT / root / "aerowire" / "__init__.py").exists()]


def test_every_package_is_one_and_is_typed() -> None:
    folders = {
        parent
        for path in tracked()
        if path.suffix in {".py", ".pyx", ".pxd"} and path.relative_to(ROOT).parts[0] in SOURCE_ROOTS
        for parent in [path.parent]
        if (parent / "__init__.py").exists() or path.suffix in {".py", ".pyx"}
    }
    packages = sorted(folder for folder in folders if "templates" not in folder.parts)
    assert not [str(folder.relative_to(ROOT)) for folder in packages if not (folder / "__init__.py").exists()]
    top = {ROOT.joinpath(*folder.relative_to(ROOT).parts[:3]) for folder in packages}
    assert not [str(folder.relative_to(ROOT)) for folder in sorted(top) if not (folder / "py.typed").exists()]


def test_native_modules_that_python_imports_have_stubs_and_no_others() -> None:
    assert not misplaced_stubs()


@pytest.mark.parametrize("what", FOREIGN)
def test_no_file_holds(what: str) -> None:
    found = []
    for path in tracked():
        if path.suffix in TEXT_SUFFIXES and path.exists() and path != Path(__file__).resolve():
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if FOREIGN[what].search(line):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}")
    assert not found, "\n".join(found)
