"""Destinations by command: which URIs are taken, what is answered, what is counted, where names lead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from aerowire.codecs.flyweights import commands
from aerowire.codecs.flyweights.commands import CommandType
from aerowire.codecs.tables.counters import CounterType, SystemCounter
from aerowire.codecs.tables.errors import ErrorCode
from aerowire.driver.resources.reresolution import ReResolution
from tests.support.processes import free_port

MANUAL = "aeron:udp?control-mode=manual"


def publish(client: Any, channel: str = MANUAL) -> int:
    registration_id: int = client.add_publication(channel, 10)
    client.take(CommandType.ON_PUBLICATION_READY, registration_id)
    return registration_id


def add(client: Any, publication: int, channel: str) -> int:
    return int(client.request(CommandType.ADD_DESTINATION, commands.AddDestinationEncoder, registration_id=publication, channel=channel))


def remove(client: Any, publication: int, channel: str) -> int:
    encoder = commands.RemoveDestinationEncoder
    return int(client.request(CommandType.REMOVE_DESTINATION, encoder, registration_id=publication, channel=channel))


def remove_by_id(client: Any, publication: int, destination: int) -> int:
    fields = {"resource_registration_id": publication, "destination_registration_id": destination}
    return int(client.request(CommandType.REMOVE_DESTINATION_BY_ID, commands.RemoveDestinationByIdEncoder, **fields))


def destination_count(client: Any) -> int:
    reader = client.cnc.counters_reader()
    (counter_id,) = [item for item in range(200) if client_type(reader, item) == CounterType.MDC_NUM_DEST]
    assert reader.label(counter_id).startswith(f"mdc-num-dest: {MANUAL}")
    return int(reader.value(counter_id))


def client_type(reader: Any, counter_id: int) -> int:
    return int(reader.type_id(counter_id)) if reader.state(counter_id) == 1 else -1


class TestAddAndRemove:
    def test_a_destination_is_added_once_a_command_and_removed_by_its_uri(self, client: Any) -> None:
        publication = publish(client)
        destination = f"aeron:udp?endpoint=127.0.0.1:{free_port()}"
        client.take(CommandType.ON_OPERATION_SUCCESS, add(client, publication, destination))
        client.take(CommandType.ON_OPERATION_SUCCESS, add(client, publication, destination))
        client.work()
        assert destination_count(client) == 2
        client.take(CommandType.ON_OPERATION_SUCCESS, remove(client, publication, destination))
        client.work()
        assert destination_count(client) == 1

    def test_a_destination_is_removed_by_the_id_of_its_command(self, client: Any) -> None:
        publication = publish(client)
        first = add(client, publication, f"aeron:udp?endpoint=127.0.0.1:{free_port()}")
        client.take(CommandType.ON_OPERATION_SUCCESS, first)
        client.take(CommandType.ON_OPERATION_SUCCESS, remove_by_id(client, publication, first))
        client.take(CommandType.ON_OPERATION_SUCCESS, remove_by_id(client, publication, first))
        client.work()
        assert destination_count(client) == 0

    def test_a_manual_channel_is_shared_by_its_tag(self, client: Any) -> None:
        publish(client, f"{MANUAL}|tags=7")
        other_stream = client.add_publication("aeron:udp?tags=7", 11)
        client.take(CommandType.ON_PUBLICATION_READY, other_stream)
        client.take(CommandType.ON_OPERATION_SUCCESS, add(client, other_stream, "aeron:udp?endpoint=127.0.0.1:9"))
        client.work()
        assert destination_count(client) == 1

    def test_the_counter_goes_with_the_channel(self, launch: Callable[..., Any]) -> None:
        client = launch(publication_linger_timeout_ns="1ms")
        publication = publish(client)
        client.take(CommandType.ON_OPERATION_SUCCESS, add(client, publication, "aeron:udp?endpoint=127.0.0.1:9"))
        fields = {"registration_id": publication, "flags": 0}
        client.request(CommandType.REMOVE_PUBLICATION, commands.RemovePublicationEncoder, **fields)
        client.work_until(lambda: not any(label.startswith(("mdc-num-dest", "snd-channel", "pub-lmt")) for label in client.labels()))
        assert client.error_of(add(client, publication, "aeron:udp?endpoint=127.0.0.1:9"))[0] == ErrorCode.UNKNOWN_PUBLICATION


class TestRefusals:
    @pytest.mark.parametrize(
        ("channel", "part"),
        [
            ("aeron:udp?endpoint=127.0.0.1:9|mtu=1408", "mtu"),
            ("aeron:udp?endpoint=127.0.0.1:9|rcv-wnd=64k", "rcv-wnd"),
            ("aeron:udp?endpoint=127.0.0.1:9|so-rcvbuf=64k", "so-rcvbuf"),
            ("aeron:udp?endpoint=127.0.0.1:9|so-sndbuf=64k", "so-sndbuf"),
            ("aeron:udp?endpoint=127.0.0.1:9|response-correlation-id=3", "response-correlation-id"),
            ("aeron:udp?endpoint=127.0.0.1:9|control-mode=response", "response"),
            ("aeron:udp?endpoint=127.0.0.1:0", "port 0"),
            ("aeron-spy:aeron:udp?endpoint=127.0.0.1:9", "spy"),
            ("aeron:ipc", "does not say where"),
            ("aeron:udp?control=127.0.0.1:9", "does not say where"),
        ],
    )
    def test_a_destination_may_not_say_what_the_channel_says(self, client: Any, channel: str, part: str) -> None:
        publication = publish(client)
        code, text = client.error_of(add(client, publication, channel))
        assert (code, part in text) == (ErrorCode.INVALID_CHANNEL, True), text

    @pytest.mark.parametrize("channel", ["aeron:udp?endpoint=127.0.0.1:9", "aeron:udp?control=127.0.0.1:0|control-mode=dynamic"])
    def test_only_a_manual_channel_takes_destinations(self, client: Any, channel: str) -> None:
        publication = publish(client, channel)
        for asked in (
            add(client, publication, "aeron:udp?endpoint=127.0.0.1:9"),
            remove(client, publication, "aeron:udp?endpoint=127.0.0.1:9"),
            remove_by_id(client, publication, 5),
        ):
            code, text = client.error_of(asked)
            assert (code, "control-mode=manual" in text) == (ErrorCode.INVALID_CHANNEL, True), text

    def test_an_unknown_publication_has_its_code(self, client: Any) -> None:
        assert client.error_of(add(client, 4711, "aeron:udp?endpoint=127.0.0.1:9"))[0] == ErrorCode.UNKNOWN_PUBLICATION
        assert client.error_of(remove_by_id(client, 4711, 1))[0] == ErrorCode.UNKNOWN_PUBLICATION

    def test_an_unknown_host_has_its_code(self, client: Any) -> None:
        publication = publish(client)
        assert client.error_of(add(client, publication, "aeron:udp?endpoint=nosuchhost.invalid:9"))[0] == ErrorCode.UNKNOWN_HOST


class TestNames:
    def renamed(self, client: Any, names: dict[str, str]) -> ReResolution:
        conductor = client.driver.conductor
        ports = replace(conductor.core.ports, resolver=names.get)
        object.__setattr__(conductor.core, "ports", ports)
        again: ReResolution = conductor.reresolution
        return again

    def test_a_silent_destinations_name_is_looked_up_again(self, client: Any) -> None:
        names = {"moving": "127.0.0.1"}
        again = self.renamed(client, names)
        publication = publish(client)
        destination = add(client, publication, "aeron:udp?endpoint=moving:9")
        client.take(CommandType.ON_OPERATION_SUCCESS, destination)
        native = client.driver.conductor.publications.find(publication).endpoint.native
        for host, changes in (("127.0.0.1", 0), ("127.0.0.2", 1), ("127.0.0.2", 1)):
            names["moving"] = host
            again.on_silent_sender(native, destination)
            client.work()
            assert client.system(SystemCounter.RESOLUTION_CHANGES) == changes
        names.clear()
        again.on_silent_sender(native, destination)
        client.work()
        assert client.system(SystemCounter.ERRORS) == 1

    def test_a_silent_peers_name_is_looked_up_again(self, client: Any) -> None:
        names = {"moving": "127.0.0.1"}
        again = self.renamed(client, names)
        publication = publish(client, "aeron:udp?endpoint=moving:9")
        native = client.driver.conductor.publications.find(publication).endpoint.native
        assert native.is_named
        names["moving"] = "127.0.0.2"
        again.on_silent_sender(native, -1)
        client.work()
        assert client.system(SystemCounter.RESOLUTION_CHANGES) == 1
        assert client.system(SystemCounter.ERRORS) == 0
