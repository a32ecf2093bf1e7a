"""The native modules of the analysis against what they are short cuts for, and against what no packer wrote."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from aerowire.pcap.analysis import messages, messages_fallback, varints, varints_fallback
from aerowire.pcap.analysis.packing import Packed
from aerowire.pcap.arrays.blocks import Bytes, Integers

MODULES = pytest.mark.parametrize("module", [varints, varints_fallback], ids=["native", "fallback"])
EXTREMES = np.array([0, -1, 1, 63, 64, -64, -65, 8191, 8192, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63)], dtype=np.int64)


def octets(data: bytes) -> Bytes:
    return np.frombuffer(data, dtype=np.uint8)


def random_values(rng: np.random.Generator) -> Integers:
    count = int(rng.integers(0, 200))
    kind = rng.integers(0, 4)
    if kind == 0:
        return rng.choice(EXTREMES, count)
    if kind == 1:
        return np.full(count, rng.integers(-5, 5), dtype=np.int64)
    return np.cumsum(rng.integers(-(2 ** int(rng.integers(1, 40))), 2 ** int(rng.integers(1, 40)), count))


def test_differences_are_written_seven_bits_a_byte() -> None:
    values = np.array([10, 11, 9, 9, 73, 9], dtype=np.int64)
    assert varints.pack(values) == bytes([2, 3, 0, 0x80, 0x01, 0x7F])
    assert varints.unpack(octets(bytes([2, 3, 0, 0x80, 0x01, 0x7F])), 10, 6).tolist() == values.tolist()


def test_columns_without_a_difference_take_nothing() -> None:
    for values in (np.empty(0, dtype=np.int64), np.array([7]), np.full(1000, -3)):
        assert varints.pack(values) == varints_fallback.pack(values) == b""


def test_both_write_and_read_the_same_bytes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for turn in range(300):
        values = random_values(rng)
        packed = varints.pack(values)
        assert packed == varints_fallback.pack(values), f"seed {seed}, turn {turn}"
        for module in (varints, varints_fallback):
            unpacked = module.unpack(octets(packed), int(values[0]) if values.size else 0, values.size)
            np.testing.assert_array_equal(unpacked, values, err_msg=f"seed {seed}, turn {turn}, {module.__name__}")


@MODULES
@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"\x01", 1),
        (b"\x01", 3),
        (b"\x01\x01", 2),
        (b"\x01\x80", 3),
        (b"\x80" * 10 + b"\x01", 2),
        (b"\x01", 0),
    ],
    ids=["more than none", "too few", "too many", "cut", "too long", "of nothing"],
)
def test_bytes_that_are_no_differences_are_refused(module: ModuleType, data: bytes, count: int) -> None:
    with pytest.raises(ValueError, match="bytes of differences for"):
        module.unpack(octets(data), 5, count)


def test_random_bytes_never_leave_the_arrays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for turn in range(500):
        data = rng.integers(0, 256, int(rng.integers(1, 40)), dtype=np.uint8)
        count = int((data < 0x80).sum()) + int(rng.integers(0, 3))
        outcomes = []
        for module in (varints, varints_fallback):
            try:
                outcomes.append(module.unpack(data, 3, count).tolist())
            except ValueError:
                outcomes.append(None)
        assert outcomes[0] == outcomes[1], f"seed {seed}, turn {turn}"


def test_columns_come_back_as_they_were(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for count in (0, 1, 2, 1000):
        columns = [rng.integers(-9, 9, count), np.full(count, 4), np.arange(count) * 10**12]
        for before, after in zip(columns, Packed.of(columns).columns(), strict=True):
            np.testing.assert_array_equal(before, after, err_msg=f"seed {seed}, {count} rows")


def test_both_find_the_same_whole_messages(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for turn in range(300):
        count = int(rng.integers(0, 60))
        inner = (rng.random(count) < 0.8).astype(np.uint8)
        paths, flags = np.sort(rng.integers(0, 3, count)), rng.choice([0, 0x40, 0x80, 0xC0], count)
        expected = messages_fallback.whole_messages(inner, paths, flags, 0x80, 0x40)
        np.testing.assert_array_equal(
            messages.whole_messages(inner, paths, flags, 0x80, 0x40), expected, err_msg=f"seed {seed}, turn {turn}"
        )


def test_a_run_loses_the_pieces_of_messages_at_its_ends() -> None:
    inner = np.array([1, 1, 1, 1, 1, 0, 1, 1], dtype=np.uint8)
    flags = np.array([0x40, 0x80, 0, 0x40, 0x80, 0xC0, 0xC0, 0xC0], dtype=np.int64)
    paths = np.array([0, 0, 0, 0, 0, 0, 0, 1], dtype=np.int64)
    for module in (messages, messages_fallback):
        assert module.whole_messages(inner, paths, flags, 0x80, 0x40).tolist() == [0, 1, 1, 1, 0, 0, 1, 1]
        with pytest.raises(ValueError, match="8 frames, 2 paths, 8 flags"):
            module.whole_messages(inner, paths[:2], flags, 0x80, 0x40)
