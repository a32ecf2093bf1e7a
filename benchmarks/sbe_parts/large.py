"""A schema as large as an exchange's: a hundred messages, 350 KB, and what generating and importing it takes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from benchmarks.sbe_parts.generated import generate
from benchmarks.sbe_parts.rivals import SCHEMA

MESSAGES = 100
SIZE = 350_000
PACKAGE = "bench_large"
PRIMITIVES = ("uint64", "int64", "uint32", "int32", "uint16", "uint8", "double", "char")
TIMED = """
import time
start = time.perf_counter()
import {package} as package
imported = time.perf_counter()
for name in package.__all__:
    getattr(package, name)
print((imported - start) * 1e3, (time.perf_counter() - start) * 1e3)
"""


def large_schema() -> str:
    """Write a schema of at least SIZE characters: the types of the other one, and messages with groups and data."""
    head, types_end, _ = SCHEMA.read_text(encoding="utf-8").partition("    </types>\n")
    types = "".join(_enum(index) for index in range(40))
    fields = 1
    while len(text := head.replace("bench.trade", PACKAGE) + types + types_end + _messages(fields)) < SIZE:
        fields += 1
    return text + "</sbe:messageSchema>\n"


def generating_s(folder: Path) -> float:
    """Return how long the command takes, from its start to its end."""
    folder.mkdir()
    schema = folder / "large.xml"
    schema.write_text(large_schema(), encoding="utf-8")
    start = time.perf_counter()
    generate(schema, folder / "out", PACKAGE)
    return time.perf_counter() - start


def importing_ms(folder: Path, runs: int) -> tuple[float, float]:
    """Return how long the import of the generated package takes, and that of every class in it.

    Each in a process of its own; compiled already, as from the second time on.
    """
    found = [_imported(folder) for _ in range(runs + 1)][1:]
    return min(one for one, _ in found), min(every for _, every in found)


def _imported(folder: Path) -> tuple[float, float]:
    command = [sys.executable, "-c", TIMED.format(package=PACKAGE)]
    done = subprocess.run(command, cwd=folder / "out", capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    one, every = map(float, done.stdout.split())
    return one, every


def _enum(index: int) -> str:
    values = "".join(f'            <validValue name="VALUE_{value}">{value}</validValue>\n' for value in range(6))
    return f'        <enum name="Kind{index}" encodingType="uint8">\n{values}        </enum>\n'


def _messages(fields: int) -> str:
    return "".join(_message(index, fields) for index in range(MESSAGES))


def _message(index: int, fields: int) -> str:
    lines = [f'    <sbe:message name="Report{index}" id="{index + 10}" description="What is told of order book number {index}">']
    lines += [_field(f"value{number}", number, index + number) for number in range(1, fields + 1)]
    lines += ['        <group name="entries" id="900" description="The levels of the book">']
    lines += ["    " + _field(f"level{number}", number, index + number) for number in range(1, 7)]
    lines += ["        </group>", '        <data name="remark" id="950" type="varDataEncoding"/>', "    </sbe:message>\n"]
    return "\n".join(lines)


def _field(name: str, number: int, turn: int) -> str:
    kind = f"Kind{turn % 40}" if turn % 5 == 0 else PRIMITIVES[turn % len(PRIMITIVES)]
    presence = ' presence="optional"' if turn % 3 == 0 else ""
    return f'        <field name="{name}" id="{number}" type="{kind}"{presence} description="Number {number} of this report"/>'
