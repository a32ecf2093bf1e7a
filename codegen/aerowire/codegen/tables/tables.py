"""Tables of options, counters and error codes: rows, no layout."""

from __future__ import annotations

from dataclasses import dataclass

from aerowire.codegen.names import pascal


@dataclass(frozen=True, slots=True)
class OptionRow:
    """One option.  `default` is a literal of its kind, or None.

    `default_of` is the option that it follows: its name in the same table, or its property where it stands in another one.
    `section` is the title of the part of the file that it stands in, or empty.
    """

    name: str
    property: str
    environment: str
    kind: str
    unit: str
    default: int | float | bool | str | None
    default_of: str | None
    scopes: tuple[str, ...]
    choices: tuple[str, ...]
    description: str
    section: str


@dataclass(frozen=True, slots=True)
class LabelField:
    """A named part of a label; `kind` is int or text."""

    name: str
    kind: str
    description: str


@dataclass(frozen=True, slots=True)
class SystemCounterRow:
    """A counter that every driver has.  `suffix` is a format for what a driver appends to the label."""

    id: int
    name: str
    label: str
    suffix: str
    description: str


@dataclass(frozen=True, slots=True)
class CounterTypeRow:
    """A kind of counter; `label` is a format with named fields, or empty where others define it; `suffix` may be appended later."""

    id: int
    name: str
    label: str
    suffix: str
    key: str
    description: str


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """An error by its number."""

    code: int
    name: str
    description: str


@dataclass(frozen=True, slots=True)
class OptionTable:
    """Options of some components, in the order of the file; properties that begin with `prefix` are theirs alone."""

    name: str
    prefix: str
    description: str
    rows: tuple[OptionRow, ...]


@dataclass(frozen=True, slots=True)
class CounterTable:
    """The counters that every driver has, the kinds of all others, and the fields that their labels name."""

    description: str
    fields: tuple[LabelField, ...]
    system: tuple[SystemCounterRow, ...]
    types: tuple[CounterTypeRow, ...]


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """Error codes of one component, in the order of the file."""

    name: str
    description: str
    codes: tuple[ErrorRow, ...]

    @property
    def enum_name(self) -> str:
        """The name of the codes' type: `errors` are of ErrorCode, `archive_errors` of ArchiveErrorCode."""
        return pascal(self.name.removesuffix("s")) + "Code"


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a project by their names; `counters` is None where its folder has none."""

    options: tuple[OptionTable, ...]
    counters: CounterTable | None
    errors: tuple[ErrorTable, ...]
