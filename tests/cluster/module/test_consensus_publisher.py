"""Publications to members: lent to the native agent, asked for again when they have ended; lost messages are told at a later time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from aerowire.base.errors import RegistrationError
from aerowire.client.publications.publication import CLOSED, NOT_CONNECTED
from aerowire.cluster.agents.events import PublicationReturned
from aerowire.cluster.module import consensus_publisher
from aerowire.cluster.module.consensus_publisher import ConsensusPublisher

SECOND_NS = 1_000_000_000
MEMBER, OTHER = 1, 2


class Agent:
    """The native agent, whose results a test gives."""

    def __init__(self) -> None:
        self.lent: list[tuple[int, Any]] = []
        self.sent: list[tuple[int, bytes, Any]] = []
        self.proxy = SimpleNamespace(set_publication=lambda member_id, loan: self.lent.append((member_id, loan)))
        self.return_publication: Any = None

    def listen(self, kind: type, on_event: Any) -> None:
        """Note the handler of publications that are given back."""
        assert kind is PublicationReturned
        self.return_publication = lambda loan: on_event(PublicationReturned(loan))

    def send(self, member_id: int, message: bytes, on_sent: Any) -> None:
        """Note a message."""
        self.sent.append((member_id, message, on_sent))


class Client:
    """A client whose publications are there at once, unless they are refused."""

    def __init__(self) -> None:
        self.added: list[Any] = []
        self.refusal: RegistrationError | None = None

    def async_add_exclusive_publication(self, channel: str, _stream_id: int) -> Any:
        """Add a publication."""
        publication = SimpleNamespace(channel=channel, is_closed=False)
        publication.close = lambda: setattr(publication, "is_closed", True)
        self.added.append(publication)
        refusal = self.refusal

        def result() -> Any:
            if refusal is not None:
                raise refusal
            return publication

        return SimpleNamespace(poll=lambda: True, result=result)


class Setting:
    """A publisher to two members, and what it works with."""

    def __init__(self) -> None:
        self.agent, self.client, self.errors = Agent(), Client(), list[str]()
        client: Any = self.client
        agent: Any = self.agent
        channels = {MEMBER: "aeron:udp?endpoint=a:1", OTHER: "aeron:udp?endpoint=b:1"}
        self.publisher = ConsensusPublisher(client, agent, channels, 108, self.errors.append)


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Setting:
    monkeypatch.setattr(consensus_publisher, "LentPublication", lambda publication: SimpleNamespace(publication=publication))
    return Setting()


def test_each_member_has_a_publication_that_the_agent_is_lent_once(setting: Setting) -> None:
    assert setting.publisher.poll(0) == 2
    assert setting.publisher.poll(SECOND_NS) == 0
    assert [(member_id, loan.publication.channel) for member_id, loan in setting.agent.lent] == [
        (MEMBER, "aeron:udp?endpoint=a:1"),
        (OTHER, "aeron:udp?endpoint=b:1"),
    ]


def test_a_message_that_has_left_is_told_at_once_and_one_that_is_lost_at_a_later_time(setting: Setting) -> None:
    told: list[bool] = []
    setting.publisher.poll(10)
    for _ in range(2):
        setting.publisher.send(MEMBER, b"message", told.append)
    setting.agent.sent[0][2](64)
    setting.agent.sent[1][2](NOT_CONNECTED)
    assert told == [True]
    setting.publisher.poll(10)
    assert told == [True]
    setting.publisher.poll(11)
    setting.publisher.poll(12)
    assert told == [True, False]


def test_a_publication_that_has_ended_is_asked_for_again_after_a_second(setting: Setting) -> None:
    setting.publisher.poll(0)
    setting.publisher.send(MEMBER, b"message")
    setting.agent.sent[0][2](CLOSED)
    assert [publication.is_closed for publication in setting.client.added] == [True, False]
    setting.agent.return_publication(setting.agent.lent[0][1])
    assert setting.publisher.poll(SECOND_NS - 1) == 0
    assert setting.publisher.poll(SECOND_NS) == 1
    assert [member_id for member_id, _ in setting.agent.lent] == [MEMBER, OTHER, MEMBER]


def test_a_publication_that_the_driver_refuses_is_asked_for_again_after_a_second(setting: Setting) -> None:
    setting.client.refusal = RegistrationError("unknown host", actual="a:1")
    assert setting.publisher.poll(0) == 0
    assert setting.errors == [f"failed to add consensus publication for member: {member} - unknown host: a:1" for member in (MEMBER, OTHER)]
    setting.client.refusal = None
    assert setting.publisher.poll(SECOND_NS - 1) == 0
    assert setting.publisher.poll(SECOND_NS) == 2


def test_publications_are_closed_at_the_end(setting: Setting) -> None:
    setting.publisher.poll(0)
    setting.publisher.close()
    assert all(publication.is_closed for publication in setting.client.added)
