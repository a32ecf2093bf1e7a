"""Up to where a growing capture was read, as Spark keeps offsets: numbers and texts.

With it go places some way before, so that whoever reads on first sees the IP fragments that may still be completed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aerowire.pcap.files.places import Place
from aerowire.pcap.packets.fragments import SPAN

BEGINNING = Place(0, 0)


@dataclass(frozen=True, slots=True)
class Reached:
    """A place in a file, and earlier ones. Invariant: these are in order, and only the first may be SPAN bytes or more before the place.

    An offset that was written without earlier ones knows none of before it.
    """

    place: Place
    earlier: tuple[Place, ...] = ()

    @property
    def before(self) -> Place | None:
        """The last known place that is early enough for the fragments that count, or the file's beginning; None where none is known."""
        return self.earlier[0] if self.earlier else None

    def on(self, place: Place) -> Reached:
        """Return what is reached with a later place."""
        earlier = self.earlier
        if not earlier or self.place.position - earlier[-1].position >= SPAN // 2:
            earlier = (*earlier, Place(self.place.position, None, self.place.blocks))
        while len(earlier) > 1 and earlier[1].position <= place.position - SPAN:
            earlier = earlier[1:]
        return Reached(place, earlier)

    def to_value(self) -> dict[str, Any]:
        """Return plain values for an offset."""
        found: dict[str, Any] = {"position": self.place.position, "blocks": _text(self.place.blocks)}
        if self.earlier:
            found["earlier"] = ";".join(f"{place.position}:{_text(place.blocks)}" for place in self.earlier)
        return found if self.place.packet_index is None else {**found, "packets": self.place.packet_index}

    @classmethod
    def from_value(cls, value: Mapping[str, Any]) -> Reached:
        """Return what `to_value` gave, now or in a checkpoint that knew no earlier places."""
        earlier = [part.partition(":") for part in value.get("earlier", "").split(";") if part]
        return cls(
            Place(value["position"], value.get("packets"), _numbers(value["blocks"])),
            tuple(Place(int(position), None, _numbers(blocks)) for position, _, blocks in earlier),
        )


def _text(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",") if number)
