"""Names of segment files."""

from __future__ import annotations

import pytest

from aerowire.recordings.segment_names import SegmentName, deleted_segment_name, parse_segment_name, segment_name


def test_a_name_tells_recording_position_and_whether_the_file_is_given_up() -> None:
    assert segment_name(3, 65536) == "3-65536.rec"
    assert deleted_segment_name(3, 65536) == "3-65536.rec.del"
    assert parse_segment_name("3-65536.rec") == SegmentName(3, 65536)
    assert parse_segment_name("3-65536.rec.del") == SegmentName(3, 65536, is_deleted=True)


@pytest.mark.parametrize(
    "name",
    ["", "archive.catalog", "3-.rec", "-65536.rec", "3--1.rec", "3-65536", "3-65536.recx", "3-65536.rec.de", "x3-65536.rec", "٣-0.rec",
     "3-12345678901234567890.rec"],
)  # fmt: skip
def test_other_names_are_no_segments(name: str) -> None:
    assert parse_segment_name(name) is None
