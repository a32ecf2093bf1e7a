"""Whether the socket of a publication is connected to its peer: whom it hears, and where it sends when the peer's name moves."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from aerowire.codecs.flyweights import cnc, transport
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.flyweights.transport import FrameType
from aerowire.codecs.tables.counters import SystemCounter

STREAM = 10
FRAME_MAX = 2000


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two sockets with the same port of two addresses."""
    with ExitStack() as stack:
        first, second = (stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(2))
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.2", first.getsockname()[1]))
        for end in (first, second):
            end.setblocking(False)
        yield first, second


def publish(client: Any, host: str, end: socket.socket) -> int:
    registration_id: int = client.add_publication(f"aeron:udp?endpoint={host}:{end.getsockname()[1]}", STREAM)
    client.take(CommandType.ON_PUBLICATION_READY, registration_id)
    return registration_id


def setup_at(client: Any, end: socket.socket) -> tuple[Any, tuple[str, int]]:
    """Work until a SETUP has come; return it and where from."""
    found: list[tuple[Any, tuple[str, int]]] = []

    def look() -> bool:
        while not found:
            try:
                frame, source = end.recvfrom(FRAME_MAX)
            except BlockingIOError:
                return False
            if transport.FrameHeaderDecoder(frame).type == FrameType.SETUP:
                found.append((transport.SetupDecoder(frame), source))
        return True

    client.work_until(look)
    return found[0]


def status(setup: Any, receiver_id: int) -> bytes:
    return transport.StatusMessageEncoder.encode(
        frame_length=transport.StatusMessageEncoder.ENCODED_LENGTH,
        session_id=setup.session_id,
        stream_id=STREAM,
        consumption_term_id=setup.initial_term_id,
        receiver_window=4096,
        receiver_id=receiver_id,
    )


@pytest.mark.parametrize(("is_connected", "heard"), [(True, 1), (False, 2)])
def test_a_socket_that_is_not_connected_hears_strangers_too(
    launch: Callable[..., Any], ends: tuple[socket.socket, socket.socket], is_connected: bool, heard: int
) -> None:
    peer, stranger = ends
    client = launch(driver_connect=is_connected)
    publish(client, "127.0.0.1", peer)
    setup, source = setup_at(client, peer)
    stranger.sendto(status(setup, 1), source)
    client.work(20)
    assert client.system(SystemCounter.STATUS_MESSAGES_RECEIVED) == heard - 1
    peer.sendto(status(setup, 2), source)
    client.work_until(lambda: client.system(SystemCounter.STATUS_MESSAGES_RECEIVED) == heard)
    assert client.system(SystemCounter.ERRORS) == 0


@pytest.mark.parametrize("is_connected", [True, False])
def test_a_peer_whose_name_moves_is_sent_to_where_it_is(
    launch: Callable[..., Any], ends: tuple[socket.socket, socket.socket], is_connected: bool
) -> None:
    client = launch(driver_connect=is_connected)
    conductor = client.driver.conductor
    names = {"moving": "127.0.0.1"}
    object.__setattr__(conductor.core, "ports", replace(conductor.core.ports, resolver=names.get))
    publication = publish(client, "moving", ends[0])
    setup, _ = setup_at(client, ends[0])
    names["moving"] = "127.0.0.2"
    conductor.reresolution.on_silent_sender(conductor.publications.find(publication).endpoint.native, -1)
    moved, _ = setup_at(client, ends[1])
    assert moved.session_id == setup.session_id
    assert client.system(SystemCounter.RESOLUTION_CHANGES) == 1


def test_a_channel_is_errored_while_its_socket_cannot_be_connected(
    launch: Callable[..., Any], ends: tuple[socket.socket, socket.socket]
) -> None:
    client = launch()
    conductor = client.driver.conductor
    names = {"moving": "127.0.0.1"}
    object.__setattr__(conductor.core, "ports", replace(conductor.core.ports, resolver=names.get))
    publication = publish(client, "moving", ends[0])
    endpoint = conductor.publications.find(publication).endpoint

    def status_after_move_to(address: str) -> int:
        names["moving"] = address
        conductor.reresolution.on_silent_sender(endpoint.native, -1)
        client.work(10)
        return int(client.cnc.counters_reader().value(endpoint.status_counter_id))

    assert status_after_move_to("127.255.255.255") == cnc.CHANNEL_STATUS_ERRORED  # a broadcast address
    assert status_after_move_to("127.255.255.255") == cnc.CHANNEL_STATUS_ERRORED
    with socket.socket(fileno=os.dup(endpoint.native.port.fileno())) as same:
        same.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        assert status_after_move_to("127.255.255.255") == cnc.CHANNEL_STATUS_ACTIVE
        same.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 0)
    assert status_after_move_to("127.0.0.2") == cnc.CHANNEL_STATUS_ACTIVE
    assert client.system(SystemCounter.RESOLUTION_CHANGES) == 2
    setup_at(client, ends[1])
    conductor.core.counters.manager.set_value(endpoint.status_counter_id, cnc.CHANNEL_STATUS_CLOSING)
    assert status_after_move_to("127.255.255.255") == cnc.CHANNEL_STATUS_CLOSING
