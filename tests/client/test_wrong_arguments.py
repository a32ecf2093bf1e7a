"""Arguments of the client's Python faces: a wrong type or a value out of range is an error of ours that names the argument."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from aerowire.base.errors import ConfigurationError, WrongTypeError
from aerowire.client import (
    Aeron,
    ControlledFragmentAssembler,
    Counter,
    ExclusivePublication,
    FragmentAssembler,
    Header,
    Image,
    Publication,
    Subscription,
)
from aerowire.driver import MediaDriver
from tests.support.waiting import wait_until


class Client(NamedTuple):
    """A client with one handle of each kind."""

    aeron: Aeron
    counter: Counter
    publication: Publication
    subscription: Subscription
    exclusive: ExclusivePublication

    @property
    def image(self) -> Image:
        return self.subscription.images[0]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with (
        MediaDriver.launch_embedded(threading_mode="SHARED", ipc_term_buffer_length=65536) as driver,
        Aeron.connect(driver.aeron_dir) as aeron,
        aeron.add_counter(1001, "number") as counter,
        aeron.add_publication("aeron:ipc", 10) as publication,
        aeron.add_subscription("aeron:ipc", 10) as subscription,
        aeron.add_exclusive_publication("aeron:ipc", 11) as exclusive,
        aeron.add_subscription("aeron:ipc", 11),
    ):
        wait_until(lambda: publication.is_connected and exclusive.is_connected and subscription.is_connected, "not connected")
        yield Client(aeron, counter, publication, subscription, exclusive)


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


def ignore(*_: object) -> None: ...


# Calls of the message path: the argument that is wrong, and what is called.
HOT64: list[tuple[str, Call]] = [
    ("offset", lambda client, value: client.publication.offer(b"x", value)),
    ("length", lambda client, value: client.publication.try_claim(value)),
    ("length", lambda client, value: client.exclusive.append_padding(value)),
    ("offset", lambda client, value: client.exclusive.offer_block(bytes(32), value)),
    ("limit_position", lambda client, value: client.image.bounded_poll(ignore, value)),
    ("limit_position", lambda client, value: client.image.bounded_controlled_poll(ignore, value)),
    ("initial_buffer_length", lambda _, value: FragmentAssembler(ignore, value)),
    ("initial_buffer_length", lambda _, value: ControlledFragmentAssembler(ignore, value)),
]
HOT32: list[tuple[str, Call]] = [
    ("fragment_limit", lambda client, value: client.subscription.poll(ignore, value)),
    ("fragment_limit", lambda client, value: client.subscription.controlled_poll(ignore, value)),
    ("fragment_limit", lambda client, value: client.subscription.poll_many(value)),
    ("length_limit", lambda client, value: client.subscription.poll_block(value)),
    ("length_limit", lambda client, value: client.subscription.block_poll(ignore, value)),
    ("length_limit", lambda client, value: client.subscription.raw_poll(ignore, value)),
    ("fragment_limit", lambda client, value: client.image.poll(ignore, value)),
    ("fragment_limit", lambda client, value: client.image.bounded_poll(ignore, 0, value)),
    ("fragment_limit", lambda client, value: client.image.controlled_poll(ignore, value)),
    ("fragment_limit", lambda client, value: client.image.bounded_controlled_poll(ignore, 0, value)),
    ("fragment_limit", lambda client, value: client.image.poll_many(value)),
    ("length_limit", lambda client, value: client.image.poll_block(value)),
    ("length_limit", lambda client, value: client.image.block_poll(ignore, value)),
    ("length_limit", lambda client, value: client.image.raw_poll(ignore, value)),
    ("session_id", lambda _, value: FragmentAssembler(ignore).free_session_buffer(value)),
    ("session_id", lambda _, value: ControlledFragmentAssembler(ignore).free_session_buffer(value)),
]
WRONG_TYPES = [True, False, 1.0, 1.5, math.inf, math.nan, "1", "", b"1", None, [], pytest.param(object(), id="object()"), np.float64(1.5)]


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


@pytest.mark.parametrize("value", WRONG_TYPES, ids=repr)
@pytest.mark.parametrize(("what", "call"), [*HOT64, *HOT32])
def test_a_number_of_another_type_is_refused_on_the_message_path(client: Client, what: str, call: Call, value: object) -> None:
    before = client.publication.position, client.exclusive.position, client.image.position
    with pytest.raises(WrongTypeError, match=f"^{what} has the wrong type.*expected a whole number"):
        call(client, value)
    assert (client.publication.position, client.exclusive.position, client.image.position) == before


@pytest.mark.parametrize(
    ("what", "call", "bits"), [*((what, call, 63) for what, call in HOT64), *((what, call, 31) for what, call in HOT32)]
)
def test_a_number_out_of_range_is_refused_on_the_message_path(client: Client, what: str, call: Call, bits: int) -> None:
    for value in (1 << bits, -(1 << bits) - 1, 1 << 200):
        with pytest.raises(ConfigurationError, match=f"^{what} is out of range.*expected -{1 << bits} to .*got {value}"):
            call(client, value)


@pytest.mark.parametrize("value", [1 << 63, -(1 << 63) - 1], ids=hex)
def test_a_reserved_value_beyond_64_bits_is_refused(client: Client, value: int) -> None:
    offers: list[Callable[[], object]] = [
        lambda: client.publication.offer(b"x", reserved_value=value),
        lambda: client.publication.offer_parts(b"x", b"y", reserved_value=value),
        lambda: client.publication.send(b"x", reserved_value=value),
    ]
    for offer in offers:
        with pytest.raises(ConfigurationError, match=r"^reserved_value is out of range"):
            offer()
    with client.publication.try_claim(8) as claim:
        with pytest.raises(ConfigurationError, match=r"^reserved_value is out of range"):
            claim.reserved_value = value
        for name, most in (("flags", 255), ("header_type", 65_535)):
            with pytest.raises(ConfigurationError, match=f"^{name} is out of range; expected 0 to {most}"):
                setattr(claim, name, most + 1)
            with pytest.raises(WrongTypeError, match=f"^{name} has the wrong type"):
                setattr(claim, name, 1.5)
        with pytest.raises(WrongTypeError, match=r"^offset has the wrong type"):
            claim.put_bytes(b"x", 1.0)  # type: ignore[arg-type]
        claim.abort()


def test_numbers_of_numpy_are_numbers_on_the_message_path(client: Client) -> None:
    seen: list[tuple[bytes, int]] = []

    def note(buffer: memoryview, offset: int, length: int, header: Header) -> None:
        seen.append((bytes(buffer[offset : offset + length]), header.reserved_value))

    while client.subscription.poll(ignore):
        pass
    assert client.publication.offer(b"abcd", np.uint8(1), np.int64(2), reserved_value=np.int64(-7)) > 0  # type: ignore[arg-type]
    assert client.subscription.poll(note, np.int32(1)) == 1  # type: ignore[arg-type]
    assert seen == [(b"bc", -7)]


def test_a_batch_keeps_its_messages_while_it_is_copied(client: Client) -> None:
    while client.subscription.poll(ignore):
        pass
    messages: list[Any] = [bytes([index]) * 40 for index in range(40)] + [memoryview(b"view"), bytearray(b"array"), b"end"]
    assert client.publication.offer_many(messages) == len(messages)
    assert [bytes(message) for message in client.subscription.poll_many(100)] == [bytes(message) for message in messages]


@pytest.mark.parametrize("value", [5, np.int32(5), np.uint8(5), np.int64(5)])
def test_whole_numbers_of_numpy_are_numbers(client: Client, value: Any) -> None:
    client.counter.get_and_set(value)
    assert client.counter.value == 5
    counter_id: Any = np.int32(client.counter.counter_id)
    assert client.aeron.counters_reader.value(counter_id) == 5
    assert client.subscription.image_by_session_id(value) is None


@pytest.mark.parametrize("value", [True, 1.5, b"1s", [], "1.5s", "", "1h", "1" * 5_000, 1 << 63, math.nan])
def test_a_timeout_that_is_none_is_refused_and_names_what_is_expected(client: Client, value: Any) -> None:
    with pytest.raises((WrongTypeError, ConfigurationError), match=r"timeout_ns .*expected"):
        client.aeron.add_publication("aeron:ipc", 10, timeout_ns=value)


def test_a_driver_directory_that_the_protocol_cannot_name_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"the driver directory is not ASCII.*'/dev/shm/gr\\xf6\\xdfe'"):
        MediaDriver.launch(aeron_dir="/dev/shm/größe", threading_mode="INVOKER", environ={})
