"""What settings of a link can be, and what partitions can be drawn."""

from __future__ import annotations

import dataclasses
import errno
from typing import Any

import pytest

from aerowire.base.errors import ConfigurationError, WrongTypeError
from aerowire.simulation.link_faults import LinkFaults
from aerowire.simulation.partitions import Partition, PartitionKind, draw_partition
from aerowire.system.random import SeededRandom

SECOND = 1_000_000_000
HOUR = 3_600 * SECOND
HOSTS = ("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5")


def test_the_defaults_are_a_link_without_faults() -> None:
    faults = LinkFaults()
    assert (faults.loss, faults.duplicate, faults.replay, faults.reorder, faults.send_error) == (0, 0, 0, 0, 0)
    assert (faults.latency_ns, faults.jitter_ns, faults.clog_interval_ns, faults.queue_length, faults.bytes_per_second) == (
        10_000,
        0,
        0,
        0,
        0,
    )


@pytest.mark.parametrize(
    "extremes",
    [
        # The ranges that TigerBeetle's VOPR draws from.
        {"loss": 0.3, "replay": 0.5, "jitter_ns": SECOND // 10, "queue_length": 2},
        {"queue_length": 20, "clog_interval_ns": SECOND, "clog_mean_ns": 5 * SECOND, "clog_max_ns": 60 * SECOND},
        {"loss": 1, "duplicate": 1.0, "replay": 1, "reorder": 1.0, "send_error": 1},
        {"latency_ns": HOUR, "jitter_ns": HOUR, "jitter_max_ns": HOUR, "reorder_ns": HOUR, "clog_max_ns": HOUR},
        {"queue_length": 65_536, "bytes_per_second": 1 << 40, "send_errors": tuple(range(1, 9))},
        {"clog_interval_ns": 1_000_000, "clog_mean_ns": 1, "clog_max_ns": 0, "bytes_per_second": 1, "send_errors": (4095,)},
    ],
)
def test_takes_values_up_to_the_ends_of_their_ranges(extremes: dict[str, Any]) -> None:
    faults = LinkFaults(**extremes)
    assert {name: getattr(faults, name) for name in extremes} == extremes


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"loss": 1.5}, "loss is out of range; at LinkFaults; expected 0 to 1; got 1.5"),
        ({"loss": -0.1}, "loss is out of range"),
        ({"duplicate": float("nan")}, "duplicate is out of range"),
        ({"replay": float("inf")}, "replay is out of range"),
        ({"latency_ns": -1}, "latency_ns is out of range; at LinkFaults; expected 0 to 3600000000000; got -1"),
        ({"jitter_ns": HOUR + 1}, "jitter_ns is out of range"),
        ({"jitter_max_ns": -1}, "jitter_max_ns is out of range"),
        ({"clog_interval_ns": 999_999}, "clog_interval_ns is out of range"),
        ({"clog_interval_ns": SECOND}, "clog_mean_ns is out of range; at LinkFaults of a link that clogs; expected 1 to"),
        ({"queue_length": 65_537}, "queue_length is out of range"),
        ({"bytes_per_second": -1}, "bytes_per_second is out of range"),
        ({"send_errors": ()}, "send_errors has the wrong length; at LinkFaults; expected 1 to 8 errno values; got 0"),
        ({"send_errors": tuple(range(1, 10))}, "send_errors has the wrong length"),
        ({"send_errors": (0,)}, "send_errors is out of range"),
    ],
)
def test_refuses_values_out_of_range(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        LinkFaults(**wrong)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss": "0.5"},
        {"loss": True},
        {"loss": None},
        {"latency_ns": 1.0},
        {"queue_length": "2"},
        {"drops_oldest": 1},
        {"send_errors": [errno.EPERM]},
        {"send_errors": ("EPERM",)},
    ],
)
def test_refuses_values_of_another_type(wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(WrongTypeError, match=f"{name} has the wrong type"):
        LinkFaults(**wrong)


def test_the_longest_jitter_is_ten_means_unless_it_is_given() -> None:
    assert LinkFaults(jitter_ns=30_000_000).longest_jitter_ns == 300_000_000
    assert LinkFaults(jitter_ns=30_000_000, jitter_max_ns=40_000_000).longest_jitter_ns == 40_000_000
    assert LinkFaults(jitter_ns=HOUR).longest_jitter_ns == HOUR


def test_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        LinkFaults().loss = 0.5  # type: ignore[misc]


def test_a_partition_cuts_both_ways_or_one() -> None:
    sides = (("a", "b"), ("c",))
    assert Partition(*sides).cuts == (("a", "c"), ("b", "c"), ("c", "a"), ("c", "b"))
    assert Partition(*sides, one_way=True).cuts == (("a", "c"), ("b", "c"))
    assert Partition((), ("c",)).cuts == ()


def test_a_partition_has_no_host_on_both_sides() -> None:
    with pytest.raises(ConfigurationError, match="a host is on both sides; at Partition; expected each host on one side; got a"):
        Partition(("a", "b"), ("c", "a"))
    with pytest.raises(WrongTypeError, match="sources has the wrong type"):
        Partition(["a"], ("b",))  # type: ignore[arg-type]


def drawn(kind: PartitionKind, hosts: tuple[str, ...] = HOSTS, count: int = 200, **options: Any) -> list[Partition]:
    random = SeededRandom(1)
    return [draw_partition(kind, hosts, random, **options) for _ in range(count)]


def test_halves_hold_every_host_once_and_differ() -> None:
    partitions = drawn(PartitionKind.HALVES)
    assert all((len(each.sources), len(each.destinations)) == (2, 3) for each in partitions)
    assert all(sorted(each.sources + each.destinations) == list(HOSTS) for each in partitions)
    # All ten choices of two of five hosts.
    assert len({each.sources for each in partitions}) == 10


def test_every_host_is_the_isolated_one_at_times() -> None:
    partitions = drawn(PartitionKind.ONE_ISOLATED)
    assert {each.sources for each in partitions} == {(host,) for host in HOSTS}
    assert all(each.destinations == tuple(host for host in HOSTS if host not in each.sources) for each in partitions)


def test_the_busiest_host_is_the_isolated_one() -> None:
    partitions = drawn(PartitionKind.BUSIEST_ISOLATED, busiest="10.0.0.3")
    assert {each.sources for each in partitions} == {("10.0.0.3",)}


def test_one_way_partitions_cut_either_way() -> None:
    partitions = drawn(PartitionKind.BUSIEST_ISOLATED, busiest="10.0.0.3", one_way=True)
    assert all(each.one_way for each in partitions)
    assert 60 < sum(each.sources == ("10.0.0.3",) for each in partitions) < 140


@pytest.mark.parametrize(
    ("kind", "hosts"), [(PartitionKind.NONE, HOSTS), (PartitionKind.HALVES, HOSTS[:1]), (PartitionKind.ONE_ISOLATED, ())]
)
def test_nothing_is_cut_where_there_is_nothing_to_cut(kind: PartitionKind, hosts: tuple[str, ...]) -> None:
    assert drawn(kind, hosts, 1) == [Partition((), ())]


def test_the_same_seed_draws_the_same_partitions() -> None:
    assert drawn(PartitionKind.HALVES) == drawn(PartitionKind.HALVES)
