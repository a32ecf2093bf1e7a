"""Lines of JSON as messages; a line that is none is told with its number."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from aerowire.codegen.sbe.interpreter.errors import MessageError, shown
from aerowire.codegen.sbe.interpreter.json_codec import JsonCodec
from aerowire.codegen.sbe.transcoding.decoding import check_line, numbered
from aerowire.codegen.sbe.transcoding.window import Window


@dataclass(frozen=True, slots=True)
class Line:
    """A line's number and its message, or what is wrong with it."""

    number: int
    message: bytes
    error: MessageError | None = None


def encode_lines(codec: JsonCodec, window: Window) -> Iterator[Line]:
    """One message for each line that holds something."""
    for number, line in numbered(window):
        try:
            check_line(line, window)
            yield Line(number, codec.encode(parse_json(line)))
        except MessageError as error:
            yield Line(number, b"", error)


def parse_json(line: bytes) -> Any:
    """The value of a line.  Stricter than Python: no key twice, and no NaN, which JSON does not have."""
    try:
        return json.loads(line.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse)
    except MessageError:
        raise
    except json.JSONDecodeError as error:
        raise MessageError(f"is no JSON: {error.msg} (column {error.colno})") from None
    except UnicodeDecodeError as error:
        raise MessageError(f"is no UTF-8 (byte {error.start + 1} of the line)") from None
    except RecursionError:
        raise MessageError("is nested too deep") from None
    except ValueError as error:  # a number of thousands of digits
        raise MessageError(f"is no JSON: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise MessageError("has a key twice", actual=shown(name))
        found[name] = value
    return found


def _refuse(name: str) -> NoReturn:
    raise MessageError("is no JSON number", expected='a number, "0/0" for NaN, "1/0" or "-1/0" for the infinities', actual=name)
