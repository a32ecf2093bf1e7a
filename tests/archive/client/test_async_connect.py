"""Connecting to an archive in a simulated world: the steps, challenge and version, and what is said when it takes too long."""

from __future__ import annotations

from typing import Any

import pytest

from aerowire.archive import AeronArchive, ArchiveClientContext, AsyncConnect, ConnectState, FixedCredentials, SessionState
from aerowire.base.errors import (
    ArchiveConnectionError,
    ArchiveError,
    ArchiveTimeoutError,
    BlockingCallError,
    ClosedError,
    ConfigurationError,
    RegistrationError,
    UnknownOptionError,
)
from aerowire.codecs.flyweights.archive.messages.challenge import Challenge
from aerowire.codecs.tables.archive_errors import ArchiveErrorCode
from aerowire.simulation.clients import SimulatedClient
from aerowire.simulation.world import SimulatedWorld
from tests.support.scripted.archive import ARCHIVE_ID, SESSION_ID, ScriptedArchive, error, ok

MS = 1_000_000
SECOND = 1_000_000_000
QUICK: dict[str, Any] = {"environ": {}, "term_buffer_length": "64k", "ipc_term_buffer_length": "64k"}
REQUESTS = "aeron:udp?endpoint=10.0.0.1:8010"
RESPONSES = "aeron:udp?endpoint=10.0.0.2:0"


class Setting:
    """A host with a scripted archive, and one with a client."""

    def __init__(self, world: SimulatedWorld, **script: Any) -> None:
        self.world = world
        host = world.add_host("10.0.0.1", **QUICK)
        self.archive = ScriptedArchive(host, REQUESTS, **script)
        self.client: SimulatedClient = world.add_host("10.0.0.2", **QUICK).connect()

    def start(self, **options: Any) -> AsyncConnect:
        """Start to connect, polled in each cycle of the client."""
        given = {"control_request_channel": REQUESTS, "control_response_channel": RESPONSES, "environ": {}, **options}
        connecting = AeronArchive.async_connect(aeron=self.client.aeron, **given)
        self.client.start(lambda: int(not connecting.is_done and connecting.poll()), lambda: self.world.clock.now_ns() + MS)
        return connecting

    def connect(self, **options: Any) -> AeronArchive:
        return self.client.complete(self.start(**options))


def test_connects_step_by_step(world: SimulatedWorld) -> None:
    setting = Setting(world)
    archive = setting.connect(client_name="mine", credentials_supplier=FixedCredentials(b"me"))
    world.run(SECOND)
    assert setting.archive.names() == ["AuthConnectRequest", "ArchiveIdRequest", "KeepAliveRequest"]
    connect, archive_id, keep_alive = setting.archive.requests
    assert (connect.response_stream_id, connect.version, connect.encoded_credentials) == (20, 1 << 16 | 12 << 8, b"me")
    assert connect.client_info.startswith("name=mine version=")
    assert connect.response_channel.startswith("aeron:udp?endpoint=10.0.0.2:")
    assert not connect.response_channel.startswith("aeron:udp?endpoint=10.0.0.2:0")
    for parameter in ("term-length=65536", "mtu=1408", "sparse=true", f"session-id={setting.archive.subscription.images[0].session_id}"):
        assert parameter in connect.response_channel.split("|")
    assert (archive_id.control_session_id, keep_alive.control_session_id, keep_alive.correlation_id) == (SESSION_ID, SESSION_ID, -1)
    assert (archive.control_session_id, archive.archive_id, archive.protocol_version) == (SESSION_ID, ARCHIVE_ID, "1.12.0")
    assert archive.state is SessionState.CONNECTED


def test_does_not_ask_an_old_archive_for_its_id(world: SimulatedWorld) -> None:
    setting = Setting(world, version=1 << 16 | 10 << 8)
    archive = setting.connect()
    world.run(SECOND)
    assert setting.archive.names() == ["AuthConnectRequest", "KeepAliveRequest"]
    assert (archive.archive_id, archive.protocol_version) == (-1, "1.10.0")


def test_a_repeated_answer_to_the_connect_request_changes_nothing(world: SimulatedWorld) -> None:
    setting = Setting(world)
    archive = setting.connect()
    setting.archive.say(ok(setting.archive.requests[0], SESSION_ID))
    world.run(SECOND)
    archive.poll()
    assert archive.poll_for_error_response() is None


def test_answers_a_challenge(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.archive.answers["AuthConnectRequest"] = lambda request: [
        Challenge(control_session_id=SESSION_ID, correlation_id=request.correlation_id, version=1, encoded_challenge=b"who?")
    ]
    setting.archive.answers["ChallengeResponse"] = lambda request: [ok(request, SESSION_ID)]
    archive = setting.connect(credentials_supplier=FixedCredentials(b"", b"me"))
    assert setting.archive.names()[:3] == ["AuthConnectRequest", "ChallengeResponse", "ArchiveIdRequest"]
    challenge_response = setting.archive.requests[1]
    assert (challenge_response.control_session_id, challenge_response.encoded_credentials) == (SESSION_ID, b"me")
    assert challenge_response.correlation_id != setting.archive.requests[0].correlation_id
    assert archive.is_connected


def test_a_refusal_closes_the_session_and_leaves_nothing_open(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.archive.answers["AuthConnectRequest"] = lambda request: [error(request, 10, "authentication rejected")]
    connecting = setting.start()
    with pytest.raises(ArchiveError, match="refused to open a control session: authentication rejected") as caught:
        setting.client.complete(connecting)
    assert caught.value.error_code == ArchiveErrorCode.AUTHENTICATION_REJECTED
    assert connecting.state is ConnectState.FAILED
    world.run(20 * SECOND)
    assert setting.archive.names() == ["AuthConnectRequest", "CloseSessionRequest"]
    assert not setting.archive.subscription.images


def test_an_archive_of_another_major_version_is_told_as_it_says(world: SimulatedWorld) -> None:
    setting = Setting(world)
    setting.archive.answers["AuthConnectRequest"] = lambda request: [
        error(request, 0, "invalid client version 1.12.0, archive is 2.0.0", version=2 << 16)
    ]
    with pytest.raises(ArchiveError, match=r"invalid client version 1\.12\.0, archive is 2\.0\.0"):
        setting.connect()


@pytest.mark.parametrize(
    ("silent", "state", "expected"),
    [
        ("AuthConnectRequest", ConnectState.AWAIT_CONNECT_RESPONSE, "still waiting for the archive's answer to the connect request"),
        ("ArchiveIdRequest", ConnectState.AWAIT_ARCHIVE_ID_RESPONSE, "still waiting for the archive's id"),
    ],
)
def test_says_what_it_waited_for_where_and_how_long(world: SimulatedWorld, silent: str, state: ConnectState, expected: str) -> None:
    setting = Setting(world)
    del setting.archive.answers[silent]
    connecting = setting.start(message_timeout_ns="3s")
    started = setting.client.aeron.context.clock.now_ns()
    world.run(2 * SECOND)
    assert connecting.state is state
    with pytest.raises(ArchiveTimeoutError) as caught:
        setting.client.complete(connecting)
    assert 3 * SECOND <= setting.client.aeron.context.clock.now_ns() - started < 3 * SECOND + 10 * MS
    assert str(caught.value).startswith(
        f"connecting to the archive took too long; at requests {REQUESTS} stream 10, responses {RESPONSES} stream 20; "
        f"expected a connection within 3 s; got {expected}"
    )
    world.run(20 * SECOND)
    assert not setting.archive.subscription.images


def test_says_that_there_is_no_archive(world: SimulatedWorld) -> None:
    client = world.add_host("10.0.0.2", **QUICK).connect()
    connecting = AeronArchive.async_connect(
        aeron=client.aeron, control_request_channel=REQUESTS, control_response_channel=RESPONSES, environ={}, message_timeout_ns="1s"
    )
    client.start(lambda: int(not connecting.is_done and connecting.poll()), lambda: world.clock.now_ns() + MS)
    with pytest.raises(ArchiveTimeoutError, match=r"still waiting for an archive that listens to requests \(hint: does an archive run"):
        client.complete(connecting)


def test_a_channel_that_the_driver_refuses_is_told_at_once(world: SimulatedWorld) -> None:
    setting = Setting(world)
    with pytest.raises(RegistrationError):
        setting.connect(control_response_channel="aeron:udp?endpoint=10.0.0.9:8020")


def test_a_connection_that_is_given_up_leaves_nothing_open(world: SimulatedWorld) -> None:
    setting = Setting(world)
    del setting.archive.answers["AuthConnectRequest"]
    connecting = setting.start()
    world.run(SECOND)
    connecting.cancel()
    with pytest.raises(ClosedError, match="given up: connect to the archive"):
        connecting.result()
    world.run(20 * SECOND)
    assert not setting.archive.subscription.images


def test_goes_on_when_the_archive_goes_before_the_request_was_sent(world: SimulatedWorld) -> None:
    client = world.add_host("10.0.0.2", **QUICK).connect()
    host = world.add_host("10.0.0.1", **QUICK)
    connecting = AeronArchive.async_connect(
        aeron=client.aeron, control_request_channel=REQUESTS, control_response_channel=RESPONSES, environ={}, message_timeout_ns="60s"
    )
    client.start(lambda: int(not connecting.is_done and connecting.poll()), lambda: world.clock.now_ns() + MS)
    world.run(SECOND)
    assert connecting.state is ConnectState.AWAIT_PUBLICATION_CONNECTED
    ScriptedArchive(host, REQUESTS)
    assert client.complete(connecting).archive_id == ARCHIVE_ID


def test_a_response_channel_names_its_subscription_in_the_control_channel(world: SimulatedWorld) -> None:
    setting = Setting(world)
    responses = "aeron:udp?control-mode=response|control=10.0.0.1:8011"
    archive = setting.connect(control_response_channel=responses)
    connect = setting.archive.requests[0]
    assert connect.response_channel.startswith(responses)
    assert "session-id" not in connect.response_channel
    assert archive.archive_id == ARCHIVE_ID


def test_notices_that_the_archive_is_gone(world: SimulatedWorld) -> None:
    setting = Setting(world)
    archive = setting.connect(message_timeout_ns="30s")
    pending = archive.async_get_start_position(5)
    setting.client.start(lambda: int(not pending.is_done and pending.poll()), lambda: world.clock.now_ns() + MS)
    assert setting.archive.publication is not None
    setting.archive.publication.close()
    with pytest.raises(ArchiveConnectionError, match="not connected any more: get the start position of recording 5"):
        setting.client.complete(pending, 60 * SECOND)
    assert archive.state is SessionState.DISCONNECTED


def test_nothing_that_waits_may_be_called_in_a_world(world: SimulatedWorld) -> None:
    setting = Setting(world)
    archive = setting.connect()
    with pytest.raises(BlockingCallError, match=r"AeronArchive\.async_get_start_position"):
        archive.get_start_position(5)
    with pytest.raises(BlockingCallError, match=r"AeronArchive\.async_connect"):
        AeronArchive.connect(aeron=setting.client.aeron, control_request_channel=REQUESTS, control_response_channel=RESPONSES, environ={})
    world.run(SECOND)
    assert "StartPositionRequest" not in setting.archive.names()


# ---- options


def test_options_come_from_keywords_properties_and_environment() -> None:
    environ = {"AERON_ARCHIVE_CONTROL_CHANNEL": "aeron:udp?endpoint=env:1", "AERON_ARCHIVE_MESSAGE_TIMEOUT": "3s"}
    properties = {"aeron.archive.control.response.channel": "aeron:udp?endpoint=property:2", "aeron.archive.message.timeout": "4s"}
    context = ArchiveClientContext(properties=properties, environ=environ, control_term_buffer_length="128k").conclude()
    assert context.control_request_channel == "aeron:udp?endpoint=env:1"
    assert context.control_response_channel == "aeron:udp?endpoint=property:2"
    assert (context.message_timeout_ns, context.control_term_buffer_length, context.control_mtu_length) == (4 * SECOND, 131072, 1408)
    assert (context.control_request_stream_id, context.control_response_stream_id, context.recording_events_stream_id) == (10, 20, 30)
    assert (context.message_retry_attempts, context.client_name, context.control_term_buffer_sparse) == (None, "", True)
    again = {**properties, "aeron.archive.message.retry.attempts": "3"}
    assert ArchiveClientContext(properties=again, environ=environ).conclude().message_retry_attempts == 3


@pytest.mark.parametrize(
    ("options", "kind", "expected"),
    [
        ({"control_response_channel": RESPONSES}, ConfigurationError, "control_request_channel is not set.*aeron.archive.control.channel"),
        ({"control_request_channel": REQUESTS}, ConfigurationError, "control_response_channel is not set"),
        ({"message_retry_attempts": 0}, ConfigurationError, "message_retry_attempts is out of range"),
        ({"client_name": "x" * 101}, ConfigurationError, "client_name is too long"),
        ({"control_chanel": "x"}, UnknownOptionError, "no such option"),
        ({"lock": 5}, ConfigurationError, "lock has the wrong type"),
        ({"error_handler": 5}, ConfigurationError, "error_handler has the wrong type"),
    ],
)
def test_refuses_options_that_cannot_be(options: dict[str, Any], kind: type[Exception], expected: str) -> None:
    given = {"environ": {}, **options}
    if "channel" not in next(iter(options)):
        given |= {"control_request_channel": REQUESTS, "control_response_channel": RESPONSES}
    with pytest.raises(kind, match=expected):
        AeronArchive.async_connect(**given)
