"""Every channel of a long table: our driver takes what the official one takes, and refuses the rest with the same code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from aerowire.base.directory import CNC_FILE_NAME
from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.ipc.cnc import CncFile
from tests.interop.channel_uris import PUBLICATION, cases, pairs
from tests.interop.harness import Bench, Driver
from tests.support.processes import wait_for_driver

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

ANSWER_S = 20.0
STREAM = 1001
ACCEPTED = 0
PROPERTIES = {"aeron.publication.linger.timeout": "0", "aeron.term.buffer.length": "16m", "aeron.ipc.term.buffer.length": "16m"}

# Where our driver means to differ from the official Java driver: what the channel holds -> (our code, why).
DIFFERENCES = {
    "no-such-host.invalid": (ErrorCode.UNKNOWN_HOST, "the code that there is for it, and that the C driver uses"),
    "=256.1.1.1:": (ErrorCode.UNKNOWN_HOST, "the same"),
    "127.0.0.1:0|interface=[::1]": (
        ErrorCode.INVALID_CHANNEL,
        "families that cannot meet are refused; Java takes the subscription or fails late",
    ),
    "PORT|interface=[::1]": (ErrorCode.INVALID_CHANNEL, "the same"),
    "endpoint=[::1]:PORT|control=127": (ErrorCode.INVALID_CHANNEL, "the same"),
    "endpoint=[::1]:0|control=127": (ErrorCode.INVALID_CHANNEL, "the same"),
    "endpoint=[ff02::3]:PORT|interface=127": (ErrorCode.INVALID_CHANNEL, "the same"),
    "|control=[::1]:": (ErrorCode.INVALID_CHANNEL, "the same"),
}

READY = {CommandType.ON_PUBLICATION_READY, CommandType.ON_SUBSCRIPTION_READY}


def expected_difference(channel: str) -> int | None:
    return next((code for part, (code, _) in DIFFERENCES.items() if part in channel), None)


class CommandClient:
    """Asks a driver for one channel after the other, by commands, and gives each back."""

    def __init__(self, driver: Driver) -> None:
        self._cnc = CncFile.map(str(driver.directory / CNC_FILE_NAME))
        self._receiver = self._cnc.to_clients_receiver()
        self._client_id = self._cnc.to_driver.next_correlation_id()

    def close(self) -> None:
        self._cnc.close()

    def verdict(self, kind: str, channel: str) -> tuple[int, str]:
        """Return (error code or ACCEPTED, what the driver said); what was accepted is given back."""
        code, text, registration_id = self._add(kind, channel)
        if code == ACCEPTED:
            self._remove(kind, registration_id)
        return code, text

    def verdict_beside(self, kind: str, first: str, second: str) -> tuple[int, str]:
        """Return the verdict on `second` while `first` is there."""
        code, text, registration_id = self._add(kind, first)
        assert code == ACCEPTED, f"{first}: {text}"
        found = self.verdict(kind, second)
        self._remove(kind, registration_id)
        return found

    def _add(self, kind: str, channel: str) -> tuple[int, str, int]:
        channel = channel.replace("STREAM", str(STREAM))
        if kind == PUBLICATION:
            correlation_id = self._send(CommandType.ADD_PUBLICATION, commands.AddPublicationEncoder, stream_id=STREAM, channel=channel)
        else:
            correlation_id = self._send(
                CommandType.ADD_SUBSCRIPTION,
                commands.AddSubscriptionEncoder,
                registration_correlation_id=-1,
                stream_id=STREAM,
                channel=channel,
            )
        answer_type, answer = self._answer(correlation_id)
        if answer_type == CommandType.ON_ERROR:
            return answer.error_code, answer.error_message, correlation_id
        return ACCEPTED, "", correlation_id

    def _remove(self, kind: str, registration_id: int) -> None:
        named = {"registration_id": registration_id}
        if kind == PUBLICATION:
            removal = self._send(CommandType.REMOVE_PUBLICATION, commands.RemovePublicationEncoder, flags=0, **named)
        else:
            removal = self._send(CommandType.REMOVE_SUBSCRIPTION, commands.RemoveSubscriptionEncoder, **named)
        self._answer(removal)

    def _send(self, message_type: int, encoder: Any, **fields: Any) -> int:
        correlation_id = self._cnc.to_driver.next_correlation_id()
        body = encoder.encode(client_id=self._client_id, correlation_id=correlation_id, **fields)
        self._cnc.to_driver.write(message_type, body)
        return correlation_id

    def _answer(self, correlation_id: int) -> tuple[int, Any]:
        deadline = time.monotonic() + ANSWER_S
        while time.monotonic() < deadline:
            for message_type, body in self._receiver.poll(10):
                answer = commands.COMMAND_DECODERS[message_type](body)
                if getattr(answer, "correlation_id", getattr(answer, "offending_correlation_id", None)) == correlation_id and (
                    message_type in READY or message_type in {CommandType.ON_ERROR, CommandType.ON_OPERATION_SUCCESS}
                ):
                    return message_type, answer
            time.sleep(0.0005)
        raise TimeoutError(f"no answer to command {correlation_id}")


@pytest.fixture
def clients(bench: Bench) -> Iterator[list[CommandClient]]:
    """A client of our driver and one of the official one."""
    drivers = [bench.driver(side, PROPERTIES) for side in ("aerowire", "official")]
    for driver in drivers:
        wait_for_driver(driver.directory, driver.process)
    made = [CommandClient(driver) for driver in drivers]
    yield made
    for client in made:
        client.close()


def compare(
    clients: list[CommandClient], asked: Iterable[tuple[str, ...]], ask: Callable[..., tuple[int, str]], ports: tuple[int, int]
) -> None:
    """Ask both for each of `asked`, (kind, channels...), and assert that they answer alike.

    Both run on one machine, and a socket may close a little later than the answer says: every case has a port of its own on either,
    below those that the system gives to others.
    """
    differing = []
    count = 0
    for kind, *channels in asked:
        count += 1
        (own_code, own_text), (code, text) = (
            ask(client, kind, *(channel.replace("PORT", str(port + count)) for channel in channels))
            for client, port in zip(clients, ports, strict=True)
        )
        if own_code not in {code, expected_difference(channels[-1])}:
            asked_for = " beside ".join(channel[:120] for channel in reversed(channels))
            differing.append(f"{kind} {asked_for}\n    ours: {own_code} {own_text[:150]}\n    theirs: {code} {text[:150]}")
    assert count > 100
    assert not differing, f"{len(differing)} of {count} differ:\n" + "\n".join(differing)


def test_both_drivers_take_and_refuse_the_same_channels(clients: list[CommandClient]) -> None:
    compare(clients, cases(), CommandClient.verdict, (21_000, 23_000))


def test_both_drivers_let_the_same_channels_share_a_stream(clients: list[CommandClient]) -> None:
    compare(clients, pairs(), CommandClient.verdict_beside, (25_000, 26_000))
