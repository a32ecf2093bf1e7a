"""Checksums are those of the standard algorithms, whatever the length and the alignment of the bytes."""

from __future__ import annotations

import random
import zlib

import pytest

from aerowire.archive.files.checksum import Checksum, checksum_named
from aerowire.base.errors import ConfigurationError

NAMES = {
    "CRC-32": "CRC-32",
    "io.aeron.archive.checksum.Crc32": "CRC-32",
    "org.agrona.checksum.Crc32": "CRC-32",
    "CRC-32C": "CRC-32C",
    "io.aeron.archive.checksum.Crc32c": "CRC-32C",
    "org.agrona.checksum.Crc32c": "CRC-32C",
}
CASTAGNOLI = 0x82F63B78  # the polynomial of CRC-32C, reflected


def named(name: str) -> Checksum:
    checksum = checksum_named(name)
    assert checksum is not None
    return checksum


def crc_32c(data: bytes) -> int:
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (CASTAGNOLI if state & 1 else 0)
    return state ^ 0xFFFFFFFF


def signed(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


@pytest.mark.parametrize(("name", "value"), [("CRC-32", 0xCBF43926), ("CRC-32C", 0xE3069283)])
def test_check_values_are_those_of_the_catalogue_of_algorithms(name: str, value: int) -> None:
    assert named(name).compute(b"123456789") == signed(value)
    assert named(name).compute(b"") == 0


def test_every_length_agrees_with_a_bitwise_twin(seed: int) -> None:
    data = random.Random(seed).randbytes(700)
    for length in range(320):
        for start in (0, 1, 7, 16):
            piece = data[start : start + length]
            assert named("CRC-32").compute(piece) == signed(zlib.crc32(piece)), (seed, start, length)
    for length in [*range(0, 130), 255, 256, 257, 511, 512, 640]:
        assert named("CRC-32C").compute(memoryview(data)[:length]) == signed(crc_32c(data[:length])), (seed, length)


def test_official_names_and_classes_are_known() -> None:
    assert {name: named(name).name for name in NAMES} == NAMES
    assert named(" CRC-32 ").name == "CRC-32"
    assert checksum_named("") is None


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigurationError, match=r"got CRC-64"):
        checksum_named("CRC-64")
