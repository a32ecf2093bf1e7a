"""What generated decoders, encoders and data classes do with each kind of field, group and data."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import struct
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.codegen.sbe.packages import garage, import_package, write_package


@pytest.fixture(scope="module")
def codecs(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    return import_package(garage(), tmp_path_factory.mktemp("garage"))


def engine(codecs: ModuleType, **changes: Any) -> Any:
    turbo = codecs.Turbo(pressure=1.5, with_=codecs.Extras.SUN_ROOF)
    return codecs.Engine(**{"capacity": 1600, "boost": -3, "grade": codecs.Grade.A, "turbo": turbo, "newer": 7, **changes})


def car(codecs: ModuleType, **changes: Any) -> Any:
    stops = [codecs.CarToursStops(at=engine(codecs), note="hé"), codecs.CarToursStops(at=engine(codecs, boost=None), note="")]
    values: dict[str, Any] = {
        "serial_number": 2**64 - 2,
        "class_": None,
        "colour": codecs.Colour.RED,
        "second_colour": None,
        "grade": codecs.Grade.B,
        "plate": "AB12",
        "rates": (1.5, -2.0),
        "letter": "x",
        "extras": codecs.Extras.SUN_ROOF | codecs.Extras(64),
        "cylinders": 4,
        "engine": engine(codecs),
        "price": 9.75,
        "decode_": 5,
        "codes": (1, -2, 3),
        "legs": [codecs.CarLegs(wrap_=index, speed=0.5, int_=-index) for index in range(3)],
        "tours": [codecs.CarTours(day=1, stops=stops, title="first", raw=b"\0\xff"), codecs.CarTours(day=2, stops=[], title="", raw=b"")],
        "newer": [codecs.CarNewer(x=-1)],
        "maker": "Bäcker",
        "picture": b"0123456789abcdef",
        "wide": "日本",
    }
    return codecs.Car(**{**values, **changes})


def write(codecs: ModuleType, source: Any, buffer: bytearray, offset: int = 0) -> int:
    """Write a car with the encoder, as a user would; returns the message's length."""
    out = codecs.CarEncoder().wrap_and_apply_header(buffer, offset)
    for name in ("serial_number", "class_", "colour", "second_colour", "grade", "plate", "rates", "letter", "extras", "cylinders", "price"):
        setattr(out, name, getattr(source, name))
    out.decode_, out.codes, out.engine = source.decode_, source.codes, source.engine
    for leg, given in zip(out.legs(len(source.legs)), source.legs, strict=True):
        leg.wrap_, leg.speed, leg.int_ = given.wrap_, given.speed, given.int_
    for tour, given in zip(out.tours(len(source.tours)), source.tours, strict=True):
        tour.day = given.day
        for stop, there in zip(tour.stops(len(given.stops)), given.stops, strict=True):
            stop.at.capacity, stop.at.boost = there.at.capacity, there.at.boost
            stop.at.grade, stop.at.newer = there.at.grade, there.at.newer
            stop.at.turbo.pressure, stop.at.turbo.with_ = there.at.turbo.pressure, there.at.turbo.with_
            stop.note = there.note
        tour.title, tour.raw = given.title, given.raw
    out.newer(1).next().x = source.newer[0].x
    out.maker, out.picture, out.wide = source.maker, source.picture, source.wide
    return int(out.sbe_limit - offset)


def test_the_encoder_and_the_data_class_write_the_same_bytes(codecs: ModuleType) -> None:
    source = car(codecs)
    buffer = bytearray(1000)
    length = write(codecs, source, buffer, 7)
    assert bytes(buffer[7 : 7 + length]) == source.encode()
    assert buffer[7:15] == struct.pack("<HHHH", 90, 1, 77, 2)
    other = bytearray(length + 5)
    assert source.encode_into(other, 5) == length
    assert other[5:] == source.encode()


def test_data_class_properties_and_dicts_agree(codecs: ModuleType) -> None:
    source = car(codecs)
    data = source.encode()
    assert codecs.Car.decode(data) == source
    assert codecs.Car.decode(b"..." + data, 3) == source
    assert codecs.Car.decode(memoryview(bytearray(data))) == source
    assert codecs.CarDecoder().wrap_and_apply_header(data).to_dict() == source.to_dict()
    assert codecs.Car.from_dict(source.to_dict()) == source
    assert codecs.decode(data) == source
    assert codecs.decoder_of(data).serial_number == 2**64 - 2


def test_properties_read_every_kind_of_field(codecs: ModuleType) -> None:
    data = car(codecs).encode()
    read = codecs.CarDecoder().wrap_and_apply_header(memoryview(data).toreadonly())
    assert (read.serial_number, read.class_, read.second_colour, read.cylinders, read.price) == (2**64 - 2, None, None, 4, 9.75)
    assert read.colour is codecs.Colour.RED
    assert (read.plate, read.letter, read.rates, read.codes) == ("AB12", "x", (1.5, -2.0), (1, -2, 3))
    assert read.extras == 65
    assert codecs.Extras.SUN_ROOF in read.extras
    assert (read.fixed_grade, read.fuel) == (codecs.Grade.B, "Petrol")
    assert (read.engine.capacity, read.engine.max_rpm, read.engine.turbo.pressure, read.engine.boost) == (1600, 9000, 1.5, -3)
    assert [leg.wrap_ for leg in read.legs] == [0, 1, 2]
    assert read.legs[-1].int_ == -2
    assert [leg.int_ for leg in read.legs[1:]] == [-1, -2]
    assert (read.maker, bytes(read.picture), read.wide) == ("Bäcker", b"0123456789abcdef", "日本")
    assert isinstance(read.picture, memoryview)
    assert bytes(read.sbe_raw("maker")) == "Bäcker".encode()


def test_one_decoder_reads_message_after_message_of_one_buffer_and_of_others(codecs: ModuleType) -> None:
    first, second = car(codecs).encode(), car(codecs, maker="Ford", cylinders=8, legs=[]).encode()
    log = bytearray(first + second)
    read = codecs.CarDecoder()
    for source in (log, memoryview(log), bytes(log)):
        for offset, expected in ((0, ("Bäcker", 4, 3)), (len(first), ("Ford", 8, 0)), (0, ("Bäcker", 4, 3))):
            assert read.wrap_and_apply_header(source, offset).maker == expected[0]
            assert (read.cylinders, len(read.legs)) == expected[1:]
    read.wrap_and_apply_header(log, 0)
    log[: len(first)] = car(codecs, maker="Beecker").encode()
    assert read.wrap_and_apply_header(log, 0).maker == "Beecker"
    # After a wrap without a header, and after one that failed, the same buffer is still what it is.
    read.wrap(second, 8)
    assert read.wrap_and_apply_header(log, 0).maker == "Beecker"
    with pytest.raises(codecs.SbeError, match="too few bytes"):
        read.wrap_and_apply_header(log, len(log) - 7)
    assert read.wrap_and_apply_header(log, len(first)).maker == "Ford"
    with pytest.raises(BufferError):
        log.clear()  # a wrapped buffer cannot be resized


def test_one_encoder_writes_message_after_message_into_one_buffer_and_into_others(codecs: ModuleType) -> None:
    out = codecs.EmptyEncoder()
    whole = codecs.Empty().encode()
    one, other = bytearray(3 * len(whole)), bytearray(len(whole))
    for buffer, offset in ((one, 0), (one, 2 * len(whole)), (other, 0), (one, len(whole))):
        assert out.wrap_and_apply_header(buffer, offset).sbe_limit == offset + len(whole)
    assert (bytes(one), bytes(other)) == (3 * whole, whole)
    with pytest.raises(codecs.SbeError, match="too few bytes"):
        out.wrap_and_apply_header(one, len(one) - 1)
    with pytest.raises(codecs.SbeError, match="the offset is negative"):
        out.wrap_and_apply_header(one, -1)
    out.wrap(other, len(whole))
    assert out.wrap_and_apply_header(one, len(whole)).sbe_buffer.obj is one


def test_entries_are_found_in_any_order(codecs: ModuleType) -> None:
    data = car(codecs).encode()
    read = codecs.CarDecoder().wrap_and_apply_header(data)
    assert read.wide == "日本"
    assert bytes(read.tours[1].raw) == b""
    assert read.tours[0].stops[1].note == ""
    assert read.tours[0].stops[0].note == "hé"
    assert [len(tour.stops) for tour in reversed(read.tours)] == [0, 2]
    kept = list(read.tours)
    assert [tour.day for tour in kept] == [1, 2]
    with pytest.raises(IndexError, match=r"Car\.tours has 2 entries; there is no 2"):
        read.tours[2]
    assert read.encoded_length == read.sbe_decoded_length == len(data) - 8
    assert read.sbe_skip() == len(data)


def test_an_encoder_reads_back_fields_and_starts_again_on_rewind(codecs: ModuleType) -> None:
    buffer = bytearray(300)
    out = codecs.CarEncoder().wrap(buffer, 10)
    out.serial_number, out.plate = 5, b"XY"
    assert (out.serial_number, out.plate, out.sbe_limit) == (5, "XY", 100)
    out.legs(1).next().wrap_ = 3
    out.rewind()
    assert out.sbe_limit == 100
    with pytest.raises(AttributeError, match="maker is written in its turn"):
        _ = out.maker


def test_null_values_read_as_none_and_none_writes_them(codecs: ModuleType) -> None:
    data = bytearray(car(codecs, class_=1, cylinders=None, price=None, second_colour=codecs.Colour.RED).encode())
    read = codecs.CarDecoder().wrap_and_apply_header(data)
    assert (read.class_, read.cylinders, read.price, read.second_colour) == (1, None, None, codecs.Colour.RED)
    out = codecs.CarEncoder().wrap(data, 8)
    out.class_ = out.second_colour = None
    assert (read.class_, read.second_colour) == (None, None)
    assert struct.unpack_from("<i", data, 8 + 8)[0] == -(2**31)
    assert math.isnan(codecs.CarDecoder.PRICE_NULL_VALUE)


def test_unknown_values_of_enums_and_sets_survive(codecs: ModuleType) -> None:
    data = bytearray(car(codecs).encode())
    at = codecs.CarDecoder.COLOUR_ENCODING_OFFSET + 8
    data[at] = 77
    read = codecs.Car.decode(bytes(data))
    assert repr(read.colour) == "<Colour.UNKNOWN_77: 77>"
    assert read.encode() == data
    assert 77 not in {int(one) for one in codecs.Colour}
    assert codecs.Colour(77) == 77
    assert pickle.loads(pickle.dumps(read)) == copy.deepcopy(read) == read
    with pytest.raises(ValueError, match="300 is not a valid Colour"):
        codecs.Colour(300)
    assert list(codecs.Colour.__members__) == ["RED", "MRO_", "NULL_VALUE_", "RED_2", "NULL_VALUE"]
    for value in range(256):
        data[codecs.CarDecoder.EXTRAS_ENCODING_OFFSET + 8] = value
        assert int(codecs.Car.decode(bytes(data)).extras) == value


def test_constants_say_what_the_schema_says(codecs: ModuleType) -> None:
    kind = codecs.CarDecoder
    assert (kind.SBE_TEMPLATE_ID, kind.SBE_SCHEMA_ID, kind.SBE_SCHEMA_VERSION, kind.SBE_BLOCK_LENGTH) == (1, 77, 2, 90)
    assert (kind.SBE_SEMANTIC_TYPE, kind.SBE_SEMANTIC_VERSION) == ("Vehicle", "1.2")
    assert (kind.CYLINDERS_NULL_VALUE, kind.CYLINDERS_MIN_VALUE, kind.CYLINDERS_MAX_VALUE, kind.CYLINDERS_ID) == (99, 1, 16, 11)
    assert kind.DECODE_SINCE_VERSION == 1
    meta = kind.sbe_meta("serial_number")
    assert (meta.name, meta.semantic_type, meta.time_unit, meta.epoch, meta.presence) == (
        "serialNumber",
        "Serial",
        "nanosecond",
        "unix",
        "required",
    )
    assert kind.sbe_meta("class").deprecated == 0
    assert kind.sbe_meta("decode").deprecated == 2
    with pytest.raises(KeyError, match="Car has no 'nothing'"):
        kind.sbe_meta("nothing")
    with pytest.raises(AttributeError):
        codecs.CarDecoder().fuel = "Diesel"


def test_docstrings_hold_any_description(codecs: ModuleType) -> None:
    assert str(codecs.__doc__).startswith('A garage """quoted""" with \\backslashes\\ and naïve · text')
    assert codecs.CarDecoder.__doc__ == 'A car.\\nNot a "bus"'
    assert codecs.CarDecoder.class_.__doc__ == 'ends with a quote "'
    assert "Deprecated since version 2." in codecs.CarEncoder.decode_.__doc__


def test_names_that_differ_by_case_stay_apart(codecs: ModuleType) -> None:
    source = codecs.Car2(speed=1, speed_2=2, speed_3=3, empties=[codecs.Car2Empties()] * 2)
    assert source.encode()[8:11] == bytes([1, 2, 3])
    assert codecs.Car2.decode(source.encode()) == source
    assert codecs.Empty.decode(codecs.Empty().encode()) == codecs.Empty()
    assert [one.name for one in dataclasses.fields(codecs.Car2)] == ["speed", "speed_2", "speed_3", "empties"]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("serial_number", -1, "Car.serialNumber: the value cannot be written: expected uint64, found -1"),
        ("serial_number", None, "Car.serialNumber: the value cannot be written: expected uint64, found None"),
        (
            "plate",
            "TOO LONG",
            "Car.plate: the value cannot be written: expected text of at most 6 bytes of ascii without NUL, found 'TOO LONG'",
        ),
        ("plate", "é", "Car.plate: the value cannot be written"),
        ("rates", (1.0,), r"Car.rates: the value cannot be written: expected 2 numbers of float, found \(1.0,\)"),
        ("rates", (1e300, 0.0), "Car.rates: the value cannot be written"),
        ("letter", "ab", "Car.letter: the value cannot be written: expected one character, found 'ab'"),
        ("letter", "日", "Car.letter: the value cannot be written"),
        ("maker", "x" * 255, "Car.maker: data is too long: expected at most 254 bytes, found 255"),
        ("picture", "text", "Car.picture: the value cannot be written"),
        ("colour", "RED", "Car.colour: the value cannot be written: expected Colour, uint8, found 'RED'"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_place(codecs: ModuleType, name: str, value: object, message: str) -> None:
    source = car(codecs, **{name: value})
    with pytest.raises(codecs.SbeError, match=message):
        source.encode()


def test_errors_name_entries_and_members(codecs: ModuleType) -> None:
    source = car(codecs)
    source.tours[0].stops[1].at.turbo.pressure = "high"
    with pytest.raises(codecs.SbeError, match=r"pressure: the value cannot be written: expected double, found 'high'") as caught:
        source.encode()
    assert (caught.value.expected, caught.value.actual) == ("double", "'high'")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(codecs.SbeError, match="there are no such members"):
        codecs.Car.from_dict({"colours": 1})
    source = car(codecs, newer=[codecs.CarNewer(x=0)] * 70_000)
    with pytest.raises(codecs.SbeError, match=r"Car.newer: a group cannot have so many entries: expected 0 to 65534, found 70000"):
        source.encode()


def test_buffers_that_cannot_be_written_are_refused(codecs: ModuleType) -> None:
    with pytest.raises(codecs.SbeError, match="the buffer is read-only: expected a writable buffer, found bytes"):
        codecs.CarEncoder().wrap_and_apply_header(bytes(200))
    with pytest.raises(codecs.SbeError, match="too few bytes: expected 98 bytes at offset 0, found 97"):
        codecs.CarEncoder().wrap_and_apply_header(bytearray(97))
    out = codecs.CarEncoder().wrap_and_apply_header(bytearray(110))
    with pytest.raises(codecs.SbeError, match=r"Car.legs\[0\]: the buffer is too small: expected 14 bytes at offset 102, found 8"):
        out.legs(1).next()
    with pytest.raises(codecs.SbeError, match="too few bytes"):
        car(codecs).encode_into(bytearray(20))


def test_repr_shows_the_whole_message(codecs: ModuleType) -> None:
    data = car(codecs).encode()
    read = codecs.CarDecoder().wrap_and_apply_header(data)
    assert repr(read).startswith("CarDecoder(serial_number=18446744073709551614, class_=None, colour=<Colour.RED: 1>")
    assert "CarLegsDecoder(wrap_=2, speed=0.5, int_=-2)" in repr(read)
    assert repr(codecs.CarDecoder()) == "CarDecoder(<not wrapped>)"
    short = codecs.CarDecoder().wrap_and_apply_header(data[:150])
    assert "<damaged: Car.tours" in repr(short)


PICKLED = """
import copy, pickle
from garage import Car, Colour, Extras, Grade
for value in (Colour.RED, Colour(77), Grade(200), Extras.SUN_ROOF, Extras(64), Extras.SUN_ROOF | Extras(64), Extras(0)):
    copies = [copy.copy(value), copy.deepcopy(value), *(pickle.loads(pickle.dumps(value, protocol)) for protocol in range(6))]
    for one in copies:
        assert (type(one), int(one), repr(one), hash(one), str(one)) == (type(value), int(value), repr(value), hash(value), str(value)), one
        assert one == value == int(value)
    assert value in {value: 1} and value in {int(value): 1}
assert copy.deepcopy(Colour.RED) is Colour.RED and pickle.loads(pickle.dumps(Colour.RED)) is Colour.RED
assert repr(Colour(77)) == "<Colour.UNKNOWN_77: 77>"
print("copied")
"""
SYSTEM_PYTHON = "/usr/bin/python3"  # of Debian 12: 3.11.2, whose enums are pickled by name


@pytest.mark.parametrize("python", [sys.executable, SYSTEM_PYTHON])
def test_values_that_the_schema_does_not_know_are_copied_and_pickled(tmp_path: Path, python: str) -> None:
    version = subprocess.run([python, "-c", "import sys; print(sys.version_info >= (3, 11))"], capture_output=True, text=True, check=False)
    if version.stdout != "True\n":
        pytest.skip(f"{python} is not Python 3.11 or newer")
    write_package(garage(), tmp_path, "garage")
    done = subprocess.run([python, "-c", PICKLED], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout == "copied\n", done.stderr


def test_combinations_of_flags_that_are_not_kept_are_copied_and_pickled(codecs: ModuleType) -> None:
    lookup = import_module(f"{codecs.__name__}.support.values").FlagLookup(codecs.Extras)
    for value in range(256):
        assert lookup[value] == value
    made = lookup[256 + 9]
    for one in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert (one, type(one)) == (made, codecs.Extras)
