"""From Arrow to the numbers and bytes that messages have: the way back of each kind of column in the generated tables."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
from numpy.typing import NDArray

# Text is written with a mark of its byte order, big-endian, as the data classes and Java write it.
MARKS: Final = {"utf-16": ("utf-16-be", codecs.BOM_UTF16_BE), "utf-32": ("utf-32-be", codecs.BOM_UTF32_BE)}
UNKNOWN: Final = "UNKNOWN_"


class UnfitError(Exception):
    """The value of an index, among those converted at once, cannot be written: the path of its column, and what is wrong."""

    def __init__(self, index: int, path: str, what: str) -> None:
        super().__init__(index, path, what)
        self.index = index
        self.path = path
        self.what = what


@dataclass(frozen=True)
class Target:
    """Where the values of a column go: its place in a block, and its name in errors."""

    layout: Any
    path: str

    @property
    def kind(self) -> np.dtype[Any]:
        """The type of one value, in the machine's byte order."""
        kind: np.dtype[Any] = np.dtype(self.layout.format).newbyteorder("=")
        return kind

    def absent(self, array: Any) -> Any:
        """Return what stands for null.  Raises UnfitError when there is a null in `array` that nothing stands for."""
        if self.layout.null is not None:
            return self.layout.null
        if array.null_count and not self.layout.since_version:
            raise UnfitError(first(array.is_null()), self.path, "expected a value, found null: the field is not optional")
        return self.layout.fill


def first(is_it: Any) -> int:
    """The index of the first truth."""
    return int(pc.index(is_it, True).as_py())


def numbers(target: Target, array: Any) -> NDArray[Any]:
    """Numbers, or lists of as many as the field has."""
    if not target.layout.shape:
        return _numbers(target, array, target.absent(array))
    (length,) = target.layout.shape
    if pa.types.is_null(array.type):
        array = array.cast(pa.list_(pa.from_numpy_dtype(target.kind)))
    if not (pa.types.is_list(array.type) or pa.types.is_large_list(array.type) or pa.types.is_fixed_size_list(array.type)):
        raise UnfitError(0, target.path, f"expected lists, found {array.type}")
    lengths = pc.list_value_length(array)
    wrong = pc.fill_null(pc.not_equal(lengths, length), False)
    if pc.any(wrong).as_py():
        raise UnfitError(first(wrong), target.path, f"expected {length} elements, found {lengths[first(wrong)]}")
    flat = array.flatten()
    if flat.null_count:
        present = np.flatnonzero(np.asarray(array.is_valid()))
        raise UnfitError(int(present[first(flat.is_null()) // length]), target.path, "expected a value for each element, found null")
    values = np.full((len(array), length), target.absent(array), target.kind)
    values[np.asarray(array.is_valid())] = _numbers(target, flat, 0).reshape(-1, length)
    return values


def _numbers(target: Target, array: Any, absent: Any) -> NDArray[Any]:
    type_ = pa.from_numpy_dtype(target.kind)
    try:
        cast = array.cast(type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise _unfit(target, array, type_) from None
    return np.asarray(pc.fill_null(cast, pa.scalar(absent, type_)) if cast.null_count else cast)


def _unfit(target: Target, array: Any, type_: Any) -> UnfitError:
    """Which value is none of the type: looked for by halves."""
    low, high = 0, len(array)
    while high - low > 1:
        middle = (low + high) // 2
        try:
            array.slice(low, middle - low).cast(type_)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            high = middle
        else:
            low = middle
    return UnfitError(low, target.path, f"expected {type_}, found {array[low].as_py()!r}" if len(array) else f"expected {type_}")


def characters(target: Target, array: Any) -> NDArray[Any]:
    """A character of Latin-1 each."""
    absent = target.absent(array)
    return _by_distinct(target, _texts(target, array), _character, absent)


def _character(text: str) -> bytes:
    raw = text.encode("latin-1")
    if len(raw) != 1:
        raise ValueError(f"expected one character, found {text!r}")
    return raw


def texts(target: Target, array: Any, encoding: str) -> NDArray[Any]:
    """Characters padded with NUL."""
    absent = target.absent(array)
    raw = encoded(target, array, encoding)
    size = target.kind.itemsize
    lengths = np.asarray(pc.fill_null(pc.binary_length(raw), 0)).astype(np.int64)
    if (lengths > size).any():
        index = int((lengths > size).argmax())
        raise UnfitError(index, target.path, f"expected at most {size} bytes, found {lengths[index]}: {array[index].as_py()!r}")
    octets = np.zeros((len(raw), size), np.uint8)
    octets[np.arange(size) < lengths[:, None]] = flat_bytes(raw)
    values: NDArray[Any] = octets.view(f"S{size}").reshape(-1)
    if raw.null_count:
        values[np.asarray(raw.is_null())] = absent
    return values


def enums(target: Target, array: Any, names: tuple[tuple[int, str], ...]) -> NDArray[Any]:
    """The value of a name, or of `UNKNOWN_77`."""
    absent = target.absent(array)
    # The name of the null value may be that of another value too, which is then meant.
    values = {name: value for value, name in sorted(names, key=lambda one: one[0] != target.layout.fill)}

    def value_of(text: str) -> int:
        if text in values:
            return values[text]
        digits = text.removeprefix(UNKNOWN)
        if digits == text or not digits.removeprefix("-").isdecimal():
            raise ValueError(f"expected one of {', '.join(values)} or {UNKNOWN}NUMBER, found {text!r}")
        limits = np.iinfo(target.kind)
        if not limits.min <= int(digits) <= limits.max:
            raise ValueError(f"expected a number from {limits.min} to {limits.max} behind {UNKNOWN}, found {text!r}")
        return int(digits)

    return _by_distinct(target, _texts(target, array), value_of, absent)


def sets(target: Target, array: Any, choices: tuple[tuple[str, int], ...]) -> NDArray[Any]:
    """The bits of the choices that are true."""
    absent = target.absent(array)
    values = np.zeros(len(array), target.kind)
    if pa.types.is_null(array.type):
        return np.full(len(array), absent, target.kind)
    members = members_of(array, target.path, {name for name, _ in choices})
    for name, bit in choices:
        if name in members:
            try:
                is_set = pc.fill_null(members[name].cast(pa.bool_()), False)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise UnfitError(0, f"{target.path}.{name}", f"expected a boolean, found {members[name].type}") from None
            values |= np.asarray(is_set).astype(target.kind) << target.kind.type(bit)
    if array.null_count:
        values[np.asarray(array.is_null())] = absent
    return values


def members_of(array: Any, path: str, known: set[str]) -> dict[str, Any]:
    """The members of structs; where a struct is null, so are they.  Raises UnfitError for one that is not known."""
    if pa.types.is_null(array.type):
        return {}
    if not pa.types.is_struct(array.type):
        raise UnfitError(0, path, f"expected structs, found {array.type}")
    names = [one.name for one in array.type]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UnfitError(0, path, f"has no member {unknown[0]!r}; expected some of {', '.join(sorted(known)) or 'none'}")
    return dict(zip(names, array.flatten(), strict=True))


def _texts(target: Target, array: Any) -> Any:
    try:
        return array.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise UnfitError(0, target.path, f"expected strings, found {array.type}") from None


def _by_distinct(target: Target, array: Any, value_of: Callable[[str], Any], absent: Any) -> NDArray[Any]:
    """A value for each text, found once for each that is different."""
    distinct = array.dictionary_encode()
    found = np.full(len(distinct.dictionary) + 1, absent, target.kind)
    for place, text in enumerate(distinct.dictionary.to_pylist()):
        try:
            found[place] = value_of(text)
        except ValueError as error:
            what = str(error) if not isinstance(error, UnicodeError) else f"expected text of Latin-1, found {text!r}"
            raise UnfitError(int(pc.index(distinct.indices, place).as_py()), target.path, what) from None
    values: NDArray[Any] = found[np.asarray(pc.fill_null(distinct.indices, len(distinct.dictionary)))]
    return values


def encoded(target: Target, array: Any, encoding: str) -> Any:
    """Text to bytes; bytes without an encoding.  Null stays null."""
    if not encoding:
        try:
            return array.cast(pa.binary())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise UnfitError(0, target.path, f"expected bytes, found {array.type}") from None
    text, codec = _texts(target, array), codecs.lookup(encoding).name
    if codec == "utf-8" or (codec == "ascii" and pc.all(pc.string_is_ascii(text), min_count=0).as_py() is not False):
        return text.cast(pa.binary())
    distinct = text.dictionary_encode()
    found: list[bytes] = []
    for one in distinct.dictionary.to_pylist():
        big_endian, mark = MARKS.get(codec, (codec, b""))
        try:
            found.append(mark + one.encode(big_endian) if one else b"")
        except UnicodeError:
            index = int(pc.index(distinct.indices, len(found)).as_py())
            raise UnfitError(index, target.path, f"expected text of {encoding}, found {one!r}") from None
    return pa.DictionaryArray.from_arrays(distinct.indices, pa.array(found, pa.binary())).dictionary_decode()


def flat_bytes(array: Any) -> NDArray[np.uint8]:
    """The bytes of all rows of a binary array, one behind the other; null has none."""
    if array.null_count:
        array = pc.fill_null(array, b"")
    _, places, octets = array.buffers()
    if not len(array) or octets is None or not octets.size:
        return np.empty(0, np.uint8)
    offsets = np.frombuffer(places, np.int32, len(array) + 1, array.offset * 4)
    flat: NDArray[np.uint8] = np.frombuffer(octets, np.uint8)[offsets[0] : offsets[-1]]
    return flat
