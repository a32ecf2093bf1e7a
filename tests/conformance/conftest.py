"""A driver of our own to run cases on, and a small command-and-control file without one."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from aerowire.codecs.flyweights import cnc
from aerowire.conformance.harness.cnc import CNC_FILE
from aerowire.conformance.harness.memory import Mapping
from aerowire.conformance.peers.base import Peer, started
from aerowire.conformance.peers.drivers import AerowirePeer, short_timers
from tests.conftest import SEED

RING_CAPACITY = 1 << 14
BROADCAST_CAPACITY = 1 << 14
COUNTERS = 128


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep of a test's parameters as many as its mark `sample` says, drawn by the run's seed; all when tests are chosen by their names."""
    if config.option.keyword or any("::" in argument for argument in config.args):
        return
    tests: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("sample")
        if mark is not None:
            tests[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    left: set[pytest.Item] = set()
    for (name, count), found in sorted(tests.items()):
        left.update(random.Random(f"{SEED}:{name}").sample(found, max(0, len(found) - count)))
    config.hook.pytest_deselected(items=sorted(left, key=items.index))
    items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="session")
def driver() -> Iterator[Peer]:
    """One aerowire driver for all tests that do not end it; the cases are independent."""
    with started(AerowirePeer(short_timers())) as peer:
        yield peer


@pytest.fixture
def make_small_cnc(tmp_path: Path) -> Mapping:
    """A small command-and-control file without a driver."""
    lengths = {
        "to_driver_buffer_length": RING_CAPACITY + cnc.RingTrailerDecoder.ENCODED_LENGTH,
        "to_clients_buffer_length": BROADCAST_CAPACITY + cnc.BroadcastTrailerDecoder.ENCODED_LENGTH,
        "counters_metadata_buffer_length": COUNTERS * cnc.CounterMetadataDecoder.ENCODED_LENGTH,
        "counters_values_buffer_length": COUNTERS * cnc.CounterValueDecoder.ENCODED_LENGTH,
        "error_log_buffer_length": 4096,
    }
    header = cnc.CncHeaderEncoder.encode(version=cnc.CNC_VERSION, file_page_size=4096, client_liveness_timeout_ns=10**10, **lengths)
    path = tmp_path / CNC_FILE
    path.write_bytes(header + bytes(sum(lengths.values())))
    return Mapping(path)
