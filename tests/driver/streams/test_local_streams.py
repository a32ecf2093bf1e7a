"""Spies, untethered subscribers and the rejection of IPC images, by commands and responses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.errors import ErrorCode

ENDPOINT = "aeron:udp?endpoint=127.0.0.1:24999"
MULTICAST = "aeron:udp?endpoint=224.20.30.39:24998|interface=127.0.0.1"
DYNAMIC = "aeron:udp?control=127.0.0.1:24997|control-mode=dynamic"
FAR_AHEAD = 60_000
TIMES = {
    "untethered_window_limit_timeout_ns": "40ms",
    "untethered_linger_timeout_ns": "30ms",
    "untethered_resting_timeout_ns": "50ms",
}


def remove(client: Any, kind: CommandType, registration_id: int) -> None:
    encoder = commands.RemoveSubscriptionEncoder if kind == CommandType.REMOVE_SUBSCRIPTION else commands.RemovePublicationEncoder
    client.take(CommandType.ON_OPERATION_SUCCESS, client.request(kind, encoder, registration_id=registration_id))


def position_labels(client: Any) -> list[str]:
    return [label for label in client.labels() if label.startswith("sub-pos")]


def has(client: Any, kind: CommandType) -> bool:
    return any(found == kind for found, _ in client.responses)


class TestSpies:
    @pytest.mark.parametrize("is_first", [True, False])
    def test_a_spy_gets_the_publication_itself(self, client: Any, is_first: bool) -> None:
        asked = client.add_subscription(f"aeron-spy:{ENDPOINT}", 10) if is_first else 0
        publication = client.add_publication(ENDPOINT, 10)
        ready = client.take(CommandType.ON_PUBLICATION_READY, publication)
        spy = asked or client.add_subscription(f"aeron-spy:{ENDPOINT}", 10)
        assert client.take(CommandType.ON_SUBSCRIPTION_READY, spy).channel_status_counter_id == -1
        image = client.take(CommandType.ON_AVAILABLE_IMAGE)
        assert (image.correlation_id, image.session_id, image.subscription_registration_id) == (publication, ready.session_id, spy)
        assert (image.source_identity, image.log_file) == ("aeron:ipc", ready.log_file)
        reader = client.cnc.counters_reader()
        assert reader.reference_id(image.subscriber_position_counter_id) == publication
        assert position_labels(client) == [f"sub-pos: {spy} {ready.session_id} 10 aeron-spy:{ENDPOINT} @0"]
        remove(client, CommandType.REMOVE_SUBSCRIPTION, spy)
        client.work_until(lambda: not position_labels(client))

    @pytest.mark.parametrize(
        ("publication", "spied", "is_match"),
        [
            (ENDPOINT, ENDPOINT, True),
            (f"{ENDPOINT}|session-id=7", f"{ENDPOINT}|session-id=7", True),
            (f"{ENDPOINT}|session-id=7", f"{ENDPOINT}|session-id=8", False),
            (f"{ENDPOINT}|tags=5", "aeron:udp?tags=5", True),
            (f"{ENDPOINT}|tags=5", "aeron:udp?tags=6", False),
            (ENDPOINT, "aeron:udp?endpoint=127.0.0.1:24998", False),
            (ENDPOINT, "aeron:udp?endpoint=localhost:24999", False),
            (MULTICAST, MULTICAST, True),
            (f"{MULTICAST}|session-id=7", f"{MULTICAST}|session-id=8", False),
            (DYNAMIC, DYNAMIC, True),
            (DYNAMIC, DYNAMIC.replace("24997", "24996"), False),
            ("aeron:udp?control-mode=manual|tags=4", "aeron:udp?tags=4", True),
        ],
    )
    def test_matches_by_channel_session_and_tag(self, client: Any, publication: str, spied: str, is_match: bool) -> None:
        spy = client.add_subscription(f"aeron-spy:{spied}", 10)
        client.take(CommandType.ON_SUBSCRIPTION_READY, spy)
        client.take(CommandType.ON_PUBLICATION_READY, client.add_publication(publication, 10))
        client.add_publication(ENDPOINT, 11, is_exclusive=True)
        client.work(10)
        images = [image for kind, image in client.responses if kind == CommandType.ON_AVAILABLE_IMAGE]
        assert [image.stream_id for image in images] == [10] * is_match

    def test_a_spy_reads_neither_ipc_nor_the_network(self, client: Any) -> None:
        client.add_subscription(f"aeron-spy:{ENDPOINT}", 10)
        client.add_publication("aeron:ipc", 10)
        client.add_subscription("aeron:ipc", 11)
        client.add_publication(ENDPOINT, 11)
        client.work(10)
        assert not has(client, CommandType.ON_AVAILABLE_IMAGE)

    def test_a_spy_that_simulates_a_connection_shows_it_and_the_end(self, client: Any) -> None:
        client.add_subscription(f"aeron-spy:{ENDPOINT}", 10)
        publication = client.add_publication(f"{ENDPOINT}|ssc=true|linger=0", 10)
        ready = client.take(CommandType.ON_PUBLICATION_READY, publication)
        client.take(CommandType.ON_AVAILABLE_IMAGE)
        reader = client.cnc.counters_reader()
        client.work_until(lambda: reader.value(ready.position_limit_counter_id) > 0)
        remove(client, CommandType.REMOVE_PUBLICATION, publication)
        assert client.take(CommandType.ON_UNAVAILABLE_IMAGE).correlation_id == publication
        client.work_until(lambda: set(client.labels()) == {f"client-heartbeat: id={client.client_id}"})

    def test_the_driver_s_option_simulates_connections_by_default(self, launch: Callable[..., Any]) -> None:
        client = launch(spies_simulate_connection=True)
        client.add_subscription(f"aeron-spy:{ENDPOINT}", 10)
        limits = [
            client.take(CommandType.ON_PUBLICATION_READY, client.add_publication(channel, 10)).position_limit_counter_id
            for channel in (ENDPOINT, ENDPOINT.replace("24999", "24998"))
        ]
        reader = client.cnc.counters_reader()
        client.work_until(lambda: reader.value(limits[0]) > 0)
        assert reader.value(limits[1]) == 0

    def test_a_multi_destination_subscription_may_spy(self, client: Any) -> None:
        client.add_publication(f"{ENDPOINT}|session-id=7", 10)
        owner = client.add_subscription("aeron:udp?control-mode=manual", 10)
        client.take(CommandType.ON_SUBSCRIPTION_READY, owner)
        fields = {"registration_id": owner, "channel": f"aeron-spy:{ENDPOINT}"}
        asked = client.request(CommandType.ADD_RCV_DESTINATION, commands.AddRcvDestinationEncoder, **fields)
        client.take(CommandType.ON_OPERATION_SUCCESS, asked)
        image = client.take(CommandType.ON_AVAILABLE_IMAGE)
        assert (image.subscription_registration_id, image.session_id, image.source_identity) == (owner, 7, "aeron:ipc")
        later = client.add_publication(f"{ENDPOINT}|session-id=8", 10, is_exclusive=True)
        assert client.take(CommandType.ON_AVAILABLE_IMAGE).correlation_id == later
        asked = client.request(CommandType.REMOVE_RCV_DESTINATION, commands.RemoveRcvDestinationEncoder, **fields)
        client.take(CommandType.ON_OPERATION_SUCCESS, asked)
        gone = {client.take(CommandType.ON_UNAVAILABLE_IMAGE).correlation_id for _ in range(2)}
        assert gone == {image.correlation_id, later}
        client.work_until(lambda: not position_labels(client))

    @pytest.mark.parametrize("channel", ["aeron-spy:aeron:ipc", "aeron-spy:aeron:udp"])
    def test_there_must_be_something_to_spy_on(self, client: Any, channel: str) -> None:
        assert client.error_of(client.add_subscription(channel, 10))[0] == ErrorCode.INVALID_CHANNEL


class TestUntethered:
    def slow_and_fast(self, client: Any, parameters: str) -> tuple[Any, Any]:
        publication = client.add_publication("aeron:ipc", 10)
        slow = client.add_subscription(f"aeron:ipc?tether=false{parameters}", 10)
        slow_image = client.take(CommandType.ON_AVAILABLE_IMAGE)
        fast = client.add_subscription("aeron:ipc", 10)
        fast_image = client.take(CommandType.ON_AVAILABLE_IMAGE)
        assert (slow_image.subscription_registration_id, fast_image.subscription_registration_id) == (slow, fast)
        assert slow_image.correlation_id == publication
        client.set_counter(fast_image.subscriber_position_counter_id, FAR_AHEAD)
        return slow_image, fast_image

    def test_one_that_fell_behind_loses_its_image_and_gets_it_again_at_the_front(self, launch: Callable[..., Any]) -> None:
        client = launch(**TIMES)
        slow, fast = self.slow_and_fast(client, "")
        gone = client.take(CommandType.ON_UNAVAILABLE_IMAGE)
        assert (gone.correlation_id, gone.subscription_registration_id) == (slow.correlation_id, slow.subscription_registration_id)
        back = client.take(CommandType.ON_AVAILABLE_IMAGE)
        assert back.subscription_registration_id == slow.subscription_registration_id
        assert back.subscriber_position_counter_id == slow.subscriber_position_counter_id
        reader = client.cnc.counters_reader()
        assert reader.value(back.subscriber_position_counter_id) == reader.value(fast.subscriber_position_counter_id) == FAR_AHEAD
        client.work(20)
        assert not has(client, CommandType.ON_UNAVAILABLE_IMAGE)

    def test_one_that_does_not_rejoin_loses_its_position_too(self, launch: Callable[..., Any]) -> None:
        client = launch(**TIMES)
        slow, _ = self.slow_and_fast(client, "|rejoin=false")
        client.take(CommandType.ON_UNAVAILABLE_IMAGE)
        client.work_until(lambda: len(position_labels(client)) == 1)
        publication = next(iter(client.driver.conductor.publications))
        assert publication.left_for_good == {slow.subscription_registration_id}
        remove(client, CommandType.REMOVE_SUBSCRIPTION, slow.subscription_registration_id)
        client.work(20)
        assert publication.left_for_good == set()
        assert not has(client, CommandType.ON_AVAILABLE_IMAGE)
        assert client.system(SystemCounter.ERRORS) == 0

    @pytest.mark.parametrize("wait", ["none", "unavailable", "resting"])
    def test_one_that_is_removed_in_any_state_leaves_nothing(self, launch: Callable[..., Any], wait: str) -> None:
        client = launch(**{**TIMES, "untethered_resting_timeout_ns": "10s"})
        slow, fast = self.slow_and_fast(client, "")
        if wait != "none":
            client.take(CommandType.ON_UNAVAILABLE_IMAGE)
        if wait == "resting":
            limit = client.cnc.counters_reader()
            limit_id = next(item.counter_id for item in limit.for_each() if item.label.startswith("pub-lmt"))
            client.work_until(lambda: limit.value(limit_id) > FAR_AHEAD)
        remove(client, CommandType.REMOVE_SUBSCRIPTION, slow.subscription_registration_id)
        client.work_until(lambda: len(position_labels(client)) == 1)
        remove(client, CommandType.REMOVE_SUBSCRIPTION, fast.subscription_registration_id)
        client.work_until(lambda: not position_labels(client))
        assert client.system(SystemCounter.ERRORS) == 0

    def test_the_driver_s_option_unties_by_default(self, launch: Callable[..., Any]) -> None:
        client = launch(tether_subscriptions=False, **TIMES)
        client.add_publication("aeron:ipc", 10)
        images = []
        for channel in ("aeron:ipc", "aeron:ipc?tether=true"):
            client.add_subscription(channel, 10)
            images.append(client.take(CommandType.ON_AVAILABLE_IMAGE))
        client.set_counter(images[1].subscriber_position_counter_id, FAR_AHEAD)
        gone = client.take(CommandType.ON_UNAVAILABLE_IMAGE)
        assert gone.subscription_registration_id == images[0].subscription_registration_id


class TestIpcRejection:
    def reject(self, client: Any, image: Any) -> None:
        asked = client.request(
            CommandType.REJECT_IMAGE, commands.RejectImageEncoder, image_correlation_id=image.correlation_id, position=0, reason="no more"
        )
        client.take(CommandType.ON_OPERATION_SUCCESS, asked)

    def test_subscribers_lose_the_image_until_the_cool_down_is_over(self, launch: Callable[..., Any]) -> None:
        client = launch(image_liveness_timeout_ns="60ms")
        subscriptions = [client.add_subscription("aeron:ipc", 10) for _ in range(2)]
        publication = client.add_publication("aeron:ipc", 10)
        session_id = client.take(CommandType.ON_PUBLICATION_READY, publication).session_id
        images = [client.take(CommandType.ON_AVAILABLE_IMAGE) for _ in range(2)]
        self.reject(client, images[0])
        client.work_until(lambda: has(client, CommandType.ON_PUBLICATION_ERROR))
        error = next(found for kind, found in client.responses if kind == CommandType.ON_PUBLICATION_ERROR)
        assert (error.registration_id, error.session_id, error.stream_id) == (publication, session_id, 10)
        assert (error.error_code, error.error_message) == (ErrorCode.IMAGE_REJECTED, "no more")
        assert (error.receiver_id, error.group_tag, error.destination_registration_id) == (-1, -1, -1)
        assert (bytes(error.source_address)[:4], error.source_port) == (b"\x7f\0\0\1", 0)
        gone = {client.take(CommandType.ON_UNAVAILABLE_IMAGE).subscription_registration_id for _ in range(2)}
        assert gone == set(subscriptions)
        late = client.add_subscription("aeron:ipc", 10)
        client.take(CommandType.ON_SUBSCRIPTION_READY, late)
        client.work(5)
        assert not has(client, CommandType.ON_AVAILABLE_IMAGE)
        back = {client.take(CommandType.ON_AVAILABLE_IMAGE).subscription_registration_id for _ in range(3)}
        assert back == {*subscriptions, late}
        assert len(position_labels(client)) == 3
        assert client.system(SystemCounter.IMAGES_REJECTED) == 1

    def test_a_second_rejection_prolongs_the_cool_down(self, launch: Callable[..., Any]) -> None:
        client = launch(image_liveness_timeout_ns="10s")
        client.add_subscription("aeron:ipc", 10)
        client.add_publication("aeron:ipc", 10)
        image = client.take(CommandType.ON_AVAILABLE_IMAGE)
        self.reject(client, image)
        self.reject(client, image)
        client.work_until(lambda: not position_labels(client))
        assert client.system(SystemCounter.IMAGES_REJECTED) == 2
        assert sum(kind == CommandType.ON_UNAVAILABLE_IMAGE for kind, _ in client.responses) == 1
