"""Streams of simulated drivers one of which loses what its interceptors are told to: it asks for that and has all in the end."""

from __future__ import annotations

from typing import Any

from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.simulation.host import SimulatedHost
from aerowire.simulation.world import SimulatedWorld
from tests.support.stream_client import StreamClient

SECOND = 1_000_000_000
MESSAGE = bytes(968)  # with its header 1,000 bytes, 1,024 in the log
FRAME_LENGTH = 1024
MESSAGES = 20
TERM = "init-term-id=7|term-id=7|term-offset=0|term-length=64k"
CHANNEL = "aeron:udp?endpoint=10.0.0.2:40456"
QUICK: dict[str, Any] = {"environ": {}, "timer_interval_ns": "100ms"}


def stream(world: SimulatedWorld, **options: Any) -> tuple[SimulatedHost, SimulatedHost]:
    """Send twenty messages to a driver with `options`; return both hosts when it has them all."""
    sending, receiving = world.add_host("10.0.0.1", **QUICK), world.add_host("10.0.0.2", **QUICK, **options)
    publisher, subscriber = StreamClient(sending), StreamClient(receiving, reads=False)
    publisher.publish(f"{CHANNEL}|{TERM}")
    subscriber.subscribe(CHANNEL)
    assert world.run(SECOND, until=lambda: subscriber.has_image)
    # The MTU has room for one message.
    for _ in range(MESSAGES):
        while publisher.offer(MESSAGE) < 0:
            world.run(1_000_000)
    assert world.run(SECOND, until=lambda: counter(receiving, CounterType.RCV_POS) == MESSAGES * FRAME_LENGTH)
    return sending, receiving


def counter(host: SimulatedHost, kind: CounterType) -> int:
    counters = host.cnc.counters_reader()
    return next(counters.value(info.counter_id) for info in counters.for_each() if info.type_id == kind)


def resent(host: SimulatedHost) -> int:
    return host.cnc.counters_reader().value(SystemCounter.RETRANSMITTED_BYTES)


def test_a_place_is_lost_once(world: SimulatedWorld) -> None:
    sending, _ = stream(
        world,
        udp_channel_incoming_interceptors="fixed-loss",
        udp_channel_transport_bindings_fixed_loss_args=f"term-id=7|term-offset=0|length={3 * FRAME_LENGTH}",
    )
    assert resent(sending) == 3 * FRAME_LENGTH


def test_many_gaps_are_lost_once_each(world: SimulatedWorld) -> None:
    sending, receiving = stream(
        world,
        udp_channel_incoming_interceptors="multi-gap-loss",
        udp_channel_transport_bindings_multi_gap_loss_args=f"term-id=7|gap-radix={4 * FRAME_LENGTH}|gap-length=64|total-gaps=3",
    )
    assert resent(sending) == 3 * FRAME_LENGTH
    assert counter(receiving, CounterType.RCV_NAKS_SENT) >= 3


def test_without_arguments_and_without_interceptors_nothing_is_lost(world: SimulatedWorld) -> None:
    sending, _ = stream(
        world,
        udp_channel_incoming_interceptors="fixed-loss,loss",
        udp_channel_transport_bindings_multi_gap_loss_args="term-id=7|gap-radix=4096|gap-length=64|total-gaps=3",
    )
    assert resent(sending) == 0


def test_setups_can_be_lost_for_good(world: SimulatedWorld) -> None:
    host = world.add_host("10.0.0.1", **QUICK)
    deaf = world.add_host(
        "10.0.0.2",
        **QUICK,
        udp_channel_incoming_interceptors="loss",
        udp_channel_transport_bindings_loss_args="rate=1.0|recv-msg-mask=20",
    )
    publisher, subscriber = StreamClient(host), StreamClient(deaf)
    publisher.publish(CHANNEL)
    subscriber.subscribe(CHANNEL)
    assert not world.run(SECOND, until=lambda: subscriber.has_image)
    assert publisher.publication is not None
    assert subscriber.subscription is not None
