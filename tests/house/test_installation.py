"""An installation of the wheel works with what it declares: its modules, its commands, the README and the examples."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.installations import EXTRAS, ROOT, Installation

Installed = Callable[[str], Installation]

# The packages that only extras bring, and the packages of ours whose modules all load with an extra.
OPTIONAL = {"lxml": "codegen", "jinja2": "codegen", "scapy": "conformance", "pyarrow": "pcap", "pyspark": "spark", "pandas": "spark"}
# Compared with in measurements, or there where pytest is, and declared by no extra for users.
UNDECLARED = {"aerowire.tools.measure.measure_pyzmq": "zmq", "aerowire.simulation.pytest_plugin": "pytest"}
COMPLETE = {
    "": r"aerowire\.(process|base|memory|ipc|logbuffer|protocol|system|driver|client|aio|tools|simulation|codecs\.(?!_?scapy|_?arrow))\b",
    "codegen": r"aerowire\.codegen\b",
    "conformance": r"aerowire\.conformance\b",
    "pcap": r"aerowire\.(pcap\.(?!sbe|archive\.spark|.*spark|sink)|codecs\._?arrow)",
    "spark": r"aerowire\.pcap\b(?!\.sbe)",
    "all": r"aerowire\b",
}
IMPORT_ALL = """
import importlib, json, pathlib, sys
import aerowire

names = set()
for root in map(pathlib.Path, aerowire.__path__):
    for path in [*root.rglob("*.py"), *root.rglob("*.so")]:
        parts = [*path.relative_to(root.parent).parts[:-1], path.name.partition(".")[0]]
        names.add(".".join(parts).removesuffix(".__init__"))
missing = {}
for name in sorted(names):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing[name] = error.name
print(json.dumps({"modules": len(names), "missing": missing, "path": [str(root) for root in aerowire.__path__]}))
"""


@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_every_module_loads_or_lacks_a_package_of_another_extra(installed: Installed, tmp_path: Path, extra: str) -> None:
    environment = installed(extra)
    done = environment.run(environment.python, "-c", IMPORT_ALL, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert all(Path(path).is_relative_to(environment.folder) for path in found["path"])
    assert found["modules"] > 500
    missing = {name: package for name, package in found["missing"].items() if UNDECLARED.get(name) != package}
    assert not {package for package in missing.values() if package not in OPTIONAL or package in environment.packages}
    assert [name for name in missing if any(re.match(COMPLETE[one], name) for one in {"", extra})] == []


@pytest.mark.parametrize(
    "command", ["aerowire", "aerowire pcap", "aerowire demo", "codegen", "codegen generate", "conformance", "conformance run"]
)
def test_help_needs_no_extra(installed: Installed, tmp_path: Path, command: str) -> None:
    environment = installed("")
    name, *arguments = command.split()
    done = environment.run(environment.command(name), *arguments, "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: {command} ")


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("codegen validate market.xml", "codegen"),
        ("codegen generate market.xml --out code", "codegen"),
        ("codegen check", "codegen"),
        ("codegen compare market.xml market.xml", "codegen"),
        ("codegen decode market.xml messages.sbe", "codegen"),
        ("codegen encode market.xml messages.json", "codegen"),
        ("conformance list", "conformance"),
        ("conformance explain C01", "conformance"),
        ("conformance run", "conformance"),
        ("conformance replay loss.pcap", "conformance"),
        ("conformance fuzz", "conformance"),
        ("aerowire pcap summary loss.pcap", "pcap"),
        ("aerowire pcap streams loss.pcap", "pcap"),
        ("aerowire pcap frames loss.pcap", "pcap"),
        ("aerowire pcap loss loss.pcap", "pcap"),
        ("aerowire pcap report loss.pcap", "pcap"),
        ("aerowire pcap export loss.pcap frames.parquet", "pcap"),
        ("aerowire pcap index loss.pcap", "pcap"),
        ("aerowire pcap replay loss.pcap aeron:ipc 10", "pcap"),
        ("aerowire demo", "all"),
    ],
)
def test_a_command_without_its_extra_names_it_and_starts_nothing(installed: Installed, tmp_path: Path, command: str, extra: str) -> None:
    environment = installed("")
    name, *arguments = command.split()
    for given in {"market.xml", "loss.pcap", "messages.json", "messages.sbe"} & set(arguments):
        (tmp_path / given).write_bytes(b"")
    before = sorted(tmp_path.iterdir())
    done = environment.run(environment.command(name), *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"pip install 'aerowire[{extra}]'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_library_call_without_its_extra_names_it(installed: Installed, tmp_path: Path) -> None:
    environment = installed("")
    done = environment.run(environment.python, "-c", "from aerowire.pcap import read_frames", cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: the package pyarrow is not installed; pip install 'aerowire[pcap]' installs it"
    )


@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("codegen", "codegen validate examples/schemas/market.xml"),
        ("conformance", "conformance check tests/data/captures/loss_fixed.pcap"),
        ("conformance", "conformance run --case C01"),
        ("pcap", "aerowire pcap summary tests/data/captures/loss_data_sender_side.pcap"),
        pytest.param(
            "spark",
            "aerowire pcap summary tests/data/captures/loss_fixed.pcap --engine spark",
            marks=[pytest.mark.spark, pytest.mark.timeout(300)],
        ),
    ],
)
def test_an_extra_is_all_that_a_command_needs(installed: Installed, extra: str, command: str) -> None:
    environment = installed(extra)
    name, *arguments = command.split()
    done = environment.run(environment.command(name), *arguments, cwd=ROOT, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
