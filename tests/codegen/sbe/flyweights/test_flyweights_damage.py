"""Generated code and bytes that are damaged, older, newer or just random: an error that says where, and both ways agree."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerowire.codegen.sbe.ir import MessageSchema
from aerowire.codegen.sbe.reader import load_message_schema
from tests.codegen.sbe.packages import garage, import_package
from tests.codegen.sbe.random_messages import random_message
from tests.support.sbe.drawing import draw_schema
from tests.support.waiting import busy_no_longer_than

DRAWN = 6


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packages")


@pytest.fixture(scope="module")
def codecs(folder: Path) -> ModuleType:
    return import_package(garage(), folder)


@pytest.fixture(scope="module")
def all_packages(folder: Path, codecs: ModuleType) -> list[tuple[MessageSchema, ModuleType]]:
    """The schema of our own and some drawn ones, each with its package."""
    found = [(garage(), codecs)]
    for seed in range(DRAWN):
        file = folder / f"drawn{seed}.xml"
        file.write_text(draw_schema(random.Random(seed)).xml(), encoding="utf-8")
        schema = load_message_schema(file)
        found.append((schema, import_package(schema, folder)))
    return found


def least_car() -> bytearray:
    """A car of zeros with no groups and no data."""
    groups = bytes.fromhex("0e0000000000000201000000")
    return bytearray(struct.pack("<HHHH", 90, 1, 77, 2) + bytes(90) + groups + bytes.fromhex("00000000000000"))


def both_ways(codecs: ModuleType, data: bytes) -> Any:
    """The data class, or the text of the error; by the quick way and member by member, which must agree."""
    results = []
    for way in (codecs.decode, lambda given: codecs.decoder_of(bytearray(given)).to_dict()):
        try:
            results.append(way(data))
        except codecs.SbeError as error:
            results.append(str(error))
    record, members = results
    assert repr(members) == repr(record if isinstance(record, str) else record.to_dict())
    return record


def test_random_messages_read_alike_and_damaged_ones_raise_one_error(all_packages: list[tuple[MessageSchema, ModuleType]]) -> None:
    @settings(max_examples=150, deadline=None)
    @given(st.integers(min_value=0, max_value=2**32), st.booleans())
    def check(seed: int, is_damaged: bool) -> None:
        chance = random.Random(seed)
        schema, codecs = chance.choice(all_packages)
        message = chance.choice(schema.messages)
        version = chance.choice((schema.version, chance.randint(message.since_version, schema.version)))
        data = bytearray(random_message(schema, message, chance, version))
        if is_damaged:
            damage(data, chance)
        record = both_ways(codecs, bytes(data))
        if isinstance(record, str):
            assert is_damaged or "the bytes are no text: expected utf-16" in record, record
            return
        assert repr(type(record).from_dict(record.to_dict())) == repr(record)
        try:
            again = record.encode()
        except codecs.SbeError as error:
            assert "so many entries" in str(error)  # noqa: PT017 - a group may need entries that these bytes do not have
            return
        assert codecs.decode(again).encode() == again

    check()


def damage(data: bytearray, chance: random.Random) -> None:
    """Change some bytes, and cut some off."""
    for _ in range(chance.randint(1, 4)):
        data[chance.randrange(len(data))] = chance.choice((0, 1, 255, chance.randrange(256)))
    if chance.random() < 0.5:
        del data[chance.randint(0, len(data)) :]


def test_every_cut_of_a_message_is_refused(codecs: ModuleType) -> None:
    data = bytes(least_car())
    assert both_ways(codecs, data).maker == ""
    for length in range(len(data)):
        assert isinstance(both_ways(codecs, data[:length]), str), length


def damages() -> Iterator[tuple[int, str, int, str]]:
    """Where, how and what is written into the least car, and what the error then says."""
    yield 2, "<H", 9, "message: the schema has no such message: expected one of 3 template ids, found 9"
    yield 4, "<H", 9, "message: this is a message of another schema: expected schema id 77, found 9"
    yield 0, "<H", 60, "Car: the block is too short: expected at least 66, found 60"
    yield 0, "<H", 500, "Car: too few bytes: expected 500 bytes at offset 8, found 109"
    yield 98, "<H", 13, ""
    yield 100, "<H", 65534, "Car.legs: the entries do not fit the buffer: expected at most 15 bytes, found 65534 entries of 14"
    yield 102, "<B", 200, "Car.tours: the entries do not fit the buffer: expected at most 11 bytes, found 200 entries of 11"
    yield 110, "<B", 9, "Car.maker: data does not fit the buffer: expected at most 6 bytes, found 9"
    yield 111, "<I", 2**32 - 1, "Car.picture: data does not fit the buffer: expected at most 2 bytes, found 4294967295"
    yield 115, "<H", 1, "Car.wide: data does not fit the buffer: expected at most 0 bytes, found 1"


@pytest.mark.parametrize(("at", "form", "value", "message"), list(damages()))
def test_a_damaged_number_is_named(codecs: ModuleType, at: int, form: str, value: int, message: str) -> None:
    data = least_car()
    struct.pack_into(form, data, at, value)
    assert str(both_ways(codecs, bytes(data))) == message or not message


def test_a_great_count_of_empty_entries_is_cheap(codecs: ModuleType) -> None:
    head = struct.pack("<HHHH", 3, 2, 77, 2) + bytes(3)
    with busy_no_longer_than(5, "the count is believed"):
        error = both_ways(codecs, head + struct.pack("<HI", 0, 2_000_000_000))
        full = both_ways(codecs, head + struct.pack("<HI", 0, 65_534))
    assert error == "car.empties: too many entries without bytes: expected at most 65535 in a message, found 2000000000"
    assert len(full.empties) == 65_534


def test_text_that_is_none_is_kept_or_named(codecs: ModuleType) -> None:
    data = least_car()
    data[110:111] = b"\x02\xff\xfe"
    record = both_ways(codecs, bytes(data))
    assert record.maker == "\udcff\udcfe"
    assert record.encode() == data
    data = least_car()[:-2] + struct.pack("<H", 3) + b"abc"
    assert "Car.wide: the bytes are no text: expected utf-16-le" in both_ways(codecs, bytes(data))


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_versions_have_what_they_had(codecs: ModuleType, version: int) -> None:
    """An older message lacks what came later, a newer one has more behind; lengths in the bytes decide."""
    extra = 5
    groups = struct.pack("<HH", 14 + extra, 1) + struct.pack("<Hfq", 7, 0.5, -1) + bytes(extra) + bytes.fromhex("00000002")
    newer = struct.pack("<HHb", 1, 1, -5) if version >= 1 else b""
    data = b"\x01x" + struct.pack("<I", 1) + b"y" + (struct.pack("<H", 2) + "z".encode("utf-16-le") if version >= 2 else b"")
    block = (59, 60, 66, 90 + extra)[version]
    body = struct.pack("<Q", 5) + bytes(51) + b"\x09" + struct.pack("<hhh", 1, 2, 3) + bytes(29)
    record = both_ways(codecs, struct.pack("<HHHH", block, 1, 77, version) + body[:block] + groups + newer + data)
    assert (record.serial_number, record.legs[0].wrap_, record.legs[0].int_) == (5, 7, -1)
    assert record.decode_ == (9 if version >= 1 else None)
    assert record.codes == ((1, 2, 3) if version >= 2 else None)
    assert [one.x for one in record.newer] == ([-5] if version >= 1 else [])
    assert (record.maker, record.picture, record.wide) == ("x", b"y", "z" if version >= 2 else "")
    assert codecs.Car.decode(record.encode()).serial_number == 5
