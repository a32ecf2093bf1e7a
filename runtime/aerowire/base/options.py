"""Options of driver and clients: from keyword arguments, `aeron.*` properties and `AERON_*` environment.

The table of options is generated from spec/; this module only reads values and checks their form. Strongest first: keyword,
property, environment, default.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import SupportsFloat, SupportsIndex, TypeAlias

from aerowire.base import arguments, units
from aerowire.base.errors import ConfigurationError, UnknownOptionError
from aerowire.codecs.tables.option import Option
from aerowire.codecs.tables.options import OPTIONS

OptionValue: TypeAlias = "int | float | bool | str | None"

PROPERTY_PREFIX = "aeron."

# Components whose properties stand in the same files and command lines; each reads its own.
_OTHER_COMPONENTS = (
    "aeron.archive.",
    "aeron.cluster.",
    "aeron.log.inspector.",
    "aeron.sample.",
    "aeron.samples.",
    "aeron.spy.",
    "aeron.stress.",
    "aeron.test.",
)
# Known to the official programs only: what they set there has no counterpart here.
_OFFICIAL_ONLY = (
    "aeron.debug.timeout",
    "aeron.event.archive.log",
    "aeron.event.archive.log.disable",
    "aeron.event.cluster.log",
    "aeron.event.cluster.log.disable",
    "aeron.fallback.logger",
    "aeron.secure.random.algorithm",
)
# What else stands behind -D where the official driver is started: options of the Java machine and of its libraries.
_JAVA_PREFIXES = ("agrona.", "com.", "io.", "java.", "javax.", "jdk.", "org.", "sun.")


class ResolvedOptions(dict[str, OptionValue]):
    """A value for every option by name; `given` says which of them somebody set."""

    def __init__(self, values: Mapping[str, OptionValue], given: Iterable[str]) -> None:
        super().__init__(values)
        self.given = frozenset(given)


def resolve_options(
    scopes: Collection[str],
    overrides: Mapping[str, object],
    properties: Mapping[str, str],
    environ: Mapping[str, str] | None = None,
) -> ResolvedOptions:
    """Return a value for every option of `scopes`.

    `overrides` is keyed by option name and holds typed values or text ("64k"); `properties` by property name. An option
    whose default is another option's value takes that value after it is resolved. Raises UnknownOptionError for a name
    that no option has, ConfigurationError for a value that an option cannot have.
    """
    environ = os.environ if environ is None else environ
    table = {name: option for name, option in OPTIONS.items() if not set(scopes).isdisjoint(option.scopes)}
    for name in overrides:
        if name not in table:
            raise _unknown(name, table)
    check_properties(arguments.properties("properties", properties))
    given: dict[str, OptionValue] = {}
    for name, option in table.items():
        if name in overrides and overrides[name] is not None:
            given[name] = _coerce(option, overrides[name], name)
        elif option.property in properties:
            given[name] = _parse(option, properties[option.property], option.property)
        elif environ.get(option.env):
            given[name] = _parse(option, environ[option.env], option.env)
    return ResolvedOptions({name: _value(name, given, ()) for name in table}, given)


def is_in_environment(option: Option) -> bool:
    """Return whether a variable of this process's environment sets the option."""
    return bool(os.environ.get(option.env))


def check_properties(properties: Mapping[str, str]) -> None:
    """Raise UnknownOptionError for an `aeron.*` property that no option and no other component has."""
    known = {option.property for option in OPTIONS.values()}
    for name in properties:
        if name.startswith(PROPERTY_PREFIX) and name not in known and not name.startswith(_OTHER_COMPONENTS) and name not in _OFFICIAL_ONLY:
            raise _unknown(name, known)


def parse_definitions(definitions: Iterable[str]) -> dict[str, str]:
    """Turn `name=value` texts, as they stand behind -D, into properties.

    Raises ConfigurationError for a text of another form and UnknownOptionError for a name that is neither an `aeron.*` property nor Java's.
    """
    properties: dict[str, str] = {}
    for text in definitions:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise ConfigurationError("a property definition is malformed", where="-D", expected="name=value", actual=repr(text))
        name = name.strip()
        if not name.startswith((PROPERTY_PREFIX, *_JAVA_PREFIXES)):
            raise _unknown(name, [option.property for option in OPTIONS.values()])
        properties[name] = value.strip()
    return properties


def _value(name: str, given: Mapping[str, OptionValue], chain: tuple[str, ...]) -> OptionValue:
    if name in given:
        return given[name]
    option = OPTIONS[name]
    if option.default_of is not None and option.default_of not in chain:
        return _value(option.default_of, given, (*chain, name))
    return option.default


def _parse(option: Option, text: str, where: str) -> OptionValue:
    if option.choices:
        return _choice(option, text, where)
    text = text.strip()
    if option.kind == "duration_ns" and option.unit != "ns" and text[-1:].isdigit():
        text += option.unit
    return _PARSERS[option.kind](where, text)


def _parse_double(where: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigurationError(f"{where} is not a number", where=where, expected="a number", actual=repr(text)) from None


def _parse_long(where: str, text: str) -> int:
    return units.parse_integer(where, text, units.INT64_MIN, units.INT64_MAX)


_PARSERS: Mapping[str, Callable[[str, str], OptionValue]] = {
    "size": units.parse_size,
    "duration_ns": units.parse_duration_ns,
    "bool": units.parse_boolean,
    "int": _parse_long,
    "double": _parse_double,
    "str": lambda _where, text: text,
    "enum": lambda _where, text: text,
}

_TYPES: Mapping[str, tuple[type, ...]] = {
    "size": (int,),
    "duration_ns": (int,),
    "bool": (bool,),
    "int": (int,),
    "double": (int, float),
    "str": (str,),
    "enum": (str,),
}


def _coerce(option: Option, value: object, where: str) -> OptionValue:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return _parse(option, value, where)
    allowed = _TYPES[option.kind]
    value = _plain(value, allowed)
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
        raise arguments.wrong_type(name_of(option), value, _expected(option), where)
    assert isinstance(value, (int, float, str))
    return value


def _plain(value: object, allowed: tuple[type, ...]) -> object:
    """A number as Python's own, whatever library it is of; anything else as it is."""
    if isinstance(value, bool | int | float):
        return value
    if int in allowed and isinstance(value, SupportsIndex):
        return int(value)
    return float(value) if float in allowed and isinstance(value, SupportsFloat) else value


def _choice(option: Option, text: str, where: str) -> str:
    for choice in option.choices:
        if choice.lower() == text.strip().lower():
            return choice
    raise ConfigurationError(f"{name_of(option)} has an unknown value", where=where, expected=" | ".join(option.choices), actual=repr(text))


def name_of(option: Option) -> str:
    """Return the name by which an operator knows an option."""
    return option.property


def _expected(option: Option) -> str:
    return {"size": "bytes, or text such as 64k", "duration_ns": "nanoseconds, or text such as 200ms"}.get(
        option.kind, " or ".join(sorted({kind.__name__ for kind in _TYPES[option.kind]}))
    )


def _unknown(name: str, known: Iterable[str]) -> UnknownOptionError:
    names = list(known)
    # Less alike, names that only share their words would be suggested.
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.75) or difflib.get_close_matches(
        PROPERTY_PREFIX + name, names, n=1, cutoff=0.75
    )
    return UnknownOptionError(
        "there is no such option",
        where=name,
        expected="the name of an option",
        actual=repr(name),
        hint=f"did you mean '{close[0]}'?" if close else "`aerowire driver --options` lists them",
    )
