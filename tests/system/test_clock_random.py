"""Clocks and the seeded generator."""

from __future__ import annotations

import time

from aerowire.system.clock import ManualClock, SystemClock
from aerowire.system.random import SeededRandom, SystemSecrets

MASK = (1 << 64) - 1


def rotl(value: int, count: int) -> int:
    return ((value << count) | (value >> (64 - count))) & MASK


class Twin:
    """xoshiro256** over splitmix64, as their authors describe them."""

    def __init__(self, seed: int) -> None:
        self.s = []
        for _ in range(4):
            seed = (seed + 0x9E3779B97F4A7C15) & MASK
            z = seed
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            self.s.append(z ^ (z >> 31))

    def next(self) -> int:
        s = self.s
        result = (rotl((s[1] * 5) & MASK, 7) * 9) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotl(s[3], 45)
        return result


def test_same_seed_same_numbers_as_the_published_algorithm() -> None:
    for seed in (0, 1, 12345, MASK):
        random, twin = SeededRandom(seed), Twin(seed)
        assert [random.u64() for _ in range(100)] == [twin.next() for _ in range(100)]


def test_bounded_numbers_stay_in_bounds_and_cover_them() -> None:
    random = SeededRandom(7)
    assert {random.below(5) for _ in range(200)} == set(range(5))
    assert random.below(1) == random.below(0) == 0
    assert all(0.0 <= random.double() < 1.0 for _ in range(1000))


def test_unseeded_generators_differ() -> None:
    assert SeededRandom().u64() != SeededRandom().u64()


def test_secrets_do_not_follow_from_each_other_or_from_a_seed() -> None:
    found = [SystemSecrets().u64() for _ in range(100)]
    assert len(set(found)) == 100
    assert all(0 <= value < 1 << 64 for value in found)
    assert max(value.bit_length() for value in found) == 64


def test_system_clock_is_the_systems() -> None:
    clock = SystemClock()
    before = time.monotonic_ns()
    now = clock.now_ns()
    assert before <= now <= time.monotonic_ns()
    assert abs(clock.now_ms() - time.time_ns() // 1_000_000) < 1000
    assert abs(clock.now_epoch_ns() - time.time_ns()) < 1_000_000_000


def test_manual_clock_moves_only_when_told() -> None:
    clock = ManualClock(now_ns=5, epoch_ms=1000)
    assert (clock.now_ns(), clock.now_ms()) == (5, 1000)
    clock.advance(2_500_000)
    assert (clock.now_ns(), clock.now_ms(), clock.now_epoch_ns()) == (2_500_005, 1002, 1_002_500_000)
    clock.set(now_ns=1, epoch_ms=2)
    assert (clock.now_ns(), clock.now_ms()) == (1, 2)
