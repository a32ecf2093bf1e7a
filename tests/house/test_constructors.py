"""The comparison of constructors in stubs and sources: what it accepts, and each kind of drift that it reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.constructors import differences

SOURCE = """
cdef class Machine:
    def __cinit__(self, ClockPort clock not None, int32_t length=4, *, bint group, str name="x"):
        pass
"""
BASES = """
from machines cimport Machine as Base
cdef class Inheriting(Base):
    pass
cdef class Extending(Base):
    def __cinit__(self, ClockPort clock, int32_t length=4, *, int64_t tag, **others):
        pass
cdef class Plain:
    def __cinit__(self):
        pass
class Failure(Exception):
    pass
cdef class Both(Plain):
    def __cinit__(self):
        pass
    def __init__(self, object a, *rest, **options):
        pass
"""
MACHINE = "class Machine:\n    def __init__({}) -> None: ...\n"
AGREES = "self, clock: ClockPort, length: int = 4, *, group: bool, name: str = ..."


def found(folder: Path, stub: str, stub_of_bases: str = "") -> list[str]:
    for name, source, text in (("machines", SOURCE, stub), ("bases", BASES, stub_of_bases)):
        (folder / f"{name}.pyx").write_text(source)
        (folder / f"{name}.pyi").write_text(text)
    return differences({name: folder / f"{name}.pyx" for name in ("machines", "bases")})


@pytest.mark.parametrize("parameters", [AGREES, "self, clock: ClockPort, length: int = ..., *, name: str = 'x', group: bool"])
def test_accepts_a_stub_that_agrees(tmp_path: Path, parameters: str) -> None:
    assert not found(tmp_path, MACHINE.format(parameters))


@pytest.mark.parametrize(
    "parameters",
    [
        AGREES.replace("clock:", "time:"),
        AGREES.replace("clock: ClockPort, ", ""),
        AGREES.replace("= 4", ""),
        AGREES.replace(" = ...", ""),
        AGREES.replace("clock: ClockPort", "clock: ClockPort = ..."),
        AGREES.replace("*, ", "").replace("group: bool", "group: bool = False"),
        AGREES.replace(", *", ", *rest: int"),
        AGREES.replace("clock: ClockPort, length: int = 4", "length: int, clock: ClockPort = ..."),
        AGREES.replace("clock: ClockPort,", "clock: ClockPort, /,"),
        AGREES + ", more: int = 0",
        "self",
    ],
)
def test_reports_a_stub_that_differs(tmp_path: Path, parameters: str) -> None:
    (line,) = found(tmp_path, MACHINE.format(parameters))
    assert line.startswith("machines.Machine: the source takes (clock, length=...")


@pytest.mark.parametrize(
    ("stub", "names"),
    [
        ("from machines import Machine\nclass Inheriting(Machine): ...\n", []),
        ("class Inheriting: ...\n", ["Inheriting"]),
        (f"class Inheriting:\n    def __init__({AGREES}) -> None: ...\n", []),
        (f"class Extending:\n    def __init__({AGREES}, tag: int) -> None: ...\n", []),
        ("from machines import Machine\nclass Extending(Machine): ...\n", ["Extending"]),
        ("class Extending:\n    def __init__(self, clock, length=4, *, tag, **others: int) -> None: ...\n", ["Extending"]),
        ("class Plain: ...\nclass Failure(Exception): ...\n", []),
        ("class Plain:\n    def __init__(self) -> None: ...\n", []),
        ("class Plain:\n    def __init__(self, a: int) -> None: ...\n", ["Plain"]),
        ("class Failure(Exception):\n    def __init__(self, a: int) -> None: ...\n", ["Failure"]),
        ("class Both:\n    def __init__(self, a: object, *rest: int, **options: int) -> None: ...\n", []),
        ("class Both:\n    def __init__(self, a: object, **options: int) -> None: ...\n", ["Both"]),
    ],
)
def test_follows_base_classes(tmp_path: Path, stub: str, names: list[str]) -> None:
    assert [line.split(":")[0] for line in found(tmp_path, MACHINE.format(AGREES), stub)] == [f"bases.{name}" for name in names]
