"""Names from a table: each stands for one host or another, or for none, as an operator sets the counter of its row.

A table is rows with | between, a row `name,host,other host`. Aeron: aeron_csv_table_name_resolver.c.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aerowire.base.errors import ConfigurationError
from aerowire.codecs.flyweights import cnc
from aerowire.codecs.tables.counters import CounterType, format_label
from aerowire.codecs.tables.options import OPTIONS

if TYPE_CHECKING:
    from aerowire.ipc.counters import CountersManager
    from aerowire.system.names import NameResolver

# What the option of the resolver may say for a table.
CSV_TABLES = ("csv_table", "aeron_csv_table_name_resolver_supplier")
# The C driver reads the first; the second, which it has a name for and does not read, is the table where the first is empty.
TABLE_OPTIONS = ("name_resolver_init_args", "name_resolver_csv_lookup_table_args")

# Each row is a counter of the driver's, so that a table is bounded as the C driver bounds it.
_ROWS_MAX = 1024


@dataclass(frozen=True, slots=True)
class CsvRow:
    """A name, the host that it stands for at first, and the host that it may be turned to."""

    name: str
    host: str
    other_host: str


def csv_rows(values: Mapping[str, object]) -> list[CsvRow]:
    """Return the rows of the table that the options hold, none without such a resolver. A row that has not three columns is passed over.

    Raises ConfigurationError when there is no table, or one with too many rows.
    """
    if values["name_resolver_supplier"] not in CSV_TABLES:
        return []
    option = next((option for option in TABLE_OPTIONS if values[option]), TABLE_OPTIONS[0])
    text, where = str(values[option] or ""), OPTIONS[option].property
    if not text:
        raise ConfigurationError(
            "a table of names is wanted and not there", where=where, expected="NAME,HOST,OTHER_HOST|...", actual="nothing"
        )
    rows = _split(text, "|")
    if len(rows) > _ROWS_MAX:
        raise ConfigurationError("a table of names is too long", where=where, expected=f"at most {_ROWS_MAX} rows", actual=len(rows))
    return [CsvRow(*columns) for columns in (_split(row, ",") for row in rows) if len(columns) == len(CsvRow.__dataclass_fields__)]


class CsvNames:
    """Resolves the names of a table, and what they stand for with the resolver below it, as every name that is not in the table.

    Each row has a counter, which anybody may set: NAME_ENTRY_FIRST_HOST, NAME_ENTRY_OTHER_HOST, NAME_ENTRY_UNKNOWN.
    """

    def __init__(self, rows: list[CsvRow], *, below: NameResolver, counters: CountersManager) -> None:
        self._below = below
        self._counters = counters
        self._rows = [(row, self._allocate(row)) for row in rows]

    def __call__(self, host: str, /) -> str | None:
        """Return the numeric address of a host, or None. May block; any thread."""
        name = host
        # Of rows with one name the last decides, except that one which is switched off stops the look-up.
        for row, counter_id in self._rows:
            if row.name == name:
                state = self._counters.value(counter_id)
                if state == cnc.NAME_ENTRY_UNKNOWN:
                    return None
                host = {cnc.NAME_ENTRY_FIRST_HOST: row.host, cnc.NAME_ENTRY_OTHER_HOST: row.other_host}.get(state, host)
        try:
            return str(ipaddress.ip_address(host))
        except ValueError:
            return self._below(host)

    def _allocate(self, row: CsvRow) -> int:
        name = row.name.encode()[: cnc.NAME_ENTRY_NAME_LENGTH_MAX]
        return self._counters.allocate(
            format_label(CounterType.NAME_RESOLVER_CSV_ENTRY, entry_name=row.name, host=row.host, other_host=row.other_host),
            CounterType.NAME_RESOLVER_CSV_ENTRY,
            cnc.NameEntryKeyEncoder.encode(entry_name=name),
        )


def _split(text: str, separator: str) -> list[str]:
    """Split as the C driver does: what is empty is not there, and nothing is trimmed."""
    return [part for part in text.split(separator) if part]
