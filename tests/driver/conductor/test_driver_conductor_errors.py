"""Errors that the conductor answers commands with, and the end that a client asks for."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.conductor import agent_events
from aerowire.driver.queues.events import Event, EventType, NativeErrorCode
from aerowire.driver.resources.stream_counters import OWN_COUNTERS
from aerowire.ipc.error_log import read_errors
from tests.driver.conductor.test_driver_conductor import UDP, fill_counters, remove_publication, udp_pair
from tests.support.processes import free_port


class TestErrors:
    @pytest.mark.parametrize(
        ("kind", "encoder", "code"),
        [
            (CommandType.REMOVE_PUBLICATION, commands.RemovePublicationEncoder, ErrorCode.UNKNOWN_PUBLICATION),
            (CommandType.REMOVE_SUBSCRIPTION, commands.RemoveSubscriptionEncoder, ErrorCode.UNKNOWN_SUBSCRIPTION),
            (CommandType.REMOVE_COUNTER, commands.RemoveCounterEncoder, ErrorCode.UNKNOWN_COUNTER),
        ],
    )
    def test_an_unknown_registration_has_its_code(self, client: Any, kind: CommandType, encoder: Any, code: ErrorCode) -> None:
        assert client.error_of(client.request(kind, encoder, registration_id=987_654))[0] == code

    @pytest.mark.parametrize(
        ("channel", "code", "part"),
        [
            ("aeron:udp?endpoint=127.0.0.1:0", ErrorCode.GENERIC_ERROR, "port 0"),
            ("aeron:udp?endpont=127.0.0.1:1", ErrorCode.INVALID_CHANNEL, "does not say where it is"),
            ("aeron:udp?endpoint=127.0.0.1:1|mtu=x", ErrorCode.GENERIC_ERROR, "mtu=x"),
            ("aeron:ipc?term-length=3", ErrorCode.GENERIC_ERROR, "term-length=3"),
            ("aeron:udp?endpoint=nosuchhost.invalid:1", ErrorCode.UNKNOWN_HOST, "nosuchhost.invalid"),
            ("aeron:udp?control-mode=dynamic", ErrorCode.INVALID_CHANNEL, "explicit control address"),
            ("aeron:udp?endpoint=127.0.0.1:1|channel-snd-ts-offset=-40", ErrorCode.GENERIC_ERROR, "channel-snd-ts-offset=-40"),
            ("aeron:udp?endpoint=224.0.1.2:1|interface=localhost", ErrorCode.INVALID_CHANNEL, "even"),
            ("aeron:udp?endpoint=224.0.1.1:1|interface=10.77.0.0/16", ErrorCode.INVALID_CHANNEL, "no interface matches"),
            ("aeron:udp?endpoint=224.0.1.1:1|interface=localhost|fc=fast", ErrorCode.GENERIC_ERROR, "unknown flow control strategy"),
            ("aeron:udp?endpoint=224.0.1.1:1|interface=localhost|fc=min,rrwm:0", ErrorCode.GENERIC_ERROR, "rrwm:0"),
            ("aeron:udp?endpoint=224.0.1.1:1|interface=localhost|ttl=300", ErrorCode.GENERIC_ERROR, "ttl is impossible"),
            ("aeron:udp?endpoint=127.0.0.1:1|fc=max", ErrorCode.GENERIC_ERROR, "fc=max"),
            ("aeron:udp?control=127.0.0.1:4", ErrorCode.GENERIC_ERROR, "control stands alone"),
            ("bogus", ErrorCode.INVALID_CHANNEL, "scheme"),
        ],
    )
    def test_a_bad_publication_is_answered_and_recorded(self, client: Any, channel: str, code: ErrorCode, part: str) -> None:
        found, text = client.error_of(client.add_publication(channel, 10))
        assert (found, part in text) == (code, True), text
        assert client.system(SystemCounter.ERRORS) == 1
        assert part in read_errors(client.cnc.error_log_buffer)[0].text
        # What failed left nothing behind.
        assert {label.split(":")[0] for label in client.labels()} <= {"client-heartbeat"}
        assert not list((Path(client.driver.aeron_dir) / "publications").iterdir())

    @pytest.mark.parametrize(
        ("channel", "code", "part"),
        [
            ("aeron:udp?endpoint=127.0.0.1:0|control=127.0.0.1:0", ErrorCode.GENERIC_ERROR, "port 0"),
            ("aeron:udp?endpoint=127.0.0.1:0|channel-rcv-ts-offset=-9", ErrorCode.GENERIC_ERROR, "channel-rcv-ts-offset=-9"),
            ("aeron:udp?endpoint=127.0.0.1:0|media-rcv-ts-offset=0", ErrorCode.INVALID_CHANNEL, "media timestamps"),
            ("aeron:udp?endpoint=127.0.0.1:0|so-rcvbuf=16k", ErrorCode.GENERIC_ERROR, "SO_RCVBUF"),
            ("aeron:udp", ErrorCode.INVALID_CHANNEL, "does not say where"),
        ],
    )
    def test_a_bad_subscription_is_answered(self, client: Any, channel: str, code: ErrorCode, part: str) -> None:
        found, text = client.error_of(client.add_subscription(channel, 10))
        assert (found, part in text) == (code, True), text

    def test_sessions_that_a_peer_makes_up_are_one_entry_of_the_error_log(self, client: Any) -> None:
        endpoint = SimpleNamespace(channel="aeron:udp?endpoint=127.0.0.1:1")
        for session_id in range(100):
            values = [NativeErrorCode.SESSION_LIMIT, 10, session_id]
            agent_events.handle(client.driver.conductor, Event(EventType.NATIVE_ERROR, endpoint, values))
        (error,) = read_errors(client.cnc.error_log_buffer)
        limit = "aeron.driver.stream.session.limit"
        expected = f"too many sessions of a stream ({limit}): stream 10 session 0 at {endpoint.channel}"
        assert (error.observation_count, error.text) == (100, expected)

    def test_a_busy_port_says_so(self, client: Any) -> None:
        import socket

        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.1", 0))
            port = other.getsockname()[1]
            code, text = client.error_of(client.add_subscription(f"aeron:udp?endpoint=127.0.0.1:{port}", 10))
        assert (code, str(port) in text) == (ErrorCode.GENERIC_ERROR, True), text

    def test_a_port_that_a_channel_was_given_is_shared_by_tag_only(self, client: Any) -> None:
        # As the official driver has it: the name of a channel with an open port is its own, whatever port it gets.
        first = client.take(CommandType.ON_SUBSCRIPTION_READY, client.add_subscription(f"{UDP}|tags=7", 10))
        bound = client.cnc.counters_reader().label(first.channel_status_counter_id).rpartition(" ")[2]
        code, text = client.error_of(client.add_subscription(f"aeron:udp?endpoint={bound}", 11))
        assert (code, "address already in use" in text) == (ErrorCode.GENERIC_ERROR, True), text
        assert f"{UDP}|tags=7 of this driver has it" in text
        code, text = client.error_of(client.add_subscription(f"aeron:udp?endpoint={bound}|tags=7", 11))
        assert (code, "tag matches a channel of another endpoint" in text) == (ErrorCode.GENERIC_ERROR, True), text
        second = client.take(CommandType.ON_SUBSCRIPTION_READY, client.add_subscription("aeron:udp?tags=7", 11))
        assert second.channel_status_counter_id == first.channel_status_counter_id

    def test_destinations_are_refused_with_their_own_code(self, client: Any) -> None:
        publication = client.add_publication("aeron:ipc", 10)
        subscription = client.add_subscription("aeron:ipc", 10)
        destination = {"registration_id": publication, "channel": "aeron:udp?endpoint=127.0.0.1:1"}
        asked = client.request(CommandType.ADD_DESTINATION, commands.AddDestinationEncoder, **destination)
        assert client.error_of(asked)[0] == ErrorCode.UNKNOWN_PUBLICATION
        destination["registration_id"] = subscription
        asked = client.request(CommandType.ADD_RCV_DESTINATION, commands.AddRcvDestinationEncoder, **destination)
        assert client.error_of(asked)[0] == ErrorCode.UNKNOWN_SUBSCRIPTION
        asked = client.request(CommandType.REMOVE_DESTINATION, commands.RemoveDestinationEncoder, **destination)
        assert client.error_of(asked)[0] == ErrorCode.UNKNOWN_PUBLICATION

    def test_a_rejection_needs_an_image_and_a_short_reason(self, client: Any) -> None:
        fields = {"image_correlation_id": 123, "position": 0, "reason": "bad"}
        asked = client.request(CommandType.REJECT_IMAGE, commands.RejectImageEncoder, **fields)
        assert client.error_of(asked)[0] == ErrorCode.GENERIC_ERROR
        client.add_subscription("aeron:ipc", 10)
        client.add_publication("aeron:ipc", 10)
        fields |= {"image_correlation_id": client.take(CommandType.ON_AVAILABLE_IMAGE).correlation_id, "reason": "x" * 1024}
        asked = client.request(CommandType.REJECT_IMAGE, commands.RejectImageEncoder, **fields)
        assert client.error_of(asked)[0] == ErrorCode.GENERIC_ERROR

    def test_a_rejected_image_tells_the_publisher_who_and_why(self, launch: Callable[..., Any]) -> None:
        client = launch(rcv_status_message_timeout_ns="2ms")
        _, publication, address = udp_pair(client)
        session_id = client.take(CommandType.ON_PUBLICATION_READY, publication).session_id
        image = client.take(CommandType.ON_AVAILABLE_IMAGE)
        client.work_until(lambda: client.system(SystemCounter.STATUS_MESSAGES_RECEIVED) > 0)
        asked = client.request(
            CommandType.REJECT_IMAGE,
            commands.RejectImageEncoder,
            image_correlation_id=image.correlation_id,
            position=0,
            reason="not wanted",
        )
        client.take(CommandType.ON_OPERATION_SUCCESS, asked)
        client.work_until(lambda: any(kind == CommandType.ON_PUBLICATION_ERROR for kind, _ in client.responses))
        error = next(found for kind, found in client.responses if kind == CommandType.ON_PUBLICATION_ERROR)
        host, port = address.split(":")
        assert (error.registration_id, error.session_id, error.stream_id) == (publication, session_id, 10)
        assert (error.error_code, error.error_message) == (ErrorCode.IMAGE_REJECTED, "not wanted")
        assert (error.destination_registration_id, error.group_tag) == (-1, -1)
        assert (error.address_type, error.source_port) == (commands.AddressType.IPV4, int(port))
        assert bytes(error.source_address)[:4] == bytes(map(int, host.split(".")))
        assert client.system(SystemCounter.IMAGES_REJECTED) == 1

    def test_unknown_and_short_commands_are_answered(self, client: Any) -> None:
        client.send(0x7E, struct.pack("<qq", client.client_id, 4711))
        assert client.error_of(4711)[0] == ErrorCode.UNKNOWN_COMMAND_TYPE_ID
        client.send(CommandType.ADD_PUBLICATION, struct.pack("<qq", client.client_id, 4712))
        assert client.error_of(4712)[0] == ErrorCode.MALFORMED_COMMAND

    def test_a_full_counters_buffer_fails_the_command_and_frees_what_it_took(self, launch: Callable[..., Any]) -> None:
        client = launch(counters_buffer_length=1024 * 1024)
        limit = client.cnc.counters_reader().max_count
        client.add_subscription("aeron:ipc", 10)
        for _ in range(limit - len(SystemCounter) - len(OWN_COUNTERS) - 2):
            client.request(CommandType.ADD_COUNTER, commands.AddCounterEncoder, type_id=1500, key=b"", label="x")
            client.work(1)
        client.work(20)
        client.responses.clear()
        code, text = client.error_of(client.add_publication("aeron:ipc", 10))
        assert (code, "counter" in text.lower()) == (ErrorCode.GENERIC_ERROR, True), text
        made = client.request(CommandType.ADD_COUNTER, commands.AddCounterEncoder, type_id=1500, key=b"", label="last")
        client.take(CommandType.ON_COUNTER_READY, made)
        assert not list((Path(client.driver.aeron_dir) / "publications").iterdir())

    @pytest.mark.parametrize("room", range(4))
    def test_an_endpoint_that_finds_too_little_room_for_counters_leaves_nothing(self, launch: Callable[..., Any], room: int) -> None:
        port = free_port()
        client = launch(counters_buffer_length=1024 * 1024, sender_wildcard_port_range=f"{port} {port}")
        client.add_subscription("aeron:ipc", 10)
        client.work(3)
        fill_counters(client, room)
        before = client.labels()
        for channel in ("aeron:udp?control=127.0.0.1:0|control-mode=dynamic", "aeron:udp?control=127.0.0.1:0|control-mode=manual"):
            code, text = client.error_of(client.add_publication(channel, 10))
            assert (code, "counter" in text.lower()) == (ErrorCode.GENERIC_ERROR, True), text
            client.work(20)
            assert client.labels() == before
        if room < 2:
            client.error_of(client.add_subscription(UDP, 10))
            client.work(20)
            assert client.labels() == before

    def test_a_publication_lives_though_a_subscriber_of_it_finds_no_room_for_its_counter(self, launch: Callable[..., Any]) -> None:
        client = launch(counters_buffer_length=1024 * 1024)
        client.take(CommandType.ON_SUBSCRIPTION_READY, client.add_subscription("aeron:ipc", 10))
        fill_counters(client, 2)
        before = client.labels()
        publication = client.add_publication("aeron:ipc", 10)
        client.take(CommandType.ON_PUBLICATION_READY, publication)
        assert client.system(SystemCounter.ERRORS) == 1
        remove_publication(client, publication)
        client.work_until(lambda: client.labels() == before)

    def test_a_full_file_system_is_a_storage_error(self, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        logs = client.driver.conductor.core.logs
        monkeypatch.setattr(logs, "_regions", FullRegions(logs._regions))
        code, text = client.error_of(client.add_publication("aeron:ipc", 10))
        assert (code, "200704" in text, "1000" in text) == (ErrorCode.STORAGE_SPACE, True, True), text

    def test_an_exception_in_a_command_does_not_end_the_driver(self, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_args: object, **_kwargs: object) -> None:
            raise RuntimeError("broken on purpose")

        monkeypatch.setattr(client.driver.conductor.subscriptions, "add_ipc", fail)
        code, text = client.error_of(client.add_subscription("aeron:ipc", 10))
        assert (code, text) == (ErrorCode.GENERIC_ERROR, "RuntimeError: broken on purpose")
        assert client.system(SystemCounter.ERRORS) == 1
        monkeypatch.undo()
        client.take(CommandType.ON_SUBSCRIPTION_READY, client.add_subscription("aeron:ipc", 10))

    def test_space_that_runs_low_is_told_once_until_there_is_more_of_it(self, launch: Callable[..., Any]) -> None:
        client = launch(low_file_store_warning_threshold=50_000_000)
        logs = client.driver.conductor.core.logs
        regions = logs._regions
        for free in (50_000_000, 50_000_000, 50_000_001, 40_000_000):
            logs._regions = RegionsWithSpace(regions, free)
            ready = client.add_publication("aeron:ipc", 10, is_exclusive=True)
            client.take(CommandType.ON_EXCLUSIVE_PUBLICATION_READY, ready)
        logs._regions = regions
        told = [error for error in read_errors(client.cnc.error_log_buffer) if "space is running low" in error.text]
        assert sum(error.observation_count for error in told) == 2
        assert "threshold=50000000 free=50000000" in told[0].text


class RegionsWithSpace:
    """A region port on a file system with so much left."""

    def __init__(self, real: Any, free: int) -> None:
        self._real = real
        self._free = free

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def free_space(self, _directory: object) -> int:
        return self._free


class FullRegions:
    """A region port on a file system with 1000 bytes left."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def free_space(self, _directory: object) -> int:
        return 1000


class TestTermination:
    def test_is_denied_by_default(self, client: Any) -> None:
        client.send(CommandType.TERMINATE_DRIVER, commands.TerminateDriverEncoder.encode(client_id=client.client_id, token=b"now"))
        client.work(3)
        assert not client.driver.wait_for_termination(0)

    def test_is_up_to_the_validator(self, launch: Callable[..., Any]) -> None:
        client = launch(termination_validator=lambda _directory, token: token == b"now")
        for token, is_ended in ((b"later", False), (b"now", True)):
            client.send(CommandType.TERMINATE_DRIVER, commands.TerminateDriverEncoder.encode(client_id=client.client_id, token=token))
            client.work(3)
            assert client.driver.wait_for_termination(0) is is_ended
