"""Response channels by command: who may ask, who may answer, and which subscription hears the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.logbuffer.log import LogBuffers
from tests.support.processes import free_port

REQUEST, RESPONSE = 10, 11


@pytest.fixture
def client(launch: Callable[..., Any]) -> Any:
    return launch(rcv_status_message_timeout_ns="2ms")


def fields_of(ready: Any) -> dict[str, Any]:
    """Return the metadata of the log that a response names."""
    with LogBuffers.map(ready.log_file) as log:
        return log.metadata_fields()


class Dialogue:
    """A server that takes requests, and the channels on which its clients ask and hear."""

    def __init__(self, client: Any, media: str = "udp") -> None:
        self.client = client
        is_ipc = media == "ipc"
        self.request_channel = "aeron:ipc" if is_ipc else f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        self.response_channel = (
            "aeron:ipc?control-mode=response" if is_ipc else f"aeron:udp?control-mode=response|control=127.0.0.1:{free_port()}"
        )
        self.server = self.subscribe(self.request_channel, REQUEST)

    def subscribe(self, channel: str, stream_id: int) -> int:
        registration_id: int = self.client.add_subscription(channel, stream_id)
        self.client.take(CommandType.ON_SUBSCRIPTION_READY, registration_id)
        return registration_id

    def ask(self) -> tuple[int, Any]:
        """Wait for answers and publish a request; returns the waiting subscription and the request's image."""
        waiting = self.subscribe(self.response_channel, RESPONSE)
        separator = "|" if "?" in self.request_channel else "?"
        publication = self.client.add_publication(f"{self.request_channel}{separator}response-correlation-id={waiting}", REQUEST)
        self.client.take(CommandType.ON_PUBLICATION_READY, publication)
        return waiting, self.image_of(self.server)

    def answer(self, image_id: object, *, is_exclusive: bool = False) -> int:
        channel = f"{self.response_channel}|response-correlation-id={image_id}"
        return int(self.client.add_publication(channel, RESPONSE, is_exclusive=is_exclusive))

    def image_of(self, subscription: int) -> Any:
        def find() -> list[tuple[int, Any]]:
            return [
                item
                for item in self.client.responses
                if item[0] == CommandType.ON_AVAILABLE_IMAGE and item[1].subscription_registration_id == subscription
            ]

        self.client.work_until(find)
        found = find()[0]
        self.client.responses.remove(found)
        return found[1]

    def images(self, subscription: int) -> int:
        kind = CommandType.ON_AVAILABLE_IMAGE
        return sum(item[0] == kind and item[1].subscription_registration_id == subscription for item in self.client.responses)


@pytest.mark.parametrize("media", ["udp", "ipc"])
def test_an_answer_reaches_the_subscription_that_waits_for_it_and_no_other(client: Any, media: str) -> None:
    dialogue = Dialogue(client, media)
    first, first_image = dialogue.ask()
    second, second_image = dialogue.ask()
    assert first_image.session_id != second_image.session_id
    sessions = {}
    for waiting, image in ((second, second_image), (first, first_image)):
        answering = client.take(CommandType.ON_PUBLICATION_READY, dialogue.answer(image.correlation_id))
        assert dialogue.image_of(waiting).session_id == answering.session_id
        sessions[waiting] = answering.session_id
    client.work(20)
    assert len(set(sessions.values())) == 2
    assert (dialogue.images(first), dialogue.images(second)) == (0, 0)


def test_a_subscription_keeps_the_first_session_that_answered_it(client: Any) -> None:
    dialogue = Dialogue(client)
    waiting, image = dialogue.ask()
    answering = client.take(CommandType.ON_EXCLUSIVE_PUBLICATION_READY, dialogue.answer(image.correlation_id, is_exclusive=True))
    assert dialogue.image_of(waiting).session_id == answering.session_id
    client.take(CommandType.ON_EXCLUSIVE_PUBLICATION_READY, dialogue.answer(image.correlation_id, is_exclusive=True))
    client.work(20)
    assert dialogue.images(waiting) == 0


def test_the_log_of_each_side_tells_what_it_is_for(client: Any) -> None:
    dialogue = Dialogue(client)
    waiting = dialogue.subscribe(dialogue.response_channel, RESPONSE)
    asking = client.add_publication(f"{dialogue.request_channel}|response-correlation-id={waiting}", REQUEST)
    ready = client.take(CommandType.ON_PUBLICATION_READY, asking)
    metadata = fields_of(ready)
    assert (metadata["is_response"], metadata["response_correlation_id"]) == (0, waiting)
    image = dialogue.image_of(dialogue.server)
    answer = client.take(CommandType.ON_PUBLICATION_READY, dialogue.answer(image.correlation_id))
    metadata = fields_of(answer)
    assert (metadata["is_response"], metadata["response_correlation_id"]) == (1, image.correlation_id)
    heard = dialogue.image_of(waiting)
    assert fields_of(heard)["is_response"] == 1


def test_a_prototype_answers_nothing_and_keeps_the_channel_open(client: Any) -> None:
    dialogue = Dialogue(client)
    ready = client.take(CommandType.ON_PUBLICATION_READY, dialogue.answer("prototype"))
    assert fields_of(ready)["term_length"] == 65536


class TestErrors:
    def refused(self, client: Any, asked: int) -> str:
        code, text = client.error_of(asked)
        assert code == ErrorCode.GENERIC_ERROR
        return str(text)

    def test_an_unknown_image_cannot_be_answered(self, client: Any) -> None:
        assert "unknown image" in self.refused(client, Dialogue(client).answer(4711))

    def test_an_image_whose_publisher_did_not_ask_cannot_be_answered(self, client: Any) -> None:
        dialogue = Dialogue(client)
        client.take(CommandType.ON_PUBLICATION_READY, client.add_publication(dialogue.request_channel, REQUEST))
        image = dialogue.image_of(dialogue.server)
        assert "did not ask" in self.refused(client, dialogue.answer(image.correlation_id))

    def test_an_answer_says_what_it_answers(self, client: Any) -> None:
        dialogue = Dialogue(client)
        assert "does not say" in self.refused(client, client.add_publication(dialogue.response_channel, RESPONSE))

    def test_a_request_names_a_subscription_that_exists(self, client: Any) -> None:
        dialogue = Dialogue(client)
        asked = client.add_publication(f"{dialogue.request_channel}|response-correlation-id=4711", REQUEST)
        assert "no subscription waits" in self.refused(client, asked)


def test_a_waiting_subscription_can_be_given_back(client: Any) -> None:
    dialogue = Dialogue(client)
    waiting = dialogue.subscribe(dialogue.response_channel, RESPONSE)
    other = dialogue.subscribe(dialogue.response_channel, RESPONSE)
    for registration_id in (waiting, other):
        asked = client.request(CommandType.REMOVE_SUBSCRIPTION, commands.RemoveSubscriptionEncoder, registration_id=registration_id)
        client.take(CommandType.ON_OPERATION_SUCCESS, asked)
    client.work_until(lambda: not any(dialogue.response_channel in label for label in client.labels()))
