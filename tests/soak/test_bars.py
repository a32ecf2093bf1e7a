"""The long bars at a size that fits; `make soak` runs the same code at full size."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak.bars import Part, Size
from tests.soak.catalogue import BARS
from tests.soak.run import chosen_parts, main

SMALL = [pytest.param(part, id=f"{name}/{part.name}") for name, bar in BARS.items() for part in bar(Size.SMALL)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", SMALL)
def test_bar_at_small_size(part: Part, tmp_path: Path) -> None:
    print(f"seed {part.seed}: {part.run(tmp_path)}")


def test_bars_and_parts_are_chosen_by_name() -> None:
    names = [name for name, _ in chosen_parts(["fuzz-native/ring-0", "setup-flood"], Size.FULL)]
    assert names[:2] == ["fuzz-native/ring-00", "fuzz-native/ring-01"]
    assert names[10:] == ["setup-flood/dedicated", "setup-flood/shared"]
    with pytest.raises(SystemExit):
        main(["fuzz-native/no-such-part"])
