"""Multi-destination subscriptions as a client of the driver sees them: commands, counters, images."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from aerowire.codecs.flyweights import commands, transport
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.media.receive_transport import TRANSPORTS_MAX

CHANNEL = "aeron:udp?control-mode=manual"
STREAM = 10
# The group of status messages is the one next to that of data.
DATA_GROUP, CONTROL_GROUP = "224.20.30.39", "224.20.30.40"


def subscribe(client: Any, channel: str = CHANNEL) -> int:
    subscription: int = client.add_subscription(channel, STREAM)
    client.take(CommandType.ON_SUBSCRIPTION_READY, subscription)
    return subscription


def ask(client: Any, command: CommandType, subscription: int, channel: str) -> int:
    asked: int = client.request(command, commands.AddRcvDestinationEncoder, registration_id=subscription, channel=channel)
    return asked


def add(client: Any, subscription: int, channel: str) -> None:
    client.take(CommandType.ON_OPERATION_SUCCESS, ask(client, CommandType.ADD_RCV_DESTINATION, subscription, channel))


def remove(client: Any, subscription: int, channel: str) -> None:
    client.take(CommandType.ON_OPERATION_SUCCESS, ask(client, CommandType.REMOVE_RCV_DESTINATION, subscription, channel))


def addresses(client: Any, status_counter_id: int) -> list[str]:
    prefix = f"rcv-local-sockaddr: {status_counter_id} "
    return [label.removeprefix(prefix) for label, value in client.labels().items() if label.startswith(prefix) and value == 1]


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


def setup(session_id: int) -> bytes:
    return transport.SetupEncoder.encode(
        frame_length=40, session_id=session_id, stream_id=STREAM, initial_term_id=1, active_term_id=1, term_length=65536, mtu=1408
    )


def test_destinations_have_sockets_and_address_counters_of_their_own(client: Any) -> None:
    subscription = client.add_subscription(CHANNEL, STREAM)
    status_id = client.take(CommandType.ON_SUBSCRIPTION_READY, subscription).channel_status_counter_id
    assert client.labels() == {f"client-heartbeat: id={client.client_id}": pytest.approx(1, abs=1e15), f"rcv-channel: {CHANNEL} ": 1}
    add(client, subscription, "aeron:udp?endpoint=127.0.0.1:0")
    add(client, subscription, "aeron:udp?endpoint=127.0.0.1:0|interface=127.0.0.1")
    first, second = addresses(client, status_id)
    assert first != second
    assert first.startswith("127.0.0.1:")
    remove(client, subscription, "aeron:udp?endpoint=127.0.0.1:0")
    client.work_until(lambda: len(addresses(client, status_id)) == 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
        again.bind(("127.0.0.1", port_of(first)))
    remove(client, subscription, "aeron:udp?endpoint=127.0.0.1:1")  # never added: no error
    client.take(
        CommandType.ON_OPERATION_SUCCESS,
        client.request(CommandType.REMOVE_SUBSCRIPTION, commands.RemoveSubscriptionEncoder, registration_id=subscription),
    )
    client.work_until(lambda: len(client.labels()) == 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:
        again.bind(("127.0.0.1", port_of(second)))


def test_two_paths_of_a_session_make_one_image(launch: Callable[..., Any]) -> None:
    client = launch(rcv_status_message_timeout_ns="5ms")
    subscription = client.add_subscription(CHANNEL, STREAM)
    status_id = client.take(CommandType.ON_SUBSCRIPTION_READY, subscription).channel_status_counter_id
    for _ in range(2):
        add(client, subscription, "aeron:udp?endpoint=127.0.0.1:0")
    places = addresses(client, status_id)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as source:
        source.bind(("127.0.0.1", 0))
        for place in places:
            source.sendto(setup(77), ("127.0.0.1", port_of(place)))
        image = client.take(CommandType.ON_AVAILABLE_IMAGE)
        assert (image.session_id, image.subscription_registration_id) == (77, subscription)
        assert image.source_identity == "{}:{}".format(*source.getsockname())
        for place in places:  # one of them has made the image; both may join it now
            source.sendto(setup(77), ("127.0.0.1", port_of(place)))
        told = client.system(SystemCounter.STATUS_MESSAGES_SENT)
        client.work_until(lambda: client.system(SystemCounter.STATUS_MESSAGES_SENT) >= told + 3)
        source.settimeout(5.0)
        answering: set[int] = set()
        while len(answering) < 2:
            answering.add(source.recvfrom(100)[1][1])
    assert answering == {port_of(place) for place in places}
    assert not [item for item in client.responses if item[0] == CommandType.ON_AVAILABLE_IMAGE]


@pytest.mark.parametrize(
    "option", ["mtu=1408", "rcv-wnd=64k", "so-rcvbuf=64k", "so-sndbuf=64k", "response-correlation-id=1", "control-mode=response"]
)
def test_a_destination_may_not_say_what_is_its_subscriptions(client: Any, option: str) -> None:
    subscription = subscribe(client)
    asked = ask(client, CommandType.ADD_RCV_DESTINATION, subscription, f"aeron:udp?endpoint=127.0.0.1:0|{option}")
    code, text = client.error_of(asked)
    assert (code, option in text) == (ErrorCode.INVALID_CHANNEL, True)


def test_destinations_need_a_subscription_that_takes_them(client: Any) -> None:
    plain = subscribe(client, "aeron:udp?endpoint=127.0.0.1:0")
    add, remove = CommandType.ADD_RCV_DESTINATION, CommandType.REMOVE_RCV_DESTINATION
    udp, ipc = "aeron:udp?endpoint=127.0.0.1:0", "aeron:ipc"
    refused = {
        (command, of, channel): client.error_of(ask(client, command, of, channel))[0]
        for command in (add, remove)
        for of in (plain, 12345)
        for channel in (udp, ipc)
    }
    # The official driver finds a subscription without destinations, and says that its channel is wrong.
    assert refused.pop((remove, plain, udp)) == ErrorCode.INVALID_CHANNEL
    assert set(refused.values()) == {ErrorCode.UNKNOWN_SUBSCRIPTION}


def test_a_destination_that_cannot_be_bound_is_told_and_leaves_nothing(client: Any) -> None:
    subscription = subscribe(client)
    before = client.labels()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        channel = f"aeron:udp?endpoint=127.0.0.1:{taken.getsockname()[1]}"
        code, text = client.error_of(ask(client, CommandType.ADD_RCV_DESTINATION, subscription, channel))
    assert (code, "address already in use" in text) == (ErrorCode.GENERIC_ERROR, True), text
    assert client.labels().keys() == before.keys()
    add(client, subscription, channel)


def test_there_is_a_limit_to_destinations_and_a_place_that_is_left_can_be_taken(client: Any) -> None:
    subscription = subscribe(client)
    for number in range(TRANSPORTS_MAX):
        add(client, subscription, f"aeron:udp?endpoint=127.0.0.1:0|alias={number}")
    code, text = client.error_of(ask(client, CommandType.ADD_RCV_DESTINATION, subscription, "aeron:udp?endpoint=127.0.0.1:0"))
    assert (code, f"at most {TRANSPORTS_MAX}" in text) == (ErrorCode.GENERIC_ERROR, True)
    remove(client, subscription, "aeron:udp?endpoint=127.0.0.1:0")
    add(client, subscription, "aeron:udp?endpoint=127.0.0.1:0")


def test_ipc_can_be_a_destination(client: Any) -> None:
    subscription = subscribe(client)
    before = client.add_publication("aeron:ipc", STREAM, is_exclusive=True)
    client.take(CommandType.ON_EXCLUSIVE_PUBLICATION_READY, before)
    add(client, subscription, "aeron:ipc")
    image = client.take(CommandType.ON_AVAILABLE_IMAGE)
    assert (image.correlation_id, image.subscription_registration_id, image.source_identity) == (before, subscription, "aeron:ipc")
    after = client.add_publication("aeron:ipc", STREAM, is_exclusive=True)
    assert client.take(CommandType.ON_AVAILABLE_IMAGE).correlation_id == after
    remove(client, subscription, "aeron:ipc")
    gone = {client.take(CommandType.ON_UNAVAILABLE_IMAGE).correlation_id for _ in range(2)}
    assert gone == {before, after}
    client.work_until(lambda: not [label for label in client.labels() if label.startswith("sub-pos")])
    asked = ask(client, CommandType.REMOVE_RCV_DESTINATION, subscription, "aeron:ipc")
    assert client.error_of(asked)[0] == ErrorCode.UNKNOWN_SUBSCRIPTION


def test_a_subscription_that_ends_takes_its_ipc_destination_along(client: Any) -> None:
    subscription = subscribe(client)
    add(client, subscription, "aeron:ipc")
    client.add_publication("aeron:ipc", STREAM)
    client.take(CommandType.ON_AVAILABLE_IMAGE)
    asked = client.request(CommandType.REMOVE_SUBSCRIPTION, commands.RemoveSubscriptionEncoder, registration_id=subscription)
    client.take(CommandType.ON_OPERATION_SUCCESS, asked)
    client.work_until(lambda: not [label for label in client.labels() if label.startswith("sub-pos")])


def test_one_destination_may_be_a_group_and_another_a_host(launch: Callable[..., Any]) -> None:
    client = launch(rcv_status_message_timeout_ns="5ms")
    subscription = client.add_subscription(CHANNEL, STREAM)
    status_id = client.take(CommandType.ON_SUBSCRIPTION_READY, subscription).channel_status_counter_id
    add(client, subscription, "aeron:udp?endpoint=127.0.0.1:0")
    (host,) = addresses(client, status_id)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as source,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control,
    ):
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            control.setsockopt(socket.SOL_SOCKET, option, 1)
        control.bind((CONTROL_GROUP, 0))
        control.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(CONTROL_GROUP) + socket.inet_aton("127.0.0.1"))
        control.setblocking(False)
        source.bind(("127.0.0.1", 0))
        source.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        source.setblocking(False)
        port = control.getsockname()[1]
        add(client, subscription, f"aeron:udp?endpoint={DATA_GROUP}:{port}|interface=127.0.0.1")
        source.sendto(setup(77), (DATA_GROUP, port))
        client.take(CommandType.ON_AVAILABLE_IMAGE)
        source.sendto(setup(77), ("127.0.0.1", port_of(host)))
        heard: set[socket.socket] = set()

        def look() -> bool:
            for end in (source, control):
                try:
                    if transport.FrameHeaderDecoder(end.recv(100)).type == transport.FrameType.SM:
                        heard.add(end)
                except BlockingIOError:
                    continue
            return len(heard) == 2

        client.work_until(look)
