"""What a subscription's channel and the driver's options ask of images, as clients and senders see it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aerowire.codecs.flyweights import commands, transport
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.ipc.error_log import read_errors

STREAM = 10
UDP = "aeron:udp?endpoint=127.0.0.1:0"
TIMES = {
    "image_liveness_timeout_ns": "200ms",
    "timer_interval_ns": "10ms",
    "untethered_window_limit_timeout_ns": "50ms",
    "untethered_linger_timeout_ns": "50ms",
    "untethered_resting_timeout_ns": "50ms",
    "client_liveness_timeout_ns": "10s",
}
FAR_AHEAD = 40_000


@pytest.fixture
def source() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as opened:
        opened.bind(("127.0.0.1", 0))
        opened.setblocking(False)
        yield opened


def subscribe(client: Any, channel: str) -> tuple[int, tuple[str, int]]:
    """Return the registration of a subscription and the address that it is bound to."""
    subscription = client.add_subscription(channel, STREAM)
    status_id = client.take(CommandType.ON_SUBSCRIPTION_READY, subscription).channel_status_counter_id
    host, _, port = client.cnc.counters_reader().label(status_id).rsplit(" ", 1)[1].rpartition(":")
    return subscription, (host, int(port))


def setup(session_id: int = 77, mtu: int = 1408) -> bytes:
    return transport.SetupEncoder.encode(
        frame_length=40, session_id=session_id, stream_id=STREAM, initial_term_id=1, active_term_id=1, term_length=65536, mtu=mtu
    )


def received(client: Any, source: socket.socket, kind: int, decoder: Any) -> list[Any]:
    """Work until a frame of a type has come to the source; return those that have, and drop others."""
    found: list[Any] = []

    def look() -> bool:
        while True:
            try:
                frame = source.recv(2000)
            except BlockingIOError:
                return bool(found)
            if transport.FrameHeaderDecoder(frame).type == kind:
                found.append(decoder(frame))

    client.work_until(look)
    return found


class TestCongestionControl:
    @pytest.mark.parametrize(
        ("options", "parameter"),
        [
            ({}, "|cc=cubic"),
            ({"congestion_control_supplier": "io.aeron.driver.ext.CubicCongestionControlSupplier"}, ""),
            ({"congestion_control_supplier": "aeron_cubic_congestion_control_strategy_supplier"}, ""),
            ({"congestion_control_supplier": "cubic"}, ""),
        ],
    )
    def test_cubic_begins_with_ten_datagrams_and_has_counters(
        self, launch: Callable[..., Any], source: socket.socket, options: dict[str, str], parameter: str
    ) -> None:
        client = launch(cubic_congestion_control_initial_rtt_ns="10s", **options)
        _, address = subscribe(client, UDP + parameter)
        source.sendto(setup(mtu=1408), address)
        image = client.take(CommandType.ON_AVAILABLE_IMAGE)
        (message, *_) = received(client, source, transport.FrameType.SM, transport.StatusMessageDecoder)
        assert message.receiver_window == 14080
        where = f"{image.correlation_id} 77 {STREAM} {UDP}{parameter}"
        labels = client.labels()
        assert (labels[f"rcv-cc-cubic-rtt: {where}"], labels[f"rcv-cc-cubic-wnd: {where}"]) == (0, 14080)
        reader = client.cnc.counters_reader()
        found = {item.type_id for item in reader.for_each() if item.label.startswith("rcv-cc-cubic")}
        assert found == {CounterType.PER_IMAGE}

    def test_cubic_measures_round_trips_with_its_sender(self, launch: Callable[..., Any], source: socket.socket) -> None:
        client = launch(cubic_congestion_control_measure_rtt=True)
        _, address = subscribe(client, UDP + "|cc=cubic")
        source.sendto(setup(), address)
        client.take(CommandType.ON_AVAILABLE_IMAGE)
        (request, *_) = received(client, source, transport.FrameType.RTTM, transport.RttmDecoder)
        assert (request.flags, request.session_id, request.stream_id, request.reception_delta_ns) == (0x80, 77, STREAM, 0)
        reply = transport.RttmEncoder.encode(
            frame_length=40,
            session_id=77,
            stream_id=STREAM,
            echo_timestamp_ns=request.echo_timestamp_ns,
            receiver_id=request.receiver_id,
        )
        source.sendto(reply, address)
        client.work_until(lambda: next(value for label, value in client.labels().items() if label.startswith("rcv-cc-cubic-rtt")) > 0)

    def test_an_unknown_one_is_an_error_and_no_image(self, client: Any, source: socket.socket) -> None:
        _, address = subscribe(client, UDP + "|cc=reno")
        before = set(client.labels())
        source.sendto(setup(), address)
        client.work_until(lambda: client.system(SystemCounter.ERRORS))
        (error,) = read_errors(client.cnc.error_log_buffer)
        assert "cc=reno" in error.text
        assert CommandType.ON_AVAILABLE_IMAGE not in [kind for kind, _ in client.responses]
        assert set(client.labels()) == before

    def test_a_supplier_decides_against_the_channel(self, launch: Callable[..., Any], source: socket.socket) -> None:
        client = launch(congestion_control_supplier="aeron_static_window_congestion_control_strategy_supplier")
        _, address = subscribe(client, UDP + "|cc=cubic")
        source.sendto(setup(), address)
        client.take(CommandType.ON_AVAILABLE_IMAGE)
        (message, *_) = received(client, source, transport.FrameType.SM, transport.StatusMessageDecoder)
        assert message.receiver_window == 32768


class TestRejoining:
    """Whether a session whose image died of silence may come back is asked of everybody who is still subscribed."""

    @pytest.mark.parametrize("rejoins", [True, False])
    def test_who_was_left_behind_for_good_has_a_say(self, launch: Callable[..., Any], source: socket.socket, rejoins: bool) -> None:
        client = launch(**TIMES)
        channel = f"{UDP}|tags=1|rejoin={str(rejoins).lower()}"
        _, address = subscribe(client, f"{channel}|tether=false")
        fast, _ = subscribe(client, channel)
        source.sendto(setup(), address)
        images = [client.take(CommandType.ON_AVAILABLE_IMAGE) for _ in range(2)]
        position_id = next(image.subscriber_position_counter_id for image in images if image.subscription_registration_id == fast)
        client.set_counter(position_id, FAR_AHEAD)
        client.take(CommandType.ON_UNAVAILABLE_IMAGE)
        remove = commands.RemoveSubscriptionEncoder
        client.request(CommandType.REMOVE_SUBSCRIPTION, remove, registration_id=fast)
        client.work_until(lambda: not any(label.startswith("rcv-hwm") for label in client.labels()))
        client.responses.clear()
        source.sendto(setup(), address)
        client.work(20)
        assert (CommandType.ON_AVAILABLE_IMAGE in [kind for kind, _ in client.responses]) == rejoins
