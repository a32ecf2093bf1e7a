"""Arguments of the client's Python faces: a wrong type or a value out of range is an error of ours that names the argument."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from aerowire.base.errors import ConfigurationError, WrongTypeError
from aerowire.client import Aeron, Counter, Publication, Subscription
from aerowire.driver import MediaDriver


class Client(NamedTuple):
    """A client with one handle of each kind."""

    aeron: Aeron
    counter: Counter
    publication: Publication
    subscription: Subscription


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        MediaDriver.launch_embedded(threading_mode="SHARED", ipc_term_buffer_length=65536) as driver,
        Aeron.connect(driver.aeron_dir) as aeron,
        aeron.add_counter(1001, "number") as counter,
        aeron.add_publication("aeron:ipc", 10) as publication,
        aeron.add_subscription("aeron:ipc", 10) as subscription,
    ):
        yield Client(aeron, counter, publication, subscription)


Call = Callable[[Client, Any], object]
INT64: dict[str, Call] = {
    "value": lambda client, value: setattr(client.counter, "value", value),
    "by": lambda client, value: client.counter.get_and_add(value),
    "to": lambda client, value: client.counter.get_and_set(value),
    "expected": lambda client, value: client.counter.compare_and_set(value, 0),
    "proposed": lambda client, value: client.counter.propose_max(value),
    "result": lambda client, value: client.publication.error_string(value),
    "registration id": lambda client, value: client.aeron.get_publication(value),
    "correlation id": lambda client, value: client.aeron.is_command_active(value),
}
INT32: dict[str, Call] = {
    "stream id": lambda client, value: client.aeron.async_add_publication("aeron:ipc", value),
    "session id": lambda client, value: client.subscription.image_by_session_id(value),
    "type id": lambda client, value: client.aeron.counters_reader.find_by_type_and_registration(value, 1),
    "counter id": lambda client, value: client.aeron.counters_reader.value(value),
}
WRONG_TYPES = [True, False, 1.0, 1.5, math.inf, math.nan, "1", "", b"1", None, [], object(), np.float64(1.5)]


@pytest.mark.parametrize("value", WRONG_TYPES, ids=repr)
@pytest.mark.parametrize("what", [*INT64, *INT32])
def test_a_number_of_another_type_is_refused(client: Client, what: str, value: object) -> None:
    with pytest.raises(WrongTypeError, match=f"{what} has the wrong type.*expected a whole number"):
        (INT64 | INT32)[what](client, value)


@pytest.mark.parametrize("value", [1 << 63, -(1 << 63) - 1, 1 << 200], ids=hex)
@pytest.mark.parametrize("what", list(INT64))
def test_a_number_beyond_64_bits_is_refused(client: Client, what: str, value: int) -> None:
    with pytest.raises(ConfigurationError, match=f"{what} is out of range.*expected -{1 << 63} to .*got {value}"):
        INT64[what](client, value)


@pytest.mark.parametrize("value", [1 << 31, -(1 << 31) - 1, 1 << 200], ids=hex)
@pytest.mark.parametrize("what", list(INT32))
def test_a_number_beyond_32_bits_is_refused(client: Client, what: str, value: int) -> None:
    with pytest.raises(ConfigurationError, match=f"{what} is out of range.*expected -{1 << 31} to .*got {value}"):
        INT32[what](client, value)


@pytest.mark.parametrize("value", [5, np.int32(5), np.uint8(5), np.int64(5)])
def test_whole_numbers_of_numpy_are_numbers(client: Client, value: Any) -> None:
    client.counter.get_and_set(value)
    assert client.counter.value == 5
    assert client.aeron.counters_reader.value(np.int32(client.counter.counter_id)) == 5
    assert client.subscription.image_by_session_id(value) is None


@pytest.mark.parametrize("value", [True, 1.5, b"1s", [], "1.5s", "", "1h", "1" * 5_000, 1 << 63, math.nan])
def test_a_timeout_that_is_none_is_refused_and_names_what_is_expected(client: Client, value: Any) -> None:
    with pytest.raises((WrongTypeError, ConfigurationError), match=r"timeout_ns .*expected"):
        client.aeron.add_publication("aeron:ipc", 10, timeout_ns=value)


def test_a_driver_directory_that_the_protocol_cannot_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"the driver directory is not ASCII.*'/dev/shm/gr\\xf6\\xdfe'"):
        MediaDriver.launch(aeron_dir="/dev/shm/größe", threading_mode="INVOKER", environ={})
