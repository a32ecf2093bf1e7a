"""Up to where growing captures were read: the places kept before, and what a checkpoint holds."""

from __future__ import annotations

import random

import pytest

from aerowire.pcap.files.places import Place
from aerowire.pcap.spark import offsets
from aerowire.pcap.spark.offsets import BEGINNING, Reached


def test_keeps_a_place_early_enough_and_few_of_them(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(offsets, "SPAN", 1000)
    rng = random.Random(seed)
    reached, passed = Reached(BEGINNING), [0]
    assert reached.before is None
    for _ in range(500):
        reached = reached.on(Place(reached.place.position + rng.randint(1, 300), None, (0, rng.randrange(9))))
        assert reached.before is not None
        position = reached.before.position
        assert position in passed, f"seed {seed}"
        assert position == 0 or reached.place.position - position >= 1000
        assert reached.place.position - position < 1000 + 500 + 300 + 300
        assert len(reached.earlier) <= 6
        passed.append(reached.place.position)
        assert Reached.from_value(reached.to_value()) == reached


def test_reads_what_a_checkpoint_without_earlier_places_holds() -> None:
    found = Reached.from_value({"position": 9000, "blocks": "0,28", "packets": 7})
    assert found == Reached(Place(9000, 7, (0, 28)))
    assert found.before is None
    assert found.on(Place(9500, 8, (0, 28))).before == Place(9000, None, (0, 28))
    assert Reached(Place(5, None), (Place(0, None), Place(3, None, (0, 28)))).to_value() == {
        "position": 5,
        "blocks": "",
        "earlier": "0:;3:0,28",
    }
