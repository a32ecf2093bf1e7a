"""The options of a component with their defaults, as `--options` prints them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aerowire.codecs.tables.option import Option


def print_options(options: Mapping[str, Option], scope: str) -> None:
    """Print the options of a table that a component reads, each with its default and its description."""
    for option in options.values():
        if scope in option.scopes:
            print(f"{option.property}={_default(option, options)}\n    {option.description}")


def _default(option: Option, options: Mapping[str, Option]) -> str:
    if option.default_of is None:
        return _written(option)
    followed = options.get(option.default_of)
    return f"that of {option.default_of if followed is None else followed.property}"


def _written(option: Option) -> str:
    from aerowire.base.units import format_duration, format_size

    value = option.default
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int) and option.kind in {"size", "duration_ns"}:
        return format_size(value) if option.kind == "size" else format_duration(value)
    return str(value)
