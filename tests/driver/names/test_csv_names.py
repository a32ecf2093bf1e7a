"""Names from a table: what the C driver's options say of it, and what an operator turns with the counters of its rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from aerowire.base.errors import ConfigurationError
from aerowire.codecs.flyweights import cnc, commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import CounterType, parse_label
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.context import Context
from aerowire.driver.names.csv_names import CsvNames, CsvRow, csv_rows
from aerowire.ipc.counters import CountersManager
from aerowire.system.names import NameResolver
from tests.driver.conftest import RawClient

SUPPLIER = "aeron.name.resolver.supplier"
ARGUMENTS = "aeron.name.resolver.init.args"
TABLE = "aeron.name.resolver.csv.lookup.table.args"


def rows(text: str, *, supplier: str = "csv_table", option: str = ARGUMENTS) -> list[CsvRow]:
    return csv_rows(Context(environ={}, properties={SUPPLIER: supplier, option: text}).options)


def names(*table: CsvRow, below: NameResolver = lambda _host: None) -> tuple[CsvNames, CountersManager]:
    manager = CountersManager(bytearray(64 * 512), bytearray(64 * 128))
    return CsvNames(list(table), below=below, counters=manager), manager


@pytest.mark.parametrize("supplier", ["csv_table", "aeron_csv_table_name_resolver_supplier"])
@pytest.mark.parametrize("option", [ARGUMENTS, TABLE])
def test_a_table_is_rows_of_three_columns(supplier: str, option: str) -> None:
    assert rows("a,10.0.0.1,10.0.0.2|b,c,d", supplier=supplier, option=option) == [
        CsvRow("a", "10.0.0.1", "10.0.0.2"),
        CsvRow("b", "c", "d"),
    ]


@pytest.mark.parametrize("text", ["|a,b,c|", "a,b,c||", ",a,,b,c", "x,y|a,b,c", "1,2,3,4|a,b,c"])
def test_what_is_empty_or_has_another_number_of_columns_is_passed_over(text: str) -> None:
    assert rows(text) == [CsvRow("a", "b", "c")]


def test_the_arguments_come_before_the_table() -> None:
    properties = {SUPPLIER: "csv_table", ARGUMENTS: "a,b,c", TABLE: "d,e,f"}
    assert csv_rows(Context(environ={}, properties=properties).options) == [CsvRow("a", "b", "c")]


def test_a_table_that_cannot_be_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"a table of names is wanted.*aeron\.name\.resolver\.init\.args"):
        Context(environ={}, properties={SUPPLIER: "csv_table"})
    with pytest.raises(ConfigurationError, match=r"too long.*at most 1024 rows; got 1025"):
        rows("a,b,c|" * 1025)


def test_arguments_have_an_effect_with_a_table_only() -> None:
    properties = {ARGUMENTS: "a,b,c"}
    assert [text.partition(":")[0] for text in Context(environ={}, properties=properties).options_without_effect()] == [ARGUMENTS]
    assert Context(environ={}, properties={SUPPLIER: "csv_table", **properties}).options_without_effect() == []


def test_the_counter_of_a_row_says_which_host_a_name_stands_for() -> None:
    resolve, counters = names(CsvRow("exchange", "10.0.0.1", "there"), below={"there": "10.0.0.2", "else": "10.0.0.3"}.get)
    found = []
    for state in (cnc.NAME_ENTRY_FIRST_HOST, cnc.NAME_ENTRY_OTHER_HOST, cnc.NAME_ENTRY_UNKNOWN):
        counters.set_value(0, state)
        found.append(resolve("exchange"))
    assert found == ["10.0.0.1", "10.0.0.2", None]
    assert (resolve("else"), resolve("Exchange")) == ("10.0.0.3", None)


def test_a_row_s_counter_is_the_c_driver_s() -> None:
    _, counters = names(CsvRow("n" * 120, "h", "o"))
    assert counters.type_id(0) == int(CounterType.NAME_RESOLVER_CSV_ENTRY) == 2001
    assert counters.label(0) == f"NameEntry{{name='{'n' * 120}', initialResolutionHost='h', reResolutionHost='o'}}"
    assert parse_label(2001, counters.label(0)) == {"entry_name": "n" * 120, "host": "h", "other_host": "o"}
    assert counters.key(0) == (108).to_bytes(4, "little") + b"n" * 108


def test_a_driver_resolves_the_names_of_its_table(launch: Callable[..., RawClient]) -> None:
    client = launch(properties={SUPPLIER: "csv_table", ARGUMENTS: "an-exchange,127.0.0.1,127.0.0.2"})
    channel = "aeron:udp?endpoint=an-exchange:0"
    (row,) = [item for item in client.cnc.counters_reader().for_each() if item.type_id == CounterType.NAME_RESOLVER_CSV_ENTRY]
    bound = []
    for state in (cnc.NAME_ENTRY_FIRST_HOST, cnc.NAME_ENTRY_OTHER_HOST):
        client.set_counter(row.counter_id, state)
        subscription = client.add_subscription(channel, 1001)
        client.take(CommandType.ON_SUBSCRIPTION_READY, subscription)
        bound += [label.rpartition(" ")[2].partition(":")[0] for label in client.labels() if label.startswith("rcv-local-sockaddr")]
        client.request(CommandType.REMOVE_SUBSCRIPTION, commands.RemoveSubscriptionEncoder, registration_id=subscription)
        client.work_until(lambda: not any(label.startswith("rcv-") for label in client.labels()))
    assert bound == ["127.0.0.1", "127.0.0.2"]
    client.set_counter(row.counter_id, cnc.NAME_ENTRY_UNKNOWN)
    code, message = client.error_of(client.add_subscription(channel, 1001))
    assert (code, "an-exchange" in message) == (ErrorCode.UNKNOWN_HOST, True)
