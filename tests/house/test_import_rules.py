"""Hold every .py, .pyx and .pxd to the import contracts of pyproject.toml.

import-linter reads .py files only, and sees a native module as its package.  The contracts stand once, in
pyproject.toml; this test applies the same layers and the same forbidden modules to what is cimported as well.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE_ROOTS = ("generated", "runtime", "codegen", "conformance", "pcap")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]

FROM = re.compile(r"^\s*from\s+([\w.]+)\s+c?import\s+(.+)$")
PLAIN = re.compile(r"^\s*c?import\s+([\w., ]+)$")


def sources() -> Iterator[tuple[str, Path]]:
    """Yield the dotted name and path of every source file of the five roots but stubs, which only name types."""
    for root in SOURCE_ROOTS:
        for path in sorted((ROOT / root).rglob("*.p*")):
            if path.suffix in {".py", ".pyx", ".pxd"}:
                yield ".".join(path.relative_to(ROOT / root).with_suffix("").parts), path


def logical_lines(text: str) -> Iterator[str]:
    """Yield the lines of `text`, bracketed and continued imports joined, without strings of several lines and imports of mere types."""
    text = re.sub(r'("""|\'\'\')(?:.|\n)*?\1', '""', text)
    text = re.sub(r"^if TYPE_CHECKING:\n(?:(?:[ \t].*)?\n)+", "", text, flags=re.MULTILINE)
    yield from re.sub(r"\(([^()]*)\)", lambda match: match.group(1).replace("\n", " "), text.replace("\\\n", " ")).splitlines()


def imported(module: str, text: str) -> set[str]:
    """Return the dotted names that `text`, the source of `module`, imports or cimports."""
    found: set[str] = set()
    for line in logical_lines(text):
        if match := FROM.match(line.split("#")[0]):
            origin, names = match.groups()
            if origin.startswith("."):
                dots = len(origin) - len(origin.lstrip("."))
                origin = ".".join([*module.split(".")[:-dots], origin.lstrip(".")]).rstrip(".")
            found.update(f"{origin}.{name.strip().split()[0]}" for name in names.split(",") if name.strip())
        elif match := PLAIN.match(line.split("#")[0]):
            found.update(name.strip().split()[0] for name in match.group(1).split(",") if name.strip())
    return found


def inside(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


def package_of(name: str, packages: Container[str]) -> str | None:
    """Return which of `packages` has the module `name` inside."""
    while name and name not in packages:
        name = name.rpartition(".")[0]
    return name or None


@dataclass
class Layers:
    """No package imports one of a layer above it, or beside it in the same layer."""

    levels: dict[str, int]

    def is_breach(self, module: str, name: str) -> bool:
        mine, theirs = package_of(module, self.levels), package_of(name, self.levels)
        return mine is not None and theirs is not None and mine != theirs and self.levels[theirs] >= self.levels[mine]


@dataclass
class Forbidden:
    """None of the sources imports one of the targets, except where the contract says otherwise."""

    sources: frozenset[str]
    targets: frozenset[str]
    exceptions: list[tuple[str, str]]

    def is_breach(self, module: str, name: str) -> bool:
        return (
            package_of(module, self.sources) is not None
            and package_of(name, self.targets) is not None
            and not any(module == source and inside(name, target) for source, target in self.exceptions)
        )


@dataclass
class Independence:
    """None of the packages imports another one."""

    packages: frozenset[str]

    def is_breach(self, module: str, name: str) -> bool:
        mine, theirs = package_of(module, self.packages), package_of(name, self.packages)
        return mine is not None and theirs is not None and mine != theirs


def rule_of(contract: dict[str, list[str]]) -> Layers | Forbidden | Independence:
    match contract["type"]:
        case "layers":
            layers = enumerate(reversed(contract["layers"]))
            container = contract["containers"][0]
            return Layers({f"{container}.{part.strip(' ()')}": height for height, layer in layers for part in layer.split("|")})
        case "forbidden":
            edges = [edge.split(" -> ") for edge in contract.get("ignore_imports", [])]
            exceptions = [(source, target.removesuffix(".**")) for source, target in edges]
            return Forbidden(frozenset(contract["source_modules"]), frozenset(contract["forbidden_modules"]), exceptions)
        case "independence":
            return Independence(frozenset(contract["modules"]))
        case kind:
            raise ValueError(f"a contract of type {kind!r}")


RULES = [(contract["name"], rule_of(contract)) for contract in CONTRACTS]


def breaches(module: str, text: str) -> list[str]:
    names = sorted(imported(module, text))
    return [f"{module} imports {name}: {contract}" for name in names for contract, rule in RULES if rule.is_breach(module, name)]


def test_every_source_keeps_the_contracts() -> None:
    found = [line for module, path in sources() for line in breaches(module, path.read_text())]
    assert not found, "\n".join(found)


def test_no_package_stands_outside_the_contracts() -> None:
    # All parts may import `process`, which is below them.
    packages = {f"aerowire.{path.parent.name}" for path in (ROOT / "runtime" / "aerowire").glob("*/__init__.py")} - {"aerowire.process"}
    assert len(packages) > 8
    lists = [contract[key] for contract in CONTRACTS for key in ("source_modules", "forbidden_modules") if key in contract]
    runtime = [names for names in lists if "aerowire.driver" in names]
    assert len(runtime) >= 4
    for names in runtime:
        assert packages <= set(names), f"missing: {packages - set(names)}"


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("aerowire.memory.region", "from aerowire.ipc.counters cimport CountersReader"),
        ("aerowire.memory.region", "from ..ipc cimport counters"),
        ("aerowire.ipc.ring", "from aerowire.logbuffer.position cimport (\n    index_by_term,\n    compute_position,\n)"),
        ("aerowire.client.subscriptions.image", "cimport aerowire.driver.agents.sender"),
        ("aerowire.agents.event_ring", "from aerowire.driver.queues.events cimport EventRecord"),
        ("aerowire.agents.queued_agent", "from aerowire.client.subscriptions.image cimport Image"),
        ("aerowire.system.wakeup", "from aerowire.agents.event_ring cimport EventRing"),
        ("aerowire.driver.agents.sender", "    from aerowire.conformance.suite import Case"),
        ("aerowire.driver.agents.sender", "import pyarrow as pa"),
        ("aerowire.pcap.analysis.summary", "from aerowire.codegen.sbe.reader import load_message_schema"),
        ("aerowire.pcap.sbe.schemas", "from lxml import etree"),
        ("aerowire.codecs.flyweights.cnc", "from scapy.packet import Packet"),
        ("aerowire.codecs.scapy.transport", "from aerowire.codecs.flyweights import transport"),
    ],
)
def test_a_breach_is_found(module: str, text: str) -> None:
    assert breaches(module, text)


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("aerowire.ipc.counters", "from aerowire.memory cimport atomics"),
        ("aerowire.agents.event_ring", "from aerowire.system.wakeup cimport Wakeup"),
        ("aerowire.client.subscriptions.image", "from aerowire.agents.queued_agent cimport QueuedAgent"),
        ("aerowire.pcap.sbe.schemas", "from aerowire.codegen.sbe.reader import load_message_schema"),
        ("aerowire.driver.channels.nak_delay", "if TYPE_CHECKING:\n    from aerowire.driver.context import Context\n"),
        ("aerowire.driver.agents.sender", '"""cimport aerowire.client\nimport scapy\n"""'),
        ("aerowire.driver.agents.sender", "from . cimport conductor agent  # from aerowire.client cimport image"),
    ],
)
def test_what_is_allowed_is_not_a_breach(module: str, text: str) -> None:
    assert not breaches(module, text)
