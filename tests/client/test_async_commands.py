"""Commands in flight: asked for by registration id, given up, and counted until the driver has answered."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from aerowire.base.errors import (
    AerowireError,
    ChannelError,
    ClientTimeoutError,
    ClosedError,
    ConfigurationError,
    DriverShutdownError,
    RegistrationError,
)
from aerowire.base.idle import BackoffIdleStrategy, YieldingIdleStrategy
from aerowire.base.units import INT64_MAX
from aerowire.client import Aeron, Counter, ExclusivePublication, Publication, Subscription
from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.cnc import CONSUMER_HEARTBEAT_CLOSED
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.system.clock import ManualClock
from aerowire.system.ports import Ports
from aerowire.system.waiting import SystemWaiting
from tests.support.waiting import epoch_ms

if TYPE_CHECKING:
    from tests.client.conftest import FakeDriver

CHANNEL = "aeron:ipc"
MANUAL = "aeron:udp?control-mode=manual"
DESTINATION = "aeron:udp?endpoint=127.0.0.1:20121"


def test_each_kind_is_found_by_its_registration_id(aeron: Aeron, driver: FakeDriver) -> None:
    publication_id = aeron.async_add_publication(CHANNEL, 1).registration_id
    exclusive_id = aeron.async_add_exclusive_publication(CHANNEL, 2).registration_id
    subscription_id = aeron.async_add_subscription(CHANNEL, 3).registration_id
    counter_id = aeron.async_add_counter(1000, "mine").registration_id
    static_id = aeron.async_add_static_counter(1000, "ours", registration_id=77).registration_id
    assert aeron.get_publication(publication_id) is None
    assert aeron.get_subscription(subscription_id) is None
    assert aeron.has_active_commands()
    assert aeron.is_command_active(static_id)
    driver.invoke()
    publication = aeron.get_publication(publication_id)
    assert isinstance(publication, Publication)
    assert publication.registration_id == publication_id
    assert isinstance(aeron.get_exclusive_publication(exclusive_id), ExclusivePublication)
    assert isinstance(aeron.get_subscription(subscription_id), Subscription)
    assert isinstance(aeron.get_counter(counter_id), Counter)
    static = aeron.get_counter(static_id)
    assert static is not None
    assert (static.registration_id, static.is_static) == (77, True)
    assert not aeron.has_active_commands()
    with pytest.raises(TypeError, match="is a Publication, not a Counter"):
        aeron.get_counter(publication_id)
    assert aeron.get_publication(12345) is None


def test_two_hundred_commands_in_flight_are_answered_each_on_its_own(aeron: Aeron, driver: FakeDriver) -> None:
    ids = [aeron.async_add_subscription(CHANNEL, stream_id).registration_id for stream_id in range(200)]
    assert len(set(ids)) == 200
    while aeron.has_active_commands():
        driver.cycle(aeron)
    found = [aeron.get_subscription(registration_id) for registration_id in ids]
    assert [subscription.stream_id for subscription in found if subscription is not None] == list(range(200))


def test_a_refusal_is_told_to_who_asks_by_registration_id_once(aeron: Aeron, driver: FakeDriver) -> None:
    registration_id = aeron.async_add_publication("aeron:ipc?alias=refuse", 1).registration_id
    driver.cycle(aeron)
    with pytest.raises(RegistrationError, match="refused by the fake driver"):
        aeron.get_publication(registration_id)
    assert aeron.get_publication(registration_id) is None


def test_removal_by_registration_id_closes_what_is_open(aeron: Aeron, driver: FakeDriver) -> None:
    publication = aeron.add_publication(CHANNEL, 1)
    subscription = aeron.add_subscription(CHANNEL, 1)
    counter = aeron.add_counter(1000, "mine")
    aeron.async_remove_publication(publication.registration_id)
    aeron.async_remove_subscription(subscription.registration_id)
    aeron.async_remove_counter(counter.registration_id)
    assert (publication.is_closed, subscription.is_closed, counter.is_closed) == (True, True, True)
    assert aeron.has_active_commands()
    driver.cycle(aeron)
    assert not aeron.has_active_commands()
    assert driver.subscriptions == {}
    aeron.async_remove_counter(counter.registration_id)  # nothing to remove any more
    assert not aeron.has_active_commands()


def test_removal_before_the_answer_takes_back_what_the_driver_makes(aeron: Aeron, driver: FakeDriver) -> None:
    pending = aeron.async_add_publication(CHANNEL, 1)
    aeron.async_remove_publication(pending.registration_id)
    assert not aeron.is_command_active(pending.registration_id)
    with pytest.raises(ClosedError, match="given up"):
        pending.result()
    driver.cycle(aeron)
    driver.cycle(aeron)
    command = commands.RemovePublicationDecoder(driver.last(CommandType.REMOVE_PUBLICATION))
    assert command.registration_id == pending.registration_id


def test_what_comes_as_its_caller_is_interrupted_is_given_back(connect: Callable[..., Aeron], driver: FakeDriver) -> None:
    class Interrupting(YieldingIdleStrategy):
        def __call__(self, _work_count: int) -> None:
            driver.is_deaf = False
            driver.cycle(client)  # somebody else finds the answer
            raise KeyboardInterrupt

    client = connect(awaiting_idle_strategy=Interrupting())
    driver.is_deaf = True
    with pytest.raises(KeyboardInterrupt):
        client.add_publication(CHANNEL, 1)
    driver.invoke()
    added = commands.AddPublicationDecoder(driver.last(CommandType.ADD_PUBLICATION))
    removed = commands.RemovePublicationDecoder(driver.last(CommandType.REMOVE_PUBLICATION))
    assert removed.registration_id == added.correlation_id


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.add_counter(1 << 31, "x"),
        lambda client: client.add_static_counter(-(1 << 31) - 1, "x", registration_id=1),
        lambda client: client.add_static_counter(1000, "x", registration_id=1 << 63),
        lambda client: client.next_session_id(1 << 31),
    ],
)
def test_a_number_that_the_protocol_has_no_room_for_is_refused(aeron: Aeron, ask: Callable[[Aeron], object]) -> None:
    with pytest.raises(ConfigurationError, match="out of range"):
        ask(aeron)
    assert not aeron.has_active_commands()


def test_no_command_is_active_in_a_closed_client(connect: Callable[..., Aeron]) -> None:
    client = connect()
    pending = client.async_add_publication(CHANNEL, 1)
    client.close()
    assert not client.has_active_commands()
    assert not client.is_command_active(pending.registration_id)


def test_session_ids_can_be_asked_for_without_waiting(aeron: Aeron, driver: FakeDriver) -> None:
    pending = aeron.async_next_session_id(10)
    assert not pending.poll()
    driver.invoke()
    assert pending.poll()
    assert pending.result() == -42


def test_the_context_hears_of_what_is_new(connect: Callable[..., Aeron]) -> None:
    heard: list[tuple[object, ...]] = []
    client = connect(
        new_publication_handler=lambda *what: heard.append(("publication", *what)),
        new_exclusive_publication_handler=lambda *what: heard.append(("exclusive", *what)),
        new_subscription_handler=lambda *what: heard.append(("subscription", *what)),
    )
    publication = client.add_publication(CHANNEL, 1)
    exclusive = client.add_exclusive_publication(CHANNEL, 2)
    subscription = client.add_subscription(CHANNEL, 3)
    assert heard == [
        ("publication", CHANNEL, 1, publication.session_id, publication.registration_id),
        ("exclusive", CHANNEL, 2, exclusive.session_id, exclusive.registration_id),
        ("subscription", CHANNEL, 3, subscription.registration_id),
    ]


def test_destinations_of_a_publication_go_by_channel_and_by_registration_id(aeron: Aeron, driver: FakeDriver) -> None:
    first = aeron.add_publication(MANUAL, 1)
    second = aeron.add_publication(MANUAL, 1)
    destination_id = second.add_destination(DESTINATION)
    added = commands.AddDestinationDecoder(driver.last(CommandType.ADD_DESTINATION))
    assert (added.registration_id, added.channel, added.correlation_id) == (first.registration_id, DESTINATION, destination_id)
    second.remove_destination(DESTINATION)
    removed = commands.RemoveDestinationDecoder(driver.last(CommandType.REMOVE_DESTINATION))
    assert (removed.registration_id, removed.channel) == (first.registration_id, DESTINATION)
    second.remove_destination(destination_id)
    by_id = commands.RemoveDestinationByIdDecoder(driver.last(CommandType.REMOVE_DESTINATION_BY_ID))
    assert (by_id.resource_registration_id, by_id.destination_registration_id) == (first.registration_id, destination_id)


def test_destinations_can_be_added_without_waiting(aeron: Aeron, driver: FakeDriver) -> None:
    publication = aeron.add_publication(MANUAL, 1)
    pending = publication.async_add_destination(DESTINATION)
    refused = publication.async_add_destination(DESTINATION + "|alias=refuse")
    assert aeron.is_command_active(pending.registration_id)
    driver.cycle(aeron)
    assert pending.result() == pending.registration_id
    with pytest.raises(RegistrationError, match="add destination"):
        refused.result()
    removal = publication.async_remove_destination(pending.result())
    driver.cycle(aeron)
    assert removal.is_done
    with pytest.raises(ChannelError, match="unknown parameter"):
        publication.async_add_destination("aeron:udp?endpint=127.0.0.1:1")
    publication.close()
    with pytest.raises(ClosedError):
        publication.add_destination(DESTINATION)


def test_sources_of_a_subscription_go_by_channel_only(aeron: Aeron, driver: FakeDriver) -> None:
    subscription = aeron.add_subscription(MANUAL, 1)
    subscription.add_destination(DESTINATION)
    added = commands.AddRcvDestinationDecoder(driver.last(CommandType.ADD_RCV_DESTINATION))
    assert (added.registration_id, added.channel) == (subscription.registration_id, DESTINATION)
    subscription.remove_destination(DESTINATION)
    removed = commands.RemoveRcvDestinationDecoder(driver.last(CommandType.REMOVE_RCV_DESTINATION))
    assert removed.channel == DESTINATION
    with pytest.raises(AerowireError, match="by its channel only"):
        subscription.remove_destination(5)


def test_an_image_is_rejected_where_it_stands(aeron: Aeron, driver: FakeDriver) -> None:
    publication = aeron.add_publication(CHANNEL, 1)
    subscription = aeron.add_subscription(CHANNEL, 1)
    publication.offer(b"one")
    image = subscription.images[0]
    image.poll(lambda *_: None)
    image.reject("not today")
    command = commands.RejectImageDecoder(driver.last(CommandType.REJECT_IMAGE))
    assert (command.image_correlation_id, command.position, command.reason) == (image.correlation_id, 64, "not today")
    with pytest.raises(AerowireError, match="at most 1023 bytes"):
        image.reject("x" * 1024)
    with pytest.raises(AerowireError, match="not ASCII"):
        image.reject("nö")
    subscription.close()
    with pytest.raises(ClosedError):
        image.reject("too late")


def test_waits_idle_as_the_context_says(connect: Callable[..., Aeron]) -> None:
    idled: list[int] = []

    class Strategy(YieldingIdleStrategy):
        def __call__(self, work_count: int) -> None:
            idled.append(work_count)
            super().__call__(work_count)

    client = connect(awaiting_idle_strategy=Strategy(), client_lock=contextlib.nullcontext())
    assert client.add_publication(CHANNEL, 1).stream_id == 1
    assert set(idled) <= {0}


def test_threads_come_from_the_factory(driver: FakeDriver) -> None:
    made: list[str] = []

    def factory(target: Callable[[], None], name: str) -> threading.Thread:
        made.append(name)
        return threading.Thread(target=target, name=name, daemon=True)

    with driver.background():
        client = Aeron.connect(driver.directory, thread_factory=factory, idle_strategy=BackoffIdleStrategy())
        assert client.add_publication(CHANNEL, 1).stream_id == 1
        client.close()
    assert made == ["aeron-client-conductor"]


def test_each_agent_tells_on_its_own_thread_that_it_starts(driver: FakeDriver) -> None:
    started: list[tuple[str, str]] = []

    def note(role_name: str) -> None:
        started.append((role_name, threading.current_thread().name))

    with driver.background():
        client = Aeron.connect(driver.directory, agent_on_start=note)
        assert started[0] == ("aeron-client-keepalive", "aeron-client-keepalive")
        client.close()
    assert started[1:] == [("aeron-client-conductor", "aeron-client-conductor")]


def test_an_invoked_client_s_agent_starts_where_it_is_connected(driver: FakeDriver) -> None:
    started: list[tuple[str, int]] = []
    with driver.background():
        client = Aeron.connect(
            driver.directory,
            use_conductor_agent_invoker=True,
            agent_on_start=lambda role_name: started.append((role_name, threading.get_ident())),
        )
        client.invoke()
        client.close()
    assert started == [("aeron-client-keepalive", threading.get_ident())]


def test_an_agent_whose_start_fails_works_all_the_same(driver: FakeDriver) -> None:
    errors: list[str] = []

    def fail(role_name: str) -> None:
        raise PermissionError(role_name)

    with driver.background():
        client = Aeron.connect(driver.directory, agent_on_start=fail, error_handler=lambda error: errors.append(str(error)))
        assert client.add_publication(CHANNEL, 1).stream_id == 1
        client.close()
    assert sorted(errors) == ["aeron-client-conductor", "aeron-client-keepalive"]


def test_counters_are_printed_and_handlers_removed_by_themselves(aeron: Aeron, capsys: pytest.CaptureFixture[str]) -> None:
    heard: list[int] = []

    def handler(_reader: object, registration_id: int, _counter_id: int) -> None:
        heard.append(registration_id)

    aeron.add_available_counter_handler(handler)
    counter = aeron.add_counter(1000, "mine")
    counter.value = 1234567
    assert aeron.remove_available_counter_handler(handler)
    assert not aeron.remove_available_counter_handler(handler)
    aeron.add_counter(1000, "unheard")
    assert heard == [counter.registration_id]
    aeron.print_counters()
    assert f"{counter.counter_id:3}: 1,234,567 - mine\n" in capsys.readouterr().out
    assert aeron.file_page_size == 4096


def test_a_client_that_ends_by_itself_tells_every_handler_once(connect: Callable[..., Aeron], driver: FakeDriver) -> None:
    heard: list[object] = []
    client = connect(
        error_handler=lambda error: heard.append(type(error)),
        close_handler=lambda: heard.append("closed"),
        unavailable_image_handler=lambda image: heard.append(("image", image.is_closed)),
        unavailable_counter_handler=lambda _reader, registration_id, counter_id: heard.append((registration_id, counter_id)),
    )
    client.add_subscription(CHANNEL, 1)
    client.add_publication(CHANNEL, 1)
    counter = client.add_counter(1000, "mine")
    client.add_static_counter(1000, "stays", registration_id=5)
    client.invoke()
    driver.give_up(client.client_id)
    with pytest.raises(ClientTimeoutError):
        client.invoke()
    told = [("image", True), (counter.registration_id, counter.counter_id), ClientTimeoutError, "closed"]
    assert heard == told
    assert client.is_closed
    client.close()
    assert heard == told


def test_a_client_that_is_closed_tells_of_its_counters(connect: Callable[..., Aeron]) -> None:
    heard: list[object] = []
    client = connect(unavailable_counter_handler=lambda _reader, registration_id, _counter_id: heard.append(registration_id))
    client.add_close_handler(lambda: heard.append("closed"))
    counter = client.add_counter(1000, "mine")
    client.close()
    assert heard == [counter.registration_id, "closed"]


def test_a_close_handler_may_close_the_client(connect: Callable[..., Aeron]) -> None:
    heard: list[object] = []
    client = connect(error_handler=heard.append)

    def on_close() -> None:
        heard.append("closed")
        client.close()

    client.add_close_handler(on_close)
    client.close()
    assert heard == ["closed"]


def test_nothing_is_opened_while_the_client_closes(connect: Callable[..., Aeron]) -> None:
    errors: list[object] = []
    opened: list[Publication] = []

    def open_another(_image: object) -> None:
        opened.append(client.add_publication(CHANNEL, 2))

    client = connect(error_handler=errors.append, unavailable_image_handler=open_another)
    client.add_publication(CHANNEL, 1)
    subscription = client.add_subscription(CHANNEL, 1)
    client.invoke()
    assert subscription.is_connected
    client.close()
    assert opened == []
    assert [type(error) for error in errors] == [ClosedError]


def test_the_driver_is_told_of_the_end_once_the_close_has_lingered(connect: Callable[..., Aeron], driver: FakeDriver) -> None:
    lingered: list[int] = []

    class Waiting(SystemWaiting):
        def sleep(self, duration_ns: int) -> None:
            if not publication:
                return
            lingered.append(duration_ns)
            assert publication[0].is_closed
            driver.invoke()
            assert CommandType.CLIENT_CLOSE not in [command for command, _ in driver.commands]

    publication: list[Publication] = []
    client = connect(close_linger_duration_ns="50ms", ports=replace(Ports.system(), waiting=Waiting()))
    publication.append(client.add_publication(CHANNEL, 1))
    client.close()
    assert lingered == [50_000_000]
    driver.invoke()
    assert driver.commands[-1][0] == CommandType.CLIENT_CLOSE
    client.close()
    driver.invoke()
    assert [command for command, _ in driver.commands].count(CommandType.CLIENT_CLOSE) == 1


def test_the_log_of_an_image_lingers_as_long_as_the_context_says(connect: Callable[..., Aeron], driver: FakeDriver) -> None:
    clock = ManualClock(now_ns=1_000, epoch_ms=epoch_ms())
    client = connect(clock=clock, resource_linger_duration_ns=3_000_000_000)
    subscription = client.add_subscription(CHANNEL, 1)
    publication = client.add_publication(CHANNEL, 1)
    client.invoke()
    assert subscription.image_count == 1
    driver.drop_images(driver.streams[-1])
    client.invoke()
    assert subscription.image_count == 0
    assert client._conductor.next_deadline_ns() == 3_000_001_000
    clock.advance(2_999_999_999)
    client.invoke()
    assert client._conductor.next_deadline_ns() == 3_000_001_000
    clock.advance(1)
    client.invoke()
    assert client._conductor.next_deadline_ns() == INT64_MAX
    publication.close()
    assert client._conductor.next_deadline_ns() == 4_000_001_000
    driver.ring.consumer_heartbeat_ms = CONSUMER_HEARTBEAT_CLOSED
    with pytest.raises(DriverShutdownError):
        client.invoke()
    assert client._conductor.next_deadline_ns() == INT64_MAX  # what has ended is not worked for: a deadline would never be met
