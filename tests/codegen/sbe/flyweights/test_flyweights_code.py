"""The generated code itself: typed, tidy, quick to import, and checked for order when that is asked for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aerowire.codegen.main import main
from tests.codegen.sbe.packages import SCHEMAS, garage, write_package
from tests.codegen.sbe.running import OURS, ROOT, run
from tests.codegen.sbe.writing import schema
from tests.support.type_check import type_check

USER = """
from garage import Car, CarDecoder, CarEncoder, Colour, SbeError, decode, decoder_of

def show(data: bytes) -> tuple[int, str, int | None, Colour]:
    read = CarDecoder().wrap_and_apply_header(data)
    for leg in read.legs:
        total: float = leg.speed + leg.int_
    first: int = read.tours[0].stops[0].at.capacity
    return read.serial_number, read.maker, read.decode_, Car.decode(data).colour

def choose(data: bytes) -> Car | None:
    if isinstance(decoder_of(data), CarDecoder):
        reveal_type(decode(data))
    return found if isinstance(found := decode(data), Car) else None

def write(buffer: bytearray) -> int:
    out = CarEncoder().wrap_and_apply_header(buffer)
    out.plate = b"bytes"
    out.plate = "text"
    out.class_ = None
    for leg in out.legs(2):
        leg.wrap_ = 3
    out.maker = "x"
    out.sbe_check_complete()
    return out.encoded_length
"""
ORDER = """
import garage
buffer = bytearray(400)
def refused(action):
    try:
        action()
    except garage.SbeError as error:
        return str(error)
    return "nothing"
def put(name, value):
    return lambda: setattr(out, name, value)
out = garage.CarEncoder().wrap_and_apply_header(buffer)
print(refused(put("maker", "x")))
legs = out.legs(2)
legs.next()
print(refused(lambda: out.tours(0)))
legs.next()
tours = out.tours(1)
tour = tours.next()
print(refused(lambda: setattr(tour, "title", "x")))
stops = tour.stops(1)
print(refused(lambda: setattr(tour, "title", "x")))
stops.next().note = "n"
tour.title = "t"
print(refused(lambda: out.newer(0)))
tour.raw = b""
print(refused(lambda: setattr(tour, "raw", b"")))
out.newer(0)
out.maker = "m"
print(refused(out.sbe_check_complete))
out.picture = b""
out.wide = ""
print(refused(out.sbe_check_complete))
read = garage.CarDecoder().wrap_and_apply_header(buffer)
print(refused(lambda: read.maker))
assert repr(read).startswith("CarDecoder(")
for leg in read.legs: pass
print(refused(lambda: read.legs))
for tour in read.tours:
    print(refused(lambda: tour.title))
    for stop in tour.stops:
        assert stop.note == "n"
    assert (tour.title, bytes(tour.raw)) == ("t", b"")
print(len(read.newer), read.maker, bytes(read.picture), read.wide)
read.rewind()
print(len(read.legs))
assert garage.Car.decode(buffer).encode() == bytes(buffer[:out.sbe_limit])
"""

ALLOWED = """
import garage
buffer = bytearray(400)
out = garage.CarEncoder().wrap_and_apply_header(buffer)
for leg in out.legs(4): leg.wrap_ = 1
tours = out.tours(2)
for title in ("one", "two"):
    tour = tours.next()
    tour.stops(1).next().note = title
    tour.title = title
    tour.raw = b""
out.newer(0)
out.maker = "m"
out.picture = b""
out.wide = ""
out.sbe_check_complete()
whole = garage.Car.decode(buffer).to_dict()
read = garage.CarDecoder().wrap_and_apply_header(buffer)
assert read.to_dict() == whole
assert "title='two'" in repr(read) and "damaged" not in repr(read), repr(read)
legs = read.legs
assert repr(legs) == repr(legs) and repr(legs).count("CarLegsDecoder(") == 4
assert [leg.wrap_ for leg in legs[0:2]] == [1, 1]
assert (legs[2].wrap_, legs[-1].wrap_) == (1, 1)
for wrong in (4, -5):
    try:
        legs[wrong]
    except IndexError as error:
        assert str(error) == f"Car.legs has 4 entries; there is no {wrong}"
tours = read.tours
first = None
for tour in tours:
    assert "damaged" not in repr(tours) + repr(tour) + repr(first)
    assert [stop.note for stop in tour.stops] == [tour.title]
    tour.raw
    first = first or tour
assert first.to_dict() == whole["tours"][0]
print(len(read.newer), read.maker)
for again in (lambda: out.wrap_and_apply_header(buffer), lambda: out.wrap(buffer, 8), out.rewind):
    again()
    out.legs(0)
    out.tours(0)
for again in (lambda: read.wrap_and_apply_header(buffer), lambda: read.wrap(buffer, 8), read.rewind):
    again()
    assert (len(read.legs), len(read.tours)) == (0, 0)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("code")
    write_package(garage(), made, "garage")
    return made


def test_the_code_and_what_uses_it_pass_strict_typing(folder: Path) -> None:
    (folder / "user.py").write_text(USER)
    done = type_check(folder, "user.py", "garage", written=["user", "garage"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r'Revealed type is "(Union\[)?garage\.messages\.\w+\.\w+', done.stdout), done.stdout


def test_the_code_is_formatted_and_has_no_findings(folder: Path) -> None:
    run(folder, "-m", "ruff", "format", "--check", *OURS, "garage")
    # A reader of a whole message has a statement or more for each field.
    run(folder, "-m", "ruff", "check", "--no-cache", "--ignore-noqa", *OURS, "--extend-ignore=PLR0912,PLR0915", "garage")
    run(folder, "-m", "ruff", "check", "--no-cache", "--ignore-noqa", "--isolated", "garage")


def test_long_names_are_wrapped_as_the_formatter_does(tmp_path: Path) -> None:
    long = "underlyingFinancialInstrumentFullNameInItsWholeLength"
    types = '<type name="Text" primitiveType="char" length="35" presence="optional"/>'
    fields = "".join(f'<field name="{long}{one}" id="{one}" type="Text"/>' for one in range(1, 5))
    group = f'<group name="warehouseReconciliationSections" id="9">{fields}</group>'
    message = f'<message name="WarehouseReconciliationList" id="1">{fields}{group}</message>'
    # The union of the decoders fits a line of its own, but not behind its name.
    message += '<message name="WarehouseReconciliationTotals" id="2"/><message name="WarehouseReconciliationDetail" id="3"/>'
    (tmp_path / "long.xml").write_text(schema(types, message))
    assert main(["generate", str(tmp_path / "long.xml"), "--out", str(tmp_path), "--package", "long", "--target", "flyweights"]) == 0
    run(tmp_path, "-m", "ruff", "format", "--check", *OURS, "long")


def test_the_project_s_own_code_has_no_findings() -> None:
    folder = ROOT / "generated/aerowire/codecs"
    packages = [
        str(path)
        for path in (*sorted((folder / "flyweights").iterdir()), folder / "support")
        if path.is_dir() and path.name != "__pycache__"
    ]
    assert len(packages) > 5
    run(ROOT, "-m", "ruff", "format", "--check", *OURS, *packages)
    for rules in (OURS, ("--isolated",)):
        run(ROOT, "-m", "ruff", "check", "--no-cache", "--ignore-noqa", *rules, *packages)


def test_importing_loads_nothing_but_what_is_used(folder: Path) -> None:
    probe = "import sys, garage; before = set(sys.modules); garage.Empty; print(sorted(n for n in sys.modules if n.startswith('garage')))"
    loaded = run(folder, "-c", probe)
    assert "garage.messages.empty" in loaded
    assert "garage.messages.car'" not in loaded
    assert "garage.enums" not in loaded
    names = run(folder, "-c", "import garage, sys; print('garage.support' in sys.modules, 'CarDecoder' in dir(garage))")
    assert names == "False True\n"
    other = run(folder, "-c", "import garage, sys\nfor name in garage.__all__: getattr(garage, name)\nprint('aerowire' in sys.modules)")
    assert other == "False\n"


def test_the_order_of_reading_is_checked_when_asked_for_and_that_of_writing_always(folder: Path) -> None:
    wrong = "fields in illegal order: expected"
    written = [
        f"Car.maker: {wrong} legs, found a later field",
        f"Car.tours: {wrong} 1 more entries, found a later field",
        f"Car.tours[0].title: {wrong} stops, found a later field",
        f"Car.tours[0].title: {wrong} 1 more entries, found a later field",
        f"Car.newer: {wrong} Car.tours[0].raw, found a later field",
        f"Car.tours[0].raw: {wrong} nothing more, found this one again",
        "Car: the message is not complete: expected Car.picture, found its end",
        "nothing",
    ]
    read = [
        f"Car.maker: {wrong} legs, found a later field",
        f"Car.legs: {wrong} tours, found this one again",
        f"Car.tours[0].title: {wrong} stops, found a later field",
    ]
    end = ["0 m b'' ", "2"]
    assert run(folder, "-c", ORDER, AEROWIRE_SBE_PRECEDENCE_CHECKS="1").splitlines() == [*written, *read, *end]
    assert run(folder, "-c", ORDER, AEROWIRE_SBE_PRECEDENCE_CHECKS="").splitlines() == [*written, *["nothing"] * 3, *end]


@pytest.mark.parametrize("checks", ["0", "1"])
def test_what_is_in_order_and_what_is_only_shown_passes_the_checks(folder: Path, checks: str) -> None:
    assert run(folder, "-c", ALLOWED, AEROWIRE_SBE_PRECEDENCE_CHECKS=checks) == "0 m\n"


def test_generate_says_how_to_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = str(SCHEMAS / "garage.xml")
    arguments = ["generate", schema, "--out", str(tmp_path), "--target", "flyweights", "--package", "my_codecs.class_"]
    assert main(arguments) == 0
    assert f"with {tmp_path} on the path: import my_codecs.class_\n" in capsys.readouterr().out
    assert run(tmp_path, "-c", "from my_codecs.class_ import Car; print(Car.__name__)") == "Car\n"
    assert main(arguments) == 0
    assert "0 files written" in capsys.readouterr().out
    assert main(["generate", schema]) == 2
    assert "--out DIR is needed" in capsys.readouterr().err
    assert main(["generate", schema, schema, "--out", str(tmp_path)]) == 2
    assert "package 'garage' is also that of" in capsys.readouterr().err
    assert main([*arguments, "--since-version", "0"]) == 0
    assert run(tmp_path, "-c", "from my_codecs.class_ import CarDecoder; print(hasattr(CarDecoder, 'codes'))") == "False\n"
