"""Drawings: round ticks, peaks that survive thinning, texts as people read them, SVG that is well formed."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from aerowire.pcap.analysis.plots import POINTS_MAX, Axis, Plot, octets, seconds, thinned


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0, 60_000, [0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]),
        (0.13, 0.31, [0.15, 0.2, 0.25, 0.3]),
    ],
)
def test_ticks_are_round_and_within(low: float, high: float, ticks: list[float]) -> None:
    assert Axis(low, high, "x", str).ticks() == pytest.approx(ticks)


def test_a_logarithmic_axis_names_whole_powers_only() -> None:
    assert Axis(-4, -1, "x", str, is_logarithm=True).ticks() == [-4, -3, -2, -1]


def test_an_axis_holds_all_values_and_is_never_empty() -> None:
    some = np.array([3.0, 7.0])
    assert (Axis.around([some, some * 2], "x", str).low, Axis.around([some, some * 2], "x", str).high) == (3, 14)
    assert (Axis.around([some], "x", str, from_zero=True).low, Axis.around([np.zeros(0)], "x", str).high) == (0, 1)
    for only in (5.0, 2e18, -2e18):
        axis = Axis.around([np.array([only])], "x", str)
        assert axis.high > axis.low == only
        assert 1 <= len(axis.ticks()) <= 20


def test_thinning_keeps_the_peaks() -> None:
    xs, ys = np.arange(100_000.0), np.zeros(100_000)
    ys[[17, 55_555]] = 9, -9
    few_xs, few_ys = thinned(xs, ys)
    assert few_xs.size <= POINTS_MAX
    assert (np.diff(few_xs) > 0).all()
    assert {(17.0, 9.0), (55_555.0, -9.0)} <= set(zip(few_xs.tolist(), few_ys.tolist(), strict=True))
    assert thinned(xs[:10], ys[:10])[0].size == 10


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (1.5, "1.5 s"), (0.25, "250 ms"), (3e-6, "3 µs"), (4e-8, "40 ns"), (0.001, "1 ms"), (-0.002, "-2 ms")]
)
def test_reads_times_as_people_do(value: float, text: str) -> None:
    assert seconds(value) == text


@pytest.mark.parametrize(("value", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (2e6, "2 MB"), (3e9, "3 GB")])
def test_reads_bytes_as_people_do(value: float, text: str) -> None:
    assert octets(value) == text


def test_draws_lines_marks_and_bars_where_they_belong() -> None:
    xs = np.array([0.0, 5.0, 10.0])
    plot = Plot("<Title>", Axis(0, 10, "time", "{:g}".format), Axis(0, 100, "size", "{:g}".format))
    plot.line(xs, xs * 10, "sent", "a & b")
    plot.steps(xs, xs * 10, "limit", "steps")
    plot.ranges([(2.0, 4.0, 0.0, 50.0, "</title><b>")], "lost", "missing")
    plot.ranges([], "nak", "none")
    plot.bars(np.array([0.0, 5.0, 10.0]), np.array([0.0, 100.0]), "sent", "bars")
    figure = ET.fromstring(plot.svg())
    lines = [node.get("points", "").split() for node in figure.iter("polyline")]
    assert [len(points) for points in lines] == [3, 5]
    assert lines[0][0].split(",")[0] == "86.0"
    assert float(lines[0][-1].split(",")[1]) == 12.0
    titles = [title.text for title in figure.iter("title")]
    assert titles == ["</title><b>", "100"]
    assert [text.text for text in figure.iter("text")][-4:] == ["a & b", "steps", "missing", "bars"]
