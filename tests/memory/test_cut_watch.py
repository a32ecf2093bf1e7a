"""The regular look at mapped files: how often, how many at once, and that it keeps no file mapped."""

from __future__ import annotations

import os
from pathlib import Path

from aerowire.memory.cut_watch import CutWatch
from aerowire.memory.region import Region

INTERVAL_NS = 500_000_000


def test_a_cut_is_found_within_an_interval(tmp_path: Path) -> None:
    now_ns = 7
    region = Region.create_file(tmp_path / "file", 8192)
    watch = CutWatch(INTERVAL_NS, lambda: now_ns)
    watch.look(lambda: [None, region])
    os.truncate(tmp_path / "file", 1)
    now_ns = 7 + INTERVAL_NS - 1
    watch.look(lambda: [None, region])
    assert region.lost_pages == 0
    now_ns = 7 + INTERVAL_NS
    watch.look(lambda: [None, region])
    assert region.lost_pages == 2


def test_many_files_are_looked_at_in_turn(tmp_path: Path) -> None:
    now_ns = 0
    regions = [Region.create_file(tmp_path / f"{number}", 4096) for number in range(513)]
    watch = CutWatch(INTERVAL_NS, lambda: now_ns)
    for number in (0, 511, 512):
        os.truncate(tmp_path / f"{number}", 0)
    watch.look(lambda: regions)
    assert [number for number, region in enumerate(regions) if region.lost_pages] == [0, 511]
    now_ns = INTERVAL_NS
    watch.look(lambda: regions)
    assert [number for number, region in enumerate(regions) if region.lost_pages] == [0, 511, 512]


def test_a_file_that_waits_for_its_look_is_unmapped_when_nothing_else_refers_to_it(tmp_path: Path) -> None:
    now_ns = 0
    regions = [Region.create_file(tmp_path / f"{number}", 4096) for number in range(513)]
    watch = CutWatch(INTERVAL_NS, lambda: now_ns)
    watch.look(lambda: regions)
    regions.clear()
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()
    now_ns = INTERVAL_NS
    watch.look(lambda: regions)
