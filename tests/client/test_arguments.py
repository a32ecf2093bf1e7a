"""Arguments of the wrong type or out of range: what is refused says what, where, expected and actual; any library's integer is one."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

from aerowire.base.errors import ChannelError, ConfigurationError, UnknownOptionError, WrongTypeError
from aerowire.client import Aeron, ClientContext
from aerowire.driver import Context, MediaDriver

CHANNEL = "aeron:ipc"


class Stream(enum.IntEnum):
    ORDERS = 1001


@pytest.fixture(scope="module")
def driver() -> Iterator[MediaDriver]:
    with MediaDriver.launch_embedded(term_buffer_length="64k", ipc_term_buffer_length="64k", threading_mode="SHARED") as driver:
        yield driver


@pytest.fixture(scope="module")
def client(driver: MediaDriver) -> Iterator[Aeron]:
    with Aeron.connect(driver.aeron_dir) as client:
        yield client


WRONG_TYPES: dict[str, tuple[Callable[[Any], object], str]] = {
    "a stream id of text": (
        lambda a: a.add_publication(CHANNEL, "1001"),
        r"stream id has the wrong type; at aeron:ipc; .*got '1001' \(str\)",
    ),
    "a stream id of a float": (
        lambda a: a.add_subscription(CHANNEL, 1.0),
        r"stream id has the wrong type; .*whole number.*got 1.0 \(float\)",
    ),
    "a stream id that is a bool": (lambda a: a.add_publication(CHANNEL, True), r"stream id has the wrong type; .*got True \(bool\)"),
    "no stream id": (lambda a: a.next_session_id(None), r"stream id has the wrong type; .*got None"),
    "a channel of bytes": (lambda a: a.add_publication(b"aeron:ipc", 1), r"channel has the wrong type; expected a channel URI .*\(bytes\)"),
    "a channel that is a number": (lambda a: a.add_subscription(5, 1), r"channel has the wrong type"),
    "a timeout of a float": (
        lambda a: a.add_publication(CHANNEL, 1, timeout_ns=1.5),
        r"timeout_ns has the wrong type; .*hint: 1.5 seconds are '1500ms'",
    ),
    "a timeout of a list": (lambda a: a.add_publication(CHANNEL, 1, timeout_ns=[1]), r"timeout_ns has the wrong type"),
    "a counter's type of text": (lambda a: a.add_counter("5"), r"type id has the wrong type"),
    "a counter's label of bytes": (lambda a: a.add_counter(1001, b"x"), r"a counter's label has the wrong type"),
    "a counter's key of text": (lambda a: a.add_counter(1001, "x", key="k"), r"a counter's key has the wrong type; expected bytes"),
    "a registration id of text": (lambda a: a.get_publication("7"), r"registration id has the wrong type"),
    "an id to remove that is a float": (lambda a: a.async_remove_counter(1.5), r"registration id has the wrong type"),
    "a handler that is a number": (
        lambda a: a.add_close_handler(5),
        r"close handler has the wrong type; expected a function; got 5 \(int\)",
    ),
    "an image handler of text": (
        lambda a: a.add_subscription(CHANNEL, 1, available_image_handler="f"),
        "available_image_handler has the wrong",
    ),
}


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_calls_refuse_arguments_of_the_wrong_type(client: Aeron, name: str) -> None:
    call, message = WRONG_TYPES[name]
    before = client.has_active_commands()
    with pytest.raises(WrongTypeError, match=message) as caught:
        call(client)
    assert isinstance(caught.value, ConfigurationError)
    assert isinstance(caught.value, TypeError)
    assert client.has_active_commands() is before


def test_destinations_are_channels_or_registration_ids(client: Aeron) -> None:
    with client.add_publication("aeron:udp?control-mode=manual|control=127.0.0.1:0", 1) as publication:
        calls: list[Callable[[Any], object]] = [publication.remove_destination, publication.async_remove_destination]
        for call in calls:
            with pytest.raises(WrongTypeError, match=r"destination has the wrong type; .*hint: a destination is removed by its channel"):
                call(1.5)
        with pytest.raises(TypeError):
            publication.add_destination(5)  # type: ignore[arg-type]


def test_numbers_out_of_range_name_the_range(client: Aeron) -> None:
    with pytest.raises(
        ConfigurationError, match=r"stream id is out of range; at aeron:ipc; expected -2147483648 to 2147483647; got 2147483648"
    ):
        client.add_publication(CHANNEL, 1 << 31)
    with pytest.raises(ConfigurationError, match="timeout_ns is out of range"):
        client.add_publication(CHANNEL, 1, timeout_ns=1 << 80)
    with pytest.raises(ConfigurationError, match="registration id is out of range"):
        client.get_counter(1 << 70)
    with pytest.raises(ChannelError, match="unknown scheme"):
        client.add_publication("", 1)


@pytest.mark.parametrize("stream_id", [numpy.int64(5), numpy.int32(6), Stream.ORDERS])
def test_any_library_s_integer_is_a_stream_id(client: Aeron, stream_id: Any) -> None:
    with client.add_publication(CHANNEL, stream_id) as publication, client.add_subscription(CHANNEL, stream_id) as subscription:
        assert (type(publication.stream_id), type(subscription.stream_id)) == (int, int)
        assert publication.stream_id == subscription.stream_id == stream_id


def test_counters_take_any_bytes_as_their_key(client: Aeron) -> None:
    keys: list[Any] = [bytearray(b"abc"), memoryview(b"abc"), numpy.frombuffer(b"abc", "u1")]
    type_id: Any = numpy.int64(1001)
    for key in keys:
        with client.add_counter(type_id, "label", key=key) as counter:
            assert client.counters_reader.key(counter.counter_id)[:3] == b"abc"


OPTIONS_OF_A_CLIENT: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"driver_timout_ns": 1}, UnknownOptionError, "did you mean 'driver_timeout_ns'"),
    ({"driver_timeout_ns": 1.5}, WrongTypeError, r"aeron\.driver\.timeout has the wrong type; .*got 1\.5 \(float\)"),
    ({"properties": 5}, WrongTypeError, "properties has the wrong type; expected a mapping"),
    ({"properties": {"aeron.dir": 5}}, WrongTypeError, "property 'aeron.dir' has the wrong type; .*text"),
    ({"properties": {5: "x"}}, WrongTypeError, "property 5 has the wrong type"),
    ({"clock": 5}, WrongTypeError, "clock has the wrong type; expected a ClockPort"),
    ({"client_lock": 5}, WrongTypeError, "client_lock has the wrong type; expected a lock"),
    ({"idle_strategy": "sleep"}, WrongTypeError, "idle_strategy has the wrong type; expected an IdleStrategy"),
    ({"awaiting_idle_strategy": 5}, WrongTypeError, "awaiting_idle_strategy has the wrong type"),
    ({"thread_factory": 5}, WrongTypeError, "thread_factory has the wrong type; expected a function"),
    ({"error_handler": 5}, WrongTypeError, "error_handler has the wrong type"),
    ({"close_handler": "x"}, WrongTypeError, "close_handler has the wrong type"),
    ({"validate_channels": "yes"}, WrongTypeError, "validate_channels has the wrong type; expected True or False; got 'yes'"),
    ({"use_conductor_agent_invoker": "no"}, WrongTypeError, "use_conductor_agent_invoker has the wrong type"),
    ({"aeron_dir": "a\0b"}, ConfigurationError, "aeron_dir has a NUL"),
    ({"context": 5}, WrongTypeError, "context has the wrong type; expected a ClientContext"),
]


@pytest.mark.parametrize(
    ("options", "error", "message"), OPTIONS_OF_A_CLIENT, ids=lambda one: next(iter(one)) if isinstance(one, dict) else ""
)
def test_a_client_s_options_are_checked_before_it_connects(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Aeron.connect(**{"aeron_dir": "/nonexistent", **options} if "context" not in options else options)


OPTIONS_OF_A_DRIVER: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"term_bufer_length": 5}, UnknownOptionError, "did you mean 'term_buffer_length'"),
    ({"term_buffer_length": 65536.0}, WrongTypeError, r"aeron\.term\.buffer\.length has the wrong type; .*got 65536\.0 \(float\)"),
    ({"term_buffer_length": True}, WrongTypeError, "has the wrong type"),
    ({"properties": {"aeron.term.buffer.length": 65536}}, WrongTypeError, "property 'aeron.term.buffer.length' has the wrong type"),
    ({"properties": ["aeron.dir=x"]}, WrongTypeError, "properties has the wrong type"),
    ({"properties": {"aeron.bogus": "1"}}, UnknownOptionError, "`aerowire driver --options` lists the driver's"),
    ({"aeron_dir": 5}, WrongTypeError, "aeron_dir has the wrong type; .*path"),
    ({"capture": 5}, WrongTypeError, "capture has the wrong type; .*path"),
]


@pytest.mark.parametrize(
    ("options", "error", "message"), OPTIONS_OF_A_DRIVER, ids=lambda one: next(iter(one)) if isinstance(one, dict) else ""
)
def test_a_driver_s_options_are_checked_before_it_starts(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Context(**options)


def test_a_driver_takes_a_context_and_no_path() -> None:
    with pytest.raises(WrongTypeError, match=r"context has the wrong type; .*hint: a directory is given as aeron_dir=\.\.\."):
        MediaDriver.launch("/dev/shm/x")  # type: ignore[arg-type]


def test_a_driver_s_lengths_may_be_any_library_s_integers() -> None:
    context = Context(term_buffer_length=numpy.int64(65_536), client_liveness_timeout_ns=numpy.int64(9_000_000_000))
    assert (context.term_buffer_length, type(context.term_buffer_length)) == (65_536, int)
    assert ClientContext(aeron_dir="x", driver_timeout_ns=numpy.int64(10**9)).conclude().driver_timeout_ns == 10**9  # type: ignore[arg-type]
