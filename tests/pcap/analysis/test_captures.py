"""The analysis of a capture as it is read, against that of all its frames in one table."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from aerowire.pcap import Capture, read_frames
from aerowire.pcap.analysis import captures, gathering
from aerowire.pcap.analysis.captures import CaptureStreams
from aerowire.pcap.analysis.columns import COLUMNS, SENT, Columns, by_stream
from aerowire.pcap.analysis.loss import losses
from aerowire.pcap.analysis.partial import Partial
from aerowire.pcap.analysis.stream import Stream, analyse, lay_out
from tests.support.captures.corpus import build as build_corpus

CAPTURES = Path(__file__).parent.parent.parent / "data" / "captures"
GOLDEN = sorted(CAPTURES.glob("*.pcap*"))


def told(stream: Stream) -> tuple[dict[str, Any], list[Any]]:
    return analyse(stream), list(losses(stream))


def in_table(path: Path, ports: list[int] | None) -> list[Columns]:
    """The frames of each stream that a sender named, in order of its first frame."""
    found = [frames for frames in by_stream(read_frames(path, ports, columns=COLUMNS)) if frames.of_type(*SENT).any()]
    return sorted(found, key=lambda frames: frames.appearance)


def check(path: Path, ports: list[int] | None = None) -> CaptureStreams:
    capture = Capture(path, ports=ports, columns=())
    found = CaptureStreams(capture, packet_index=True)
    expected = in_table(path, ports)
    assert [told(stream) for stream in found.streams()] == [told(lay_out(Partial.whole(frames))) for frames in expected]
    assert found.frame_counts == [len(frames) for frames in expected]
    rows = read_frames(path, ports, columns=("type", "dropped")).group_by(["type", "dropped"]).aggregate([([], "count_all")]).to_pylist()
    assert found.counts == {(row["type"], row["dropped"]): row["count_all"] for row in rows}
    for number, frames in enumerate(expected):
        whole = found.whole(number).frames
        for name in frames.values:
            np.testing.assert_array_equal(whole[name], frames[name], err_msg=f"{name} of stream {number}")
        assert [whole.path_names[at] for at in whole.paths.tolist()] == [frames.path_names[at] for at in frames.paths.tolist()]
    return found


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.name)
def test_a_golden_capture_is_told_as_from_its_table(path: Path) -> None:
    check(path)


@pytest.mark.parametrize("with_ports", [True, False], ids=["ports", "flows"])
@pytest.mark.parametrize("rows", [gathering.STREAM_ROWS_MAX, 3000])
def test_a_large_lossy_capture_is_told_as_from_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int, with_ports: bool
) -> None:
    corpus = build_corpus(tmp_path / "corpus.pcap", 60_000)
    monkeypatch.setattr(gathering, "STREAM_ROWS_MAX", rows)
    found = check(corpus.path, corpus.ports if with_ports else None)
    assert len(found.frame_counts) == 6


def test_all_streams_are_given_on_and_packed_when_they_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = build_corpus(tmp_path / "corpus.pcap", 30_000)
    monkeypatch.setattr(gathering, "ROWS_MAX", 9000)
    monkeypatch.setattr(captures, "UNPACKED_MAX", 10_000)
    check(corpus.path, corpus.ports)


def test_frames_of_a_flow_that_does_not_count_are_left_out_of_a_stream(build: SimpleNamespace, tmp_path: Path) -> None:
    """A lone frame with a stream's numbers proves nothing of the flow that it came over."""
    packets = [build.ethernet(build.ip4(build.data_frame(64 * at, bytes(32), term_id=3), build.SENDER, build.RECEIVER)) for at in range(20)]
    stray = build.ethernet(build.ip4(build.data_frame(64, bytes(32), term_id=3), ("10.9.9.9", 1111), ("10.9.9.8", 2222)))
    path = tmp_path / "stray.pcap"
    path.write_bytes(build.classic([*packets[:9], stray, *packets[9:]]))
    found = check(path)
    assert found.frame_counts == [20]
    assert found.counts == {("DATA", False): 20}
    assert check(path, [1111, build.RECEIVER[1]]).frame_counts == [21]
