"""Options of all components: from keyword arguments, `aeron.*` properties and `AERON_*` environment.

The tables of options are generated from spec/; this module only reads values and checks their form. The source with the highest
priority wins: keyword, property, environment, default.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from typing import NamedTuple, SupportsFloat, SupportsIndex, TypeAlias

from aerowire.base import arguments, units
from aerowire.base.errors import ConfigurationError, UnknownOptionError
from aerowire.codecs.tables import archive_options, cluster_options, options
from aerowire.codecs.tables.option import Option

OptionValue: TypeAlias = "int | float | bool | str | None"

PROPERTY_PREFIX = options.PREFIX


class _Table(NamedTuple):
    """Options of some components; properties that begin with `prefix` are theirs alone."""

    prefix: str
    options: Mapping[str, Option]


_TABLES = tuple(_Table(table.PREFIX, table.OPTIONS) for table in (options, archive_options, cluster_options))
_BY_PROPERTY = {**cluster_options.OPTION_BY_PROPERTY, **archive_options.OPTION_BY_PROPERTY, **options.OPTION_BY_PROPERTY}

# Programs whose properties stand in the same files and command lines; each reads its own.
_OTHER_PROGRAMS = (
    "aeron.cluster.tutorial.",
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
    """Return a value for every option of `scopes`: the names of components in the tables of options, such as driver or archive-client.

    `overrides` is keyed by option name and holds typed values or text ("64k"); `properties` by property name. An option
    whose default is another option's value takes that value after it is resolved. Raises UnknownOptionError for a name
    that no option has, ConfigurationError for a value that an option cannot have.
    """
    table = options_of(scopes)
    for name in overrides:
        if name not in table:
            raise _unknown(name, table)
    check_properties(arguments.properties("properties", properties), scopes)
    sources = _Sources(table, overrides, properties, os.environ if environ is None else environ)
    return ResolvedOptions({name: sources.value(option) for name, option in table.items()}, sources.given)


def options_of(scopes: Collection[str]) -> dict[str, Option]:
    """Return the options that the components named `scopes` read, by name."""
    return dict(_options_of(frozenset(scopes)))


@cache
def _options_of(scopes: frozenset[str]) -> dict[str, Option]:
    return {name: option for table in _TABLES for name, option in table.options.items() if not scopes.isdisjoint(option.scopes)}


def is_in_environment(option: Option) -> bool:
    """Return whether a variable of this process's environment sets the option."""
    return bool(os.environ.get(option.env))


def check_properties(properties: Mapping[str, str], scopes: Collection[str]) -> None:
    """Raise UnknownOptionError for an `aeron.*` property that no option has.

    What begins like the properties of components other than `scopes` passes: they may know it.
    """
    others = _other_prefixes(frozenset(scopes))
    for name in properties:
        if name.startswith(PROPERTY_PREFIX) and name not in _BY_PROPERTY and not name.startswith(others) and name not in _OFFICIAL_ONLY:
            raise _unknown(name, _BY_PROPERTY)


@cache
def _other_prefixes(scopes: frozenset[str]) -> tuple[str, ...]:
    """Return what the properties of other programs, and of components other than `scopes`, begin with."""
    own = {table.prefix for table in _TABLES if any(not scopes.isdisjoint(option.scopes) for option in table.options.values())}
    return (*_OTHER_PROGRAMS, *(table.prefix for table in _TABLES if table.prefix not in own | {PROPERTY_PREFIX}))


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
        if not name.startswith((PROPERTY_PREFIX, *_JAVA_PREFIXES)) and name not in _BY_PROPERTY:
            raise _unknown(name, _BY_PROPERTY)
        properties[name] = value.strip()
    return properties


class _Sources:
    """Where values come from, for options of `table` and for options of other components that they follow."""

    def __init__(
        self, table: Mapping[str, Option], overrides: Mapping[str, object], properties: Mapping[str, str], environ: Mapping[str, str]
    ) -> None:
        self._table = table
        self._properties = properties
        self._environ = environ
        # The options of the table that were set.
        self.given: dict[str, OptionValue] = {}
        for name, option in table.items():
            override = overrides.get(name)
            value = self._set_elsewhere(option) if override is None else _coerce(option, override, name)
            if value is not None:
                self.given[name] = value

    def value(self, option: Option, chain: tuple[Option, ...] = ()) -> OptionValue:
        """Return the value that holds; `chain` are the options that led to this one, whose defaults are each the next one's value."""
        value = self.given.get(option.name) if self._table.get(option.name) is option else self._set_elsewhere(option)
        if value is not None:
            return value
        followed = _followed(option)
        return option.default if followed is None or followed in chain else self.value(followed, (*chain, option))

    def _set_elsewhere(self, option: Option) -> OptionValue:
        """Return the value that a property or the environment gives, or None."""
        if option.property in self._properties:
            return _parse(option, self._properties[option.property], option.property)
        text = self._environ.get(option.env)
        return _parse(option, text, option.env) if text else None


def _followed(option: Option) -> Option | None:
    """Return the option whose value is the default of this one."""
    if option.default_of is None:
        return None
    if option.default_of in _BY_PROPERTY:
        return _BY_PROPERTY[option.default_of]
    return next(table.options[option.default_of] for table in _TABLES if table.options.get(option.name) is option)


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
    from difflib import get_close_matches  # slow to load, and only a mistake needs it

    # Less alike, names that only share their words would be suggested.
    close = get_close_matches(name, names, n=1, cutoff=0.75) or get_close_matches(PROPERTY_PREFIX + name, names, n=1, cutoff=0.75)
    return UnknownOptionError(
        "there is no such option",
        where=name,
        expected="the name of an option",
        actual=repr(name),
        hint=f"did you mean '{close[0]}'?" if close else "`aerowire driver --options` lists the driver's",
    )
