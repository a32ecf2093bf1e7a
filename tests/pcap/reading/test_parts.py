"""How files are cut into parts, by their lengths alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerowire.pcap.reading.parts import cut

HEADER = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")


@pytest.mark.parametrize(("length", "least"), [(24, 1), (64_000_001, 2), (128 << 20, 2), (5 << 30, 40)])
def test_a_capture_over_64_mb_has_more_than_one_part(tmp_path: Path, length: int, least: int) -> None:
    path = tmp_path / "long.pcap"
    with path.open("wb") as file:
        file.write(HEADER)
        file.truncate(length)  # nothing is read of it
    parts = list(cut(str(path)))
    assert len(parts) >= least
    assert [part.start for part in parts] == [0, *(part.end for part in parts[:-1])]
    assert parts[-1].end == length


@pytest.mark.parametrize(("split_length", "count"), [(70_000_000, 1), (69_999_999, 2), (1 << 20, 67)])
def test_a_length_of_parts_that_somebody_names_is_kept(tmp_path: Path, split_length: int, count: int) -> None:
    path = tmp_path / "long.pcap"
    with path.open("wb") as file:
        file.write(HEADER)
        file.truncate(70_000_000)
    parts = list(cut(str(path), split_length))
    assert len(parts) == count
    assert {part.end - part.start for part in parts[:-1]} <= {split_length}
