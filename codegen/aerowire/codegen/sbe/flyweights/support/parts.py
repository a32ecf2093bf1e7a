"""How headers, groups and data are laid out: plain tables that reading and writing share."""

from __future__ import annotations

import re
from collections.abc import Callable
from struct import Struct, calcsize
from typing import TYPE_CHECKING

from .errors import IrregularError

if TYPE_CHECKING:
    from .reading import EntryDecoder
    from .writing import EntryEncoder


class DataPart:
    """Bytes of any length behind a block: where their length is and how far it goes, and what characters they are."""

    __slots__ = ("encoding", "errors", "length", "maximum", "name", "put_length", "since_version", "size")

    def __init__(self, name: str, since_version: int, length: str, size: int, maximum: int, encoding: str, errors: str) -> None:
        """`length` is the format of what stands in front of the bytes, in which the one number is their length."""
        self.name = name
        self.since_version = since_version
        self.length = Struct(length).unpack_from
        self.put_length = packer(Struct(length))
        self.size = size
        self.maximum = maximum
        self.encoding = encoding
        self.errors = errors


class GroupPart:
    """Entries behind a block: the numbers in front of them, and what each is."""

    __slots__ = (
        "decoder",
        "dimensions",
        "encoder",
        "full_block_length",
        "is_flat",
        "maximum",
        "minimum",
        "name",
        "put_dimensions",
        "since_version",
        "size",
    )

    def __init__(
        self,
        name: str,
        since_version: int,
        dimensions: Numbers,
        limits: tuple[int, int],
        decoder: type[EntryDecoder],
        encoder: type[EntryEncoder],
    ) -> None:
        """`dimensions` are block length and count; `limits` are those of the count."""
        self.name = name
        self.since_version = since_version
        self.dimensions = dimensions.unpack
        self.put_dimensions = dimensions.pack
        self.size = dimensions.size
        self.minimum, self.maximum = limits
        self.decoder = decoder
        self.encoder = encoder
        self.is_flat = not decoder._PARTS
        self.full_block_length = decoder._BLOCK_LENGTH


class Numbers:
    """Numbers in front of something, wherever the schema puts them: `format` has them at their places and padding between.

    `order` says for each number that is wanted which one of the format it is; `constants` has those that take no bytes.
    """

    __slots__ = ("pack", "size", "unpack")

    def __init__(self, layout: str, order: tuple[int, ...], constants: dict[int, int] | None = None) -> None:
        codec = Struct(layout)
        self.size = codec.size
        self.unpack: Callable[[memoryview, int], tuple[int, ...]] = codec.unpack_from
        self.pack = packer(codec)
        if order != tuple(range(len(order))) or constants:
            self.unpack, self.pack = _permuted(codec, order, constants or {})


def _permuted(
    codec: Struct, order: tuple[int, ...], constants: dict[int, int]
) -> tuple[Callable[[memoryview, int], tuple[int, ...]], Callable[..., None]]:
    """The same for numbers that stand in another order, or of which some are constants."""
    put = packer(codec)
    wanted = len(order) + len(constants)
    places = [one for one in range(wanted) if one not in constants]
    standing = sorted(range(len(order)), key=lambda one: order[one])

    def unpack(view: memoryview, at: int) -> tuple[int, ...]:
        found = codec.unpack_from(view, at)
        result = [constants.get(one, 0) for one in range(wanted)]
        for place, one in zip(places, order, strict=True):
            result[place] = found[one]
        return tuple(result)

    def pack(view: memoryview, at: int, *values: int) -> None:
        given = [values[place] for place in places]
        put(view, at, *(given[one] for one in standing))

    return unpack, pack


def packer(codec: Struct) -> Callable[..., None]:
    """What packs numbers and leaves the bytes between them as they are, which may be members of the user's: `struct` clears them."""
    order, items = codec.format[0], re.findall(r"[0-9]*x|[a-zA-Z]+", codec.format.replace("x", "x "))
    if not any(item.endswith("x") for item in items):
        return codec.pack_into
    runs: list[tuple[Callable[..., None], int, slice]] = []
    at = count = 0
    for item in items:
        if not item.endswith("x"):
            runs.append((Struct(order + item).pack_into, at, slice(count, count + len(item))))
            count += len(item)
        at += calcsize(order + item)

    def pack(view: memoryview, start: int, *values: int) -> None:
        for put, offset, which in runs:
            put(view, start + offset, *values[which])

    return pack


def check_head(
    header: Numbers, head: bytes, offset: int, view: bytes | memoryview, block_length: int, template_id: int, schema_id: int, version: int
) -> None:
    """Raise IrregularError unless a header announces a block of that length, of that message, that is not older than a version.

    Nor is a buffer regular whose items are no bytes.
    """
    found = header.unpack(memoryview(head), 0)
    if offset < 0 or found[:3] != (block_length, template_id, schema_id) or found[3] < version:
        raise IrregularError
    if isinstance(view, memoryview) and view.format != "B":
        raise IrregularError
