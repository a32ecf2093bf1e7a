"""What a client asks its driver for, what it makes of the answers, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from aerowire.base.errors import (
    AerowireError,
    ChannelError,
    ChannelValueError,
    ClosedError,
    ConfigurationError,
    CountersFullError,
    DriverDirectoryMissingError,
    DriverShutdownError,
    DriverTimeoutError,
    PortInUseError,
    RegistrationError,
    SocketError,
    StorageSpaceError,
    UnknownChannelKeyError,
    UnknownHostError,
    UnknownOptionError,
)
from aerowire.client import (
    Aeron,
    ClientContext,
    Counter,
    Image,
    Pending,
    Subscription,
    request_driver_termination,
)
from aerowire.client.conductor.refusals import refusal
from aerowire.codecs.flyweights import cnc, commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import CounterType
from aerowire.codecs.tables.errors import ErrorCode
from tests.support.waiting import epoch_ms

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver

CHANNEL = "aeron:ipc"


def test_start_poll_and_result_without_waiting(aeron: Aeron, driver: FakeDriver) -> None:
    pending = aeron.async_add_publication(CHANNEL, 10)
    assert not pending.poll()
    assert not pending.is_done
    with pytest.raises(RuntimeError, match="no answer"):
        pending.result()
    driver.invoke()
    assert pending.poll()
    assert pending.result().stream_id == 10
    assert pending.result() is pending.result()


def test_every_kind_has_a_form_that_does_not_wait(aeron: Aeron, driver: FakeDriver) -> None:
    started: list[Pending[Any]] = [
        aeron.async_add_exclusive_publication(CHANNEL, 1),
        aeron.async_add_subscription(CHANNEL, 2),
        aeron.async_add_counter(1000, "mine"),
    ]
    driver.invoke()
    assert all(pending.poll() for pending in started)
    assert [type(pending.result()).__name__ for pending in started] == ["ExclusivePublication", "Subscription", "Counter"]


@pytest.mark.parametrize(
    ("channel", "error"),
    [
        ("aeron:udp?endpont=127.0.0.1:1", UnknownChannelKeyError),
        ("aeron:ipc?term-length=many", ChannelValueError),
        ("aeron:tcp", ChannelError),
        ("udp://", ChannelError),
    ],
)
def test_refuses_a_bad_channel_before_it_reaches_the_driver(aeron: Aeron, driver: FakeDriver, channel: str, error: type[Exception]) -> None:
    for add in (aeron.add_publication, aeron.add_exclusive_publication, aeron.add_subscription):
        with pytest.raises(error):
            add(channel, 1)
    assert not driver.commands


def test_passes_any_channel_on_when_told_to(connect: Callable[..., Aeron]) -> None:
    client = connect(validate_channels=False)
    assert client.add_publication("aeron:ipc?custom=1", 1).channel == "aeron:ipc?custom=1"


def test_a_refusal_is_raised_with_the_code_and_the_text(aeron: Aeron) -> None:
    with pytest.raises(RegistrationError, match="refused by the fake driver") as caught:
        aeron.add_publication("aeron:ipc?alias=refuse", 1)
    assert caught.value.error_code == ErrorCode.INVALID_CHANNEL
    assert isinstance(caught.value, ChannelError)


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        (ErrorCode.UNKNOWN_HOST, "no such name", UnknownHostError),
        (ErrorCode.INVALID_CHANNEL, "java.net.UnknownHostException: x", UnknownHostError),
        (ErrorCode.STORAGE_SPACE, "insufficient usable storage", StorageSpaceError),
        (ErrorCode.CHANNEL_ENDPOINT_ERROR, "Address already in use", PortInUseError),
        (ErrorCode.GENERIC_ERROR, "cannot bind UDP socket; at 127.0.0.1:1; got address already in use", PortInUseError),
        (ErrorCode.GENERIC_ERROR, "no port of the wildcard range is free; at 1 to 2", PortInUseError),
        (ErrorCode.GENERIC_ERROR, "cannot bind UDP socket; at 8.8.8.8:1; got Cannot assign requested address", SocketError),
        (ErrorCode.GENERIC_ERROR, "channel error - Cannot assign requested address (at java.base)", SocketError),
        (ErrorCode.GENERIC_ERROR, "unable to allocate counter; metadata buffer is full", CountersFullError),
        (ErrorCode.NOT_SUPPORTED, "not here", RegistrationError),
        (99, "from the future", RegistrationError),
    ],
)
def test_the_wire_code_chooses_the_class(code: int, text: str, kind: type[Exception]) -> None:
    error = refusal(code, text, "add publication")
    assert isinstance(error, kind)
    assert isinstance(error, RegistrationError)
    assert error.error_code == code
    assert text in str(error)


def test_answers_to_other_clients_are_passed_over(connect: Callable[..., Aeron]) -> None:
    first, second = connect(), connect()
    publication = first.add_publication(CHANNEL, 10)
    second.invoke()
    assert not second.async_add_publication(CHANNEL, 11).poll()
    assert publication.registration_id != second.add_publication(CHANNEL, 10).registration_id


def test_an_endpoint_s_failure_is_told_for_each_of_its_streams(connect: Callable[..., Aeron], driver: FakeDriver) -> None:
    errors: list[Exception] = []
    client = connect(error_handler=errors.append)
    failed, other = client.add_subscription(CHANNEL, 10), client.add_subscription(CHANNEL, 11)
    failed._set_channel_status_id(pending_id := other.registration_id + 1)
    pending = client.async_add_publication(CHANNEL, 12)
    assert pending.correlation_id == pending_id  # an id of a counter may be that of a command as well
    driver.error(pending_id, ErrorCode.CHANNEL_ENDPOINT_ERROR, "no such device")
    driver.cycle(client)
    assert [type(error) for error in errors] == [SocketError]
    assert "no such device" in str(errors[0])
    assert "stream_id=10" in str(errors[0])
    assert pending.poll()


def test_gives_up_when_the_driver_does_not_answer(aeron: Aeron, driver: FakeDriver) -> None:
    driver.is_deaf = True
    with pytest.raises(DriverTimeoutError, match="no answer"):
        aeron.add_publication(CHANNEL, 10, timeout_ns=20_000_000)
    driver.is_deaf = False
    driver.cycle(aeron)
    driver.cycle(aeron)
    removed = commands.RemovePublicationDecoder(driver.last(CommandType.REMOVE_PUBLICATION))
    added = commands.AddPublicationDecoder(driver.last(CommandType.ADD_PUBLICATION))
    assert removed.registration_id == added.correlation_id


def test_a_cancelled_subscription_is_taken_back(aeron: Aeron, driver: FakeDriver) -> None:
    pending = aeron.async_add_subscription(CHANNEL, 10)
    pending.cancel()
    driver.cycle(aeron)
    assert driver.last(CommandType.REMOVE_SUBSCRIPTION)
    assert not driver.subscriptions
    with pytest.raises(ClosedError):
        pending.result()


def test_closing_tells_the_driver_once(aeron: Aeron, driver: FakeDriver) -> None:
    with aeron.add_publication(CHANNEL, 10) as publication, aeron.add_subscription(CHANNEL, 10) as subscription:
        pass
    assert publication.is_closed
    assert subscription.is_closed
    publication.close()
    subscription.close()
    driver.cycle(aeron)
    names = [command for command, _ in driver.commands]
    assert names.count(CommandType.REMOVE_PUBLICATION) == names.count(CommandType.REMOVE_SUBSCRIPTION) == 1


def test_revoke_tells_the_driver_so(aeron: Aeron, driver: FakeDriver) -> None:
    publication = aeron.add_exclusive_publication(CHANNEL, 10)
    publication.revoke()
    driver.cycle(aeron)
    decoder = commands.RemovePublicationDecoder(driver.last(CommandType.REMOVE_PUBLICATION))
    assert decoder.flags == commands.RemovePublicationFlags.REVOKE


def test_image_handlers_hear_of_images_that_come_and_go(connect: Callable[..., Aeron], driver: FakeDriver) -> None:
    events: list[tuple[str, int]] = []
    client = connect(
        available_image_handler=lambda image: events.append(("default+", image.session_id)),
        unavailable_image_handler=lambda image: events.append(("default-", image.session_id)),
    )
    client.add_subscription(CHANNEL, 10)
    own = client.add_subscription(CHANNEL, 10, available_image_handler=lambda image: events.append(("own+", image.session_id)))
    publication = client.add_publication(CHANNEL, 10)
    driver.cycle(client)
    session = publication.session_id
    assert sorted(events) == [("default+", session), ("own+", session)]
    own.close()
    assert events[-1] == ("default-", session)


def test_a_failing_handler_is_reported_and_harms_nobody(connect: Callable[..., Aeron], driver: FakeDriver) -> None:
    errors: list[BaseException] = []

    def fail(_image: Image) -> None:
        raise LookupError("handler")

    client = connect(available_image_handler=fail, error_handler=errors.append)
    subscription = client.add_subscription(CHANNEL, 10)
    client.add_publication(CHANNEL, 10)
    driver.cycle(client)
    assert [type(error) for error in errors] == [LookupError]
    assert subscription.is_connected


def test_a_handler_may_close_but_not_wait(connect: Callable[..., Aeron], driver: FakeDriver) -> None:
    errors: list[BaseException] = []
    clients: list[Aeron] = []

    def handler(image: Image) -> None:
        subscription = image.subscription
        assert isinstance(subscription, Subscription)
        subscription.close()
        clients[0].add_publication(CHANNEL, 99)

    clients.append(connect(available_image_handler=handler, error_handler=errors.append))
    subscription = clients[0].add_subscription(CHANNEL, 10)
    clients[0].add_publication(CHANNEL, 10)
    driver.cycle(clients[0])
    assert subscription.is_closed
    assert [type(error) for error in errors] == [AerowireError]
    assert "inside a handler" in str(errors[0])


def test_counters_are_shared_and_freed(aeron: Aeron, driver: FakeDriver) -> None:
    events: list[tuple[str, int]] = []
    aeron.add_available_counter_handler(lambda _reader, _registration, counter_id: events.append(("+", counter_id)))
    handler_id = aeron.add_unavailable_counter_handler(lambda _reader, _registration, counter_id: events.append(("-", counter_id)))
    with aeron.add_counter(1000, "mine", key=b"\x01\x02") as counter:
        assert isinstance(counter, Counter)
        assert counter.label == "mine"
        counter.value = 40
        assert counter.increment() == 40
        assert counter.get_and_add(1) == 41
        assert counter.value == aeron.counters_reader.value(counter.counter_id) == 42
        assert aeron.counters_reader.key(counter.counter_id)[:2] == b"\x01\x02"
    with pytest.raises(ClosedError):
        _ = counter.value
    driver.cycle(aeron)
    assert events == [("+", counter.counter_id), ("-", counter.counter_id)]
    assert aeron.remove_unavailable_counter_handler(handler_id)
    assert not aeron.remove_unavailable_counter_handler(handler_id)


def test_a_static_counter_is_found_again_and_stays(aeron: Aeron, driver: FakeDriver) -> None:
    first = aeron.add_static_counter(1001, "static", registration_id=77)
    again = aeron.add_static_counter(1001, "static", registration_id=77)
    assert first.counter_id == again.counter_id
    assert first.registration_id == 77
    first.close()
    driver.cycle(aeron)
    assert CommandType.REMOVE_COUNTER not in {command for command, _ in driver.commands}


def test_a_counter_that_cannot_be_made_fails_its_command_and_is_given_back(aeron: Aeron, driver: FakeDriver) -> None:
    pending = aeron.async_add_counter(1000, "mine")
    outside = commands.CounterUpdateEncoder.encode(correlation_id=pending.correlation_id, counter_id=1 << 20)
    driver.transmitter.transmit(CommandType.ON_COUNTER_READY, outside)
    assert pending.poll()
    with pytest.raises(ValueError, match="counter 1048576 is outside the counters buffer"):
        pending.result()
    driver.invoke()
    assert commands.RemoveCounterDecoder(driver.last(CommandType.REMOVE_COUNTER)).registration_id == pending.correlation_id


def test_asks_for_a_free_session_id(aeron: Aeron) -> None:
    assert aeron.next_session_id(10) == -42


def test_a_correlation_id_is_nobody_elses(aeron: Aeron, connect: Callable[..., Aeron]) -> None:
    other = connect()
    ids = [aeron.client_id, other.client_id, aeron.next_correlation_id(), other.next_correlation_id(), aeron.next_correlation_id()]
    assert len(set(ids)) == len(ids)


def test_asks_a_driver_to_end_with_a_token(driver: FakeDriver, tmp_path: Path) -> None:
    request_driver_termination(driver.directory, b"secret")
    driver.invoke()
    assert bytes(commands.TerminateDriverDecoder(driver.last(CommandType.TERMINATE_DRIVER)).token) == b"secret"
    driver.ring.consumer_heartbeat_ms = cnc.CONSUMER_HEARTBEAT_CLOSED
    with pytest.raises(DriverShutdownError):
        request_driver_termination(driver.directory)
    with pytest.raises(DriverDirectoryMissingError, match=str(tmp_path)):
        request_driver_termination(tmp_path)


def test_shows_its_life_and_its_name(connect: Callable[..., Aeron], driver: FakeDriver) -> None:
    client = connect(client_name="tester", keepalive_interval_ns=1)
    client.add_publication(CHANNEL, 10)
    heartbeat_id = driver.heartbeats[client.client_id]
    driver.counters.set_value(heartbeat_id, 0)
    client.invoke()
    client.invoke()
    assert abs(driver.counters.value(heartbeat_id) - epoch_ms()) < 10_000
    assert " name=tester version=" in driver.counters.label(heartbeat_id)


def test_pages_are_touched_when_asked(connect: Callable[..., Aeron], driver: FakeDriver) -> None:
    def is_whole(publication: Any) -> bool:
        (status,) = [stream.path.stat() for stream in driver.streams if stream.registration_id == publication.registration_id]
        return status.st_blocks * 512 >= status.st_size

    assert not is_whole(connect().add_publication(CHANNEL, 10))
    assert is_whole(connect(pre_touch_mapped_memory=True).add_publication(CHANNEL, 11))
    assert is_whole(connect(properties={"aeron.pre.touch.mapped.memory": "true"}).add_publication(CHANNEL, 12))


def test_options_come_from_keywords_and_properties(driver: FakeDriver) -> None:
    context = ClientContext(
        aeron_dir=driver.directory, client_name="a", properties={"aeron.client.name": "b", "aeron.driver.timeout": "3s"}
    ).conclude()
    assert (context.client_name, context.driver_timeout_ns, context.keepalive_interval_ns) == ("a", 3_000_000_000, 500_000_000)
    assert context.aeron_dir == str(driver.directory)


@pytest.mark.parametrize(
    "options",
    [
        {"client_name": "x" * 101},
        {"client_name": "\u00e4"},
        {"idle_sleep_duration_ns": 2_000_000_000},
        {"keepalive_interval_ns": 0},
        {"driver_agent_invoker": object()},
        {"driver_timeout_ns": "soon"},
    ],
)
def test_refuses_an_option_out_of_range(options: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        ClientContext.of(**options).conclude()


def test_a_driver_is_no_invoker_of_itself() -> None:
    with pytest.raises(ConfigurationError, match="of a MediaDriver in INVOKER mode it is the `invoker`"):
        ClientContext.of(use_conductor_agent_invoker=True, driver_agent_invoker=object()).conclude()


def test_refuses_an_option_that_does_not_exist(driver: FakeDriver) -> None:
    with pytest.raises(UnknownOptionError, match="drivr_timeout"):
        Aeron.connect(driver.directory, drivr_timeout=1)
    with pytest.raises(TypeError):
        Aeron.connect(driver.directory, context=ClientContext(), client_name="x")


def test_local_addresses_are_those_of_the_channel(aeron: Aeron, driver: FakeDriver) -> None:
    from aerowire.client.conductor import channel_status

    status_id = driver.counters.allocate("rcv-channel", CounterType.RCV_CHANNEL)
    for owner, address in ((status_id, "127.0.0.1:4001"), (status_id + 1, "127.0.0.1:4002")):
        key = cnc.LocalSockaddrKeyEncoder.encode(channel_status_id=owner, local_sockaddr=address)
        counter_id = driver.counters.allocate("rcv-local-sockaddr", CounterType.LOCAL_SOCKADDR, key)
        driver.counters.set_value(counter_id, cnc.CHANNEL_STATUS_ACTIVE)
    assert channel_status.local_addresses(aeron.counters_reader, status_id) == []
    driver.counters.set_value(status_id, cnc.CHANNEL_STATUS_ACTIVE)
    assert channel_status.local_addresses(aeron.counters_reader, status_id) == ["127.0.0.1:4001"]
    wildcard = "aeron:udp?endpoint=127.0.0.1:0|mtu=1408"
    assert channel_status.resolve_port(wildcard, ["127.0.0.1:4001"]) == "aeron:udp?endpoint=127.0.0.1:4001|mtu=1408"
    assert channel_status.resolve_port(wildcard, []) is None
    assert channel_status.resolve_port("aeron:ipc", []) == "aeron:ipc"
