"""What a network may do to datagrams, as a small language: `loss=0.05,loss.of=data+nak,swap=0.1,seed=7`.

Pure: values and how they are written; network.py does it to datagrams.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, fields

from aerowire.codecs.flyweights.transport import FrameHeaderDecoder, FrameType

# Larger windows would hold back more than a receiver's window of the shortest terms may hold.
WINDOW_MAX = 64
DELAY_MS_MAX = 10_000.0


class Kind(enum.StrEnum):
    """Kinds of datagrams that can be lost on purpose."""

    DATA = "data"
    SETUP = "setup"
    STATUS = "status"
    NAK = "nak"


KINDS = {
    FrameType.DATA: Kind.DATA,
    FrameType.PAD: Kind.DATA,
    FrameType.SETUP: Kind.SETUP,
    FrameType.SM: Kind.STATUS,
    FrameType.NAK: Kind.NAK,
}


@dataclass(frozen=True, slots=True)
class Impairment:
    """What happens to datagrams, in either direction. A share is a probability for each datagram; 0 turns a thing off."""

    loss: float = 0.0
    # So many in a row are lost whenever one is.
    loss_burst: int = 1
    loss_every: int = 0
    loss_of: frozenset[Kind] = frozenset(Kind)
    duplicate: float = 0.0
    delay: float = 0.0
    delay_ms: float = 20.0
    # Held back behind the next.
    swap: float = 0.0
    # As many are gathered and released in another order.
    reverse: int = 0
    shuffle: int = 0
    # Damaged so that the protocol calls the rest invalid.
    truncate: float = 0.0
    flip: float = 0.0
    seed: int = 1

    @property
    def is_reordering(self) -> bool:
        """Whether a datagram may arrive behind one that was sent later."""
        return bool(self.delay or self.swap or self.reverse or self.shuffle)

    @classmethod
    def parse(cls, text: str) -> Impairment:
        """Read `loss=0.05,loss.of=data+nak,swap=0.1,seed=7`. Raises ValueError that says what was expected."""
        values: dict[str, object] = {}
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            name, separator, value = part.partition("=")
            name = ALIASES.get(name, name)
            if not separator or name not in READERS:
                raise ValueError(f"impairment {part!r}: expected {', '.join(f'{known}=' for known in READERS)}")
            if name in values:
                raise ValueError(f"impairment {part!r}: {name} was given before; expected each name once")
            try:
                values[name] = READERS[name](value)
            except ValueError as error:
                raise ValueError(f"impairment {part!r}: {error}") from None
        if "loss.burst" in values and not {"loss", "loss.every"} & set(values):
            raise ValueError("impairment 'loss.burst': expected loss= or loss.every= beside it, which begin a burst")
        if "delay.ms" in values and "delay" not in values:
            raise ValueError("impairment 'delay.ms': expected delay= beside it, the share that is delayed")
        return cls(**{name.replace(".", "_"): value for name, value in values.items()})  # type: ignore[arg-type]

    def __str__(self) -> str:
        """Write it as `parse` reads it: what differs from the default, and the seed."""
        parts: list[str] = []
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "seed" or value != item.default:
                text = "+".join(kind for kind in Kind if kind in value) if item.name == "loss_of" else f"{value:g}"
                parts.append(f"{item.name.replace('_', '.')}={value if item.name == 'seed' else text}")
        return ",".join(parts)

    def to_dict(self) -> dict[str, object]:
        """Return plain values for JSON, by the names of the language."""
        values = {item.name.replace("_", "."): getattr(self, item.name) for item in fields(self)}
        return {**values, "loss.of": [kind.value for kind in Kind if kind in self.loss_of]}


def kind_of(datagram: bytes) -> Kind | None:
    """Return the kind of a datagram, None for one that impairments only pass on, reorder, repeat or damage."""
    if len(datagram) < FrameHeaderDecoder.ENCODED_LENGTH:
        return None
    return KINDS.get(FrameHeaderDecoder(datagram).type)  # type: ignore[call-overload, no-any-return]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None


def _share(text: str) -> float:
    value = _number(text)
    if not 0.0 <= value < 1.0:
        raise ValueError("a share is at least 0 and below 1")
    return value


def _whole(text: str, least: int, most: int) -> int:
    if not text.isdecimal() or not least <= int(text) <= most:
        raise ValueError(f"expected a whole number from {least} to {most}")
    return int(text)


def _milliseconds(text: str) -> float:
    value = _number(text)
    if not 0.0 < value <= DELAY_MS_MAX:
        raise ValueError(f"expected milliseconds above 0, {DELAY_MS_MAX:g} at most")
    return value


def _kinds(text: str) -> frozenset[Kind]:
    names = text.split("+")
    unknown = [name for name in names if name not in set(Kind)]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no kind of datagram; expected some of {'+'.join(Kind)}")
    return frozenset(map(Kind, names))


ALIASES = {"reorder": "swap"}
READERS: dict[str, Callable[[str], object]] = {
    "loss": _share,
    "loss.burst": lambda text: _whole(text, 1, 1000),
    "loss.every": lambda text: _whole(text, 2, 1_000_000),
    "loss.of": _kinds,
    "duplicate": _share,
    "delay": _share,
    "delay.ms": _milliseconds,
    "swap": _share,
    "reverse": lambda text: _whole(text, 2, WINDOW_MAX),
    "shuffle": lambda text: _whole(text, 2, WINDOW_MAX),
    "truncate": _share,
    "flip": _share,
    "seed": lambda text: _whole(text, 0, 2**63 - 1),
}
