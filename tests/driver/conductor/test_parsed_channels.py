"""The channel of a command is parsed once, whatever is done for it."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.base.channel_uri import ChannelUri
from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from tests.support.processes import free_port

IPC, SPY = "aeron:ipc", "aeron-spy:aeron:udp?endpoint=127.0.0.1:9"
UDP = "aeron:udp?endpoint=127.0.0.1"
GROUP, MANUAL = "aeron:udp?endpoint=224.20.30.39:24326", "aeron:udp?control-mode=manual"


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    texts: list[str] = []
    parse = ChannelUri.parse

    def noted(text: str) -> ChannelUri:
        texts.append(text)
        return parse(text)

    monkeypatch.setattr(ChannelUri, "parse", noted)
    return texts


def udp() -> str:
    return f"{UDP}:{free_port()}"


def with_port(channel: str) -> str:
    """Return a channel with a port that is free, where it is to have one: names of tests have none that changes."""
    return udp() if channel == UDP else channel


@pytest.mark.parametrize("is_exclusive", [True, False])
@pytest.mark.parametrize("channel", [IPC, UDP, MANUAL, f"{GROUP}|interface=127.0.0.1"])
def test_of_a_publication(client: Any, parsed: list[str], channel: str, is_exclusive: bool) -> None:
    channel = with_port(channel)
    kind = CommandType.ON_EXCLUSIVE_PUBLICATION_READY if is_exclusive else CommandType.ON_PUBLICATION_READY
    client.take(kind, client.add_publication(channel, 10, is_exclusive=is_exclusive))
    assert parsed == [channel]
    # Another one on the same endpoint, or of the same stream.
    client.take(kind, client.add_publication(channel, 10, is_exclusive=is_exclusive))
    assert parsed == [channel] * 2


@pytest.mark.parametrize("channel", [IPC, SPY, UDP, MANUAL])
def test_of_a_subscription(client: Any, parsed: list[str], channel: str) -> None:
    channel = with_port(channel)
    client.take(CommandType.ON_SUBSCRIPTION_READY, client.add_subscription(channel, 10))
    assert parsed == [channel]


@pytest.mark.parametrize("channel", ["aeron:udp?endpoint=224.20.30.40:24326", f"{GROUP}|ttl=300", "aeron:udp", "x:y"])
def test_of_one_that_is_refused(client: Any, parsed: list[str], channel: str) -> None:
    client.error_of(client.add_publication(channel, 10))
    assert parsed == [channel]


def test_of_destinations_to_send_to(client: Any, parsed: list[str]) -> None:
    publication = client.add_publication(MANUAL, 10)
    client.take(CommandType.ON_PUBLICATION_READY, publication)
    channel = udp()
    for kind, encoder in (
        (CommandType.ADD_DESTINATION, commands.AddDestinationEncoder),
        (CommandType.REMOVE_DESTINATION, commands.RemoveDestinationEncoder),
    ):
        parsed.clear()
        client.take(CommandType.ON_OPERATION_SUCCESS, client.request(kind, encoder, registration_id=publication, channel=channel))
        assert parsed == [channel]


@pytest.mark.parametrize("channel", [IPC, SPY, UDP])
def test_of_destinations_to_receive_from(client: Any, parsed: list[str], channel: str) -> None:
    channel = with_port(channel)
    subscription = client.add_subscription(MANUAL, 10)
    client.take(CommandType.ON_SUBSCRIPTION_READY, subscription)
    for kind in (CommandType.ADD_RCV_DESTINATION, CommandType.REMOVE_RCV_DESTINATION):
        parsed.clear()
        asked = client.request(kind, commands.AddRcvDestinationEncoder, registration_id=subscription, channel=channel)
        client.take(CommandType.ON_OPERATION_SUCCESS, asked)
        assert parsed == [channel]
